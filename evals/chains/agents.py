"""Random agents: recorded, compiled, and held against themselves on inputs nobody has seen.

    python3 evals/chains/agents.py --seeds 20 --host target/release/auto-host

A seed makes an agent: a few steps out of tool calls, model calls that are secretly a rule,
ways that part and come together, loops over a list (with ways that part in them), and
polling. It runs on random inputs and is recorded; what compiles is run with the same tools,
in a process of their own that writes down every call, on other inputs. A silent difference
is an answer that is not the agent's, or a call that the agent would not have made at that
place; an abstention after right calls is none. The last line is one JSON object.

With `--tools LOG` it is the tools' process.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi wo zu".split()


def words(rng, count):
    return " ".join("".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 4))) for _ in range(count))


def digits(*parts):
    """A number that nothing but the parts tells."""
    return int(hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8], 16)


def reply(name, given, seen):
    """What a tool replies; `seen` is how often it was asked the same before."""
    number = digits(name, given)
    code = f"{SYLLABLES[number % 15]}{SYLLABLES[number // 15 % 15]}-{number % 900 + 100}"
    if name == "job":
        done = seen >= number % 3
        return {"state": "done" if done else "pending", "result": code if done else None}
    if name == "price":
        return {"cost": number % 90 + 10, "stock": number % 2 == 0, "code": code}
    return {"code": code, "score": number % 10, "ok": number % 3 > 0}


class World:
    """Tools with a memory of what they were asked."""

    def __init__(self):
        self.calls = []
        self.seen = {}

    def call(self, name, given):
        self.calls.append([name, given])
        key = json.dumps([name, given], sort_keys=True)
        got = reply(name, given, self.seen.get(key, 0))
        self.seen[key] = 0 if got.get("state") == "done" else self.seen.get(key, 0) + 1
        return got


def an_input(rng):
    items = [{"sku": words(rng, 1), "n": rng.randint(1, 9)} for _ in range(rng.choice([0, 1, 2, 2, 3, 4]))]
    return {
        "name": words(rng, 2),
        "kind": rng.choice(["order", "return", "claim"]),
        "amount": rng.randint(1, 200),
        "items": items,
        "vip": rng.random() < 0.5,
    }


def condition(rng, codes):
    """A predicate over the input and the replies so far, and what it says."""
    kind = rng.choice(["order", "return", "claim"])
    tests = [
        lambda env: env["input"]["kind"] == kind,
        lambda env: env["input"]["vip"],
        lambda env: len(env["input"]["items"]) > 0,
    ]
    for name in codes:
        tests.append(lambda env, name=name: env[name]["ok"])
    return rng.choice(tests)


def given(rng, codes):
    """What a tool is given."""
    forms = [lambda env: {"who": env["input"]["name"]}, lambda env: {"who": env["input"]["name"], "kind": env["input"]["kind"]}]
    for name in codes:
        forms.append(lambda env, name=name: {"ref": env[name]["code"]})
    return rng.choice(forms)


def an_agent(seed):
    """Steps, each a function of a recorder and an environment, and the answer."""
    rng = random.Random(seed)
    codes, steps, fields = [], [], {}

    def tool(name, form):
        def step(record, env):
            env[name] = record("tool_call", name, form(env))
        return step

    def model(name, rule):
        def step(record, env):
            env[name] = record("model_call", name, f"{name} of {env['input']['name']}: {digits(env['input'])}", rule(env))
        return step

    def choice(test, yes, no):
        def step(record, env):
            for part in yes if test(env) else no:
                part(record, env)
        return step

    def each(bodies):
        def step(record, env):
            env["items"] = []
            for item in env["input"]["items"]:
                got = {}
                for body in bodies:
                    body(record, env, item, got)
                env["items"].append(got)
        return step

    def poll(form):
        def step(record, env):
            while True:
                env["job"] = record("tool_call", "job", form(env))
                if env["job"]["state"] == "done":
                    return
        return step

    def price(record, env, item, got):
        got["price"] = record("tool_call", "price", {"sku": item["sku"]})

    def reorder(record, env, item, got):
        if not got["price"]["stock"]:
            record("tool_call", "reorder", {"sku": item["sku"], "n": item["n"]})

    def note(record, env, item, got):
        record("tool_call", "note", {"code": got["price"]["code"], "for": env["input"]["name"]})

    makers = rng.sample(["look", "either", "option", "each", "poll", "model", "two"], rng.randint(2, 4))
    for maker in makers:
        if maker == "look":
            steps.append(tool("look", given(rng, codes)))
            codes.append("look")
            fields["code"] = lambda env: env["look"]["code"]
        elif maker == "option":
            steps.append(choice(condition(rng, codes), [tool("alert", given(rng, codes))], []))
        elif maker == "either":
            way = [tool("fast", given(rng, codes))], [tool("slow", given(rng, codes))]
            steps.append(choice(condition(rng, codes), *way))
        elif maker == "two":
            long = [tool("open", given(rng, codes)), tool("sign", lambda env: {"ref": env["open"]["code"]})]
            steps.append(choice(condition(rng, codes), long, []))
        elif maker == "each":
            steps.append(each([price] + rng.choice([[], [reorder], [note], [reorder, note]])))
            fields["count"] = lambda env: len(env["items"])
        elif maker == "poll":
            steps.append(poll(given(rng, codes)))
            fields["result"] = lambda env: env["job"]["result"]
        elif maker == "model":
            steps.append(model("sort", lambda env: {"order": "sales", "return": "stock", "claim": "legal"}[env["input"]["kind"]]))
            fields["team"] = lambda env: env["sort"]
    steps.append(tool("close", given(rng, codes)))
    fields["closed"] = lambda env: env["close"]["code"]
    fields["name"] = lambda env: env["input"]["name"]
    return makers, steps, fields


def run(agent, value, world, line=lambda *_: None):
    """The agent's answer."""
    _, steps, fields = agent

    def record(kind, name, asked, says=None):
        got = world.call(name, asked) if kind == "tool_call" else says
        line(kind, name, asked, got)
        return got

    env = {"input": value}
    for step in steps:
        step(record, env)
    return {key: field(env) for key, field in fields.items()}


