"""What of some recorded runs compiles, and what does not and why: a table in Markdown.

    python3 evals/chains/table.py --traces tau-bench-gpt-4o-airline.json --task airline

Imports the traces into a store of its own and compiles every scope there is: each kind of
span, the whole task, and each region from one operation to another that follows it in some
run. The contracts say nothing but `json`. `auto-host` is the built one, or $AUTO_HOST.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOST = os.environ.get("AUTO_HOST", str(ROOT / "target/release/auto-host"))


def auto(folder, *arguments):
    """The object a verb prints."""
    command = [HOST, "--json", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}") from None


def contract(task, scope):
    return (
        f"contract_version = 0\ntask = {json.dumps(task)}\nguard = \"none\"\n\n[scope]\n{scope}\n"
        "[interface]\ninput = \"json\"\noutput = \"json\"\n"
        # What recordings that differ cannot say is left aside, and everything else asked for.
        "[acceptance]\ndifferential_min_agreement_milli = 900\n"
    )


def attempt(folder, options, scope):
    """Status, and why: the rung that refused, or what was held out."""
    (folder / "c.toml").write_text(contract(options.task, scope), encoding="utf-8")
    report = auto(
        folder, "compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin", "--seconds", str(options.seconds)
    )
    if "rungs" not in report:
        return "refused", f"{report.get('code')}: {report.get('message', '')}"
    if report.get("status") == "sealed":
        fold = report.get("out_of_fold")
        held = f"held out {fold['right']} right, {fold['wrong']} wrong of {fold['rows']}" if fold else "nothing held out"
        stages = [f"{one['stage']}: {one['status']}" for one in report.get("stages", [])]
        return "sealed", "; ".join([f"`{report['program']}`" if "program" in report else "", held, *stages]).strip("; ")
    refused = [rung for rung in report["rungs"] if rung["status"] == "refused"]
    return "refused", "; ".join(f"{rung['rung']}: {rung['why']}" for rung in refused)


def scopes(folder, options):
    """Every scope, with how often it was recorded."""
    census = auto(folder, "census", "--task", options.task, "--store", "s.db")
    for row in census["operations"]:
        if row["kind"] in ("tool_call", "model_call"):
            scope = f"type = \"span\"\nkind = {json.dumps(row['kind'])}\nname = {json.dumps(row['name'])}\n"
            yield f"span {row['kind']} {row['name']}", row, scope
    yield "task", None, 'type = "task"\n'
    names = [row["name"] for row in census["operations"] if row["kind"] == "tool_call"]
    for first in names:
        for last in names:
            if first != last and f"{first}..{last}" in options.region:
                yield f"region {first}..{last}", None, f'type = "region"\nfrom = "{first}"\nto = "{last}"\n'


LONG = "extract: no program of the language up to the depth limit fits every observation; output: "


def brief(text, most=150):
    text = text.replace(LONG, "extract: ").replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= most else text[: most - 1] + "…"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", required=True)
    parser.add_argument("--task", required=True)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--region", action="append", default=[], metavar="FIRST..LAST")
    options = parser.parse_args()
    tally = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        auto(folder, "import", "--store", "s.db", "--task", options.task, str(pathlib.Path(options.traces).resolve()))
        print("| scope | distinct inputs | spans | result | why |")
        print("|---|---:|---:|---|---|")
        for scope, row, text in scopes(folder, options):
            status, why = attempt(folder, options, text)
            tally[status] += 1
            inputs, spans = (row["all"]["inputs"], row["all"]["spans"]) if row else ("", "")
            print(f"| {scope} | {inputs} | {spans} | {status} | {brief(why)} |", flush=True)
    print(json.dumps(dict(tally)))


if __name__ == "__main__":
    main()