def trace(agent, value, path, number):
    """A recorded run, as the trace format has it."""
    ident = f"{number:032x}"
    head = {"v": 0, "t": "trace", "trace_id": ident, "task": "t", "started_at_ms": 1, "sdk": "agents/1", "attrs": {}}
    lines = [{**head, "task_input": value}]

    def line(kind, name, asked, got):
        at = len(lines)
        span = {"v": 0, "t": "span", "trace_id": ident, "span_id": at, "parent_span_id": None, "seq": at, "kind": kind}
        rest = {"name": name, "input": asked, "output": got, "error": None, "started_at_ms": 1, "duration_ms": 0}
        lines.append({**span, **rest, "attrs": {}})

    answer = run(agent, value, World(), line)
    lines.append({"v": 0, "t": "task_output", "trace_id": ident, "output": answer, "recorded_at_ms": 1})
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")


def tools(log):
    world = World()
    with open(log, "a", encoding="utf-8") as calls:
        for text in sys.stdin:
            call = json.loads(text)
            got = world.call(call["name"], call["input"])
            # Written down first: the next call may be to another process.
            calls.write(json.dumps([call["name"], call["input"]]) + "\n")
            calls.flush()
            print(json.dumps({"id": call["id"], "ok": got}), flush=True)


def auto(host, folder, *arguments):
    command = [*host, "--json", *arguments]
    environment = {**os.environ, "AUTO_CACHE": str(folder.parent / "cache")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}") from None


def attempt(host, folder, seed, options):
    """What became of the agent of a seed."""
    agent = an_agent(seed)
    rng = random.Random(f"inputs {seed}")
    files = []
    for number in range(options.recordings):
        files.append(folder / f"{number}.jsonl")
        trace(agent, an_input(rng), files[-1], number)
    auto(host, folder, "import", "--store", "s.db", *map(str, files))
    (folder / "c.toml").write_text(
        f"contract_version = 0\ntask = \"t\"\nguard = \"{options.guard}\"\n[scope]\ntype = \"task\"\n"
        "[interface]\ninput = \"json\"\noutput = \"json\"\n",
        encoding="utf-8",
    )
    made = ["--seconds", str(options.seconds)]
    report = auto(host, folder, "compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin", *made)
    if report.get("status") != "sealed":
        refused = [rung["why"] for rung in report.get("rungs", []) if rung["status"] == "refused"]
        return {"status": "refused", "why": "; ".join(refused) or report.get("message", "")}
    result = {"status": "sealed", "right": 0, "abstained": 0, "different": []}
    result["stages"] = [f"{one['stage']}: {one['status']}: {one['what']}" for one in report["stages"]]
    result["out_of_fold"] = report.get("out_of_fold")
    names = [name.removeprefix("tool:") for name in auto(host, folder, "inspect", "c.cbin")["manifest"]["capabilities"]]
    for number in range(options.unseen):
        value = an_input(rng)
        world = World()
        expected = run(agent, value, world)
        log = folder / f"calls-{number}"
        log.touch()
        process = f"{sys.executable} -B '{pathlib.Path(__file__).resolve()}' --tools '{log}'"
        flags = [flag for name in names for flag in ("--tool", f"{name}={process}")]
        done = auto(host, folder, "run", "c.cbin", "--input", json.dumps(value), *flags)
        calls = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        if "output" in done:
            same = done["output"] == expected and calls == world.calls
            if same:
                result["right"] += 1
                continue
        elif done.get("code") == "abstained" and calls == world.calls[: len(calls)]:
            result["abstained"] += 1
            continue
        result["different"].append({"input": value, "expected": expected, "got": done, "calls": calls, "agent": world.calls})
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", metavar="LOG")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--recordings", type=int, default=40)
    parser.add_argument("--unseen", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--guard", default="auto")
    parser.add_argument("--host", nargs="+", default=[os.environ.get("AUTO_HOST", str(ROOT / "target/release/auto-host"))])
    options = parser.parse_args()
    if options.tools:
        return tools(options.tools)
    tally = {"agents": 0, "sealed": 0, "refused": 0, "right": 0, "abstained": 0, "different": 0}
    for seed in range(options.first, options.first + options.seeds):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "agent"
            folder.mkdir()
            result = attempt(options.host, folder, seed, options)
        print(f"{seed} {'-'.join(an_agent(seed)[0])}: {json.dumps(result)}", file=sys.stderr, flush=True)
        tally["agents"] += 1
        tally[result["status"]] += 1
        for key in ("right", "abstained"):
            tally[key] += result.get(key, 0)
        tally["different"] += len(result.get("different", []))
    print(json.dumps(tally))
    return None


if __name__ == "__main__":
    main()
