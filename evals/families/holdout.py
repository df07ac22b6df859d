"""How often what compiles is right, wrong, or silent on inputs that it was not shown: a table in Markdown.

    python3 evals/families/holdout.py --data f1-triage.jsonl --splits 8
    python3 evals/families/holdout.py --data f4-routing.jsonl --changed purchases

A line of the data is `{"input": …, "output": …}`. Each split holds a share of the *distinct*
inputs out, compiles the rest through `auto-host` (the contract is the one that `contract infer`
drafts), and runs the artifact on each input that was held out. Where nothing compiles, nothing is
answered. With `--changed purchases` one artifact is made of all rows, and is run on purchase
requests with one amount or one kind of vendor changed, beside what the policy of the set says of
them. `auto-host` is the built one, or $AUTO_HOST. The last line is one JSON object.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOST = os.environ.get("AUTO_HOST", str(ROOT / "target/release/auto-host"))
AMOUNTS = [20, 480, 499, 500, 501, 990, 4999, 5000, 5001, 7300, 19999, 20000, 20001, 64000]
VENDORS = ["standard", "preferred", "new", "blocked"]


def done(folder, *arguments):
    """Runs a verb that has to end well."""
    report = auto(folder, *arguments)
    if report.get("exit", 0) != 0:
        raise SystemExit(f"{arguments}: {report}")


def auto(folder, *arguments):
    """Runs a verb; the object it prints."""
    command = [HOST, "--json", *arguments]
    ended = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    try:
        return json.loads(ended.stdout)
    except json.JSONDecodeError:
        raise SystemExit(f"{command} ended with {ended.returncode}: {ended.stdout}{ended.stderr}") from None


def recorded(rows):
    """One trace in which each row is a call of a model."""
    trace = "0" * 31 + "1"
    head = {"v": 0, "t": "trace", "trace_id": trace, "task": "family", "started_at_ms": 0, "sdk": "holdout", "attrs": {}}
    lines = [head]
    for number, row in enumerate(rows):
        lines.append(
            {
                "v": 0,
                "t": "span",
                "trace_id": trace,
                "span_id": number + 1,
                "parent_span_id": None,
                "seq": number,
                "kind": "model_call",
                "name": "answer",
                "input": row["input"],
                "output": row["output"],
                "error": None,
                "started_at_ms": 0,
                "duration_ms": 0,
                "attrs": {},
            }
        )
    return "".join(json.dumps(line) + "\n" for line in lines)


def compiled(folder, rows, options):
    """What compiling says of some rows."""
    (folder / "trace.jsonl").write_text(recorded(rows), encoding="utf-8")
    done(folder, "import", "--store", "s.db", "trace.jsonl")
    done(folder, "contract", "infer", "--task", "family", "--store", "s.db", "--out", "c.toml")
    contract = (folder / "c.toml").read_text(encoding="utf-8") + options.contract.replace("\\n", "\n")
    (folder / "c.toml").write_text(contract, encoding="utf-8")
    seconds = ["--seconds", str(options.seconds)]
    return auto(folder, "compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin", *seconds)


def tally(folder, report, rows):
    """Right, wrong and silent, and the wrong ones."""
    if report.get("status") != "sealed":
        return 0, 0, len(rows), []
    (folder / "inputs.jsonl").write_text("".join(json.dumps(row["input"]) + "\n" for row in rows), encoding="utf-8")
    results = auto(folder, "run", "c.cbin", "--batch", "inputs.jsonl")["results"]
    pairs = list(zip(rows, results, strict=True))
    right = sum(result.get("output", pairs) == row["output"] for row, result in pairs)
    wrong = [(row, result["output"]) for row, result in pairs if "output" in result and result["output"] != row["output"]]
    return right, len(wrong), len(rows) - right - len(wrong), wrong


def split(rows, number, options):
    """Rows to compile, and distinct ones to run, by a digest of the input and the number of the split."""
    distinct = {json.dumps(row["input"], sort_keys=True): row for row in rows}
    order = sorted(distinct, key=lambda text: hashlib.sha256(f"{options.seed + number}\n{text}".encode()).digest())
    out = set(order[: round(len(order) * options.share)])
    kept = [row for row in rows if json.dumps(row["input"], sort_keys=True) not in out]
    return kept, [distinct[text] for text in sorted(out)]


def purchase(request):
    """What the policy says, which the recorded answers follow."""
    amount = float(re.search(r"\$([\d,.]*\d)", request)[1].replace(",", ""))
    if "blocked" in request or amount >= 20000:
        return "reject"
    return "approve" if amount < 500 or (amount < 5000 and "preferred" in request) else "review"


def changed(rows):
    """Requests with another amount, or with another kind of vendor."""
    texts = []
    for row in rows:
        request = row["input"]["request"]
        texts += [re.sub(r"\$[\d,.]*\d", f"${amount:,}", request) for amount in AMOUNTS]
        kinds = "|".join(VENDORS)
        texts += [re.sub(rf"\b({kinds})(?= (vendor|supplier|reseller|firm))", kind, request) for kind in VENDORS]
    known = {row["input"]["request"] for row in rows}
    fresh = [text for text in dict.fromkeys(texts) if text not in known]
    return [{"input": {"request": text}, "output": purchase(text)} for text in fresh]


def why(report):
    """The program, or the rung that refused."""
    if report.get("status") == "sealed":
        learnt = next((rung["why"] for rung in report["rungs"] if rung["rung"] == "distill"), None)
        return f"`{report['program']}`" if "program" in report else learnt or ""
    refused = [rung for rung in report.get("rungs", []) if rung["status"] == "refused"]
    return "; ".join(f"{rung['rung']}: {rung['why']}" for rung in refused) or str(report.get("message"))


def brief(text, most=110):
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= most else text[: most - 1] + "…"


def runs(rows, options):
    if options.changed:
        assert all(purchase(row["input"]["request"]) == row["output"] for row in rows), "the policy is another"
        yield "changed", rows, changed(rows)
        return
    for number in range(options.splits):
        yield str(number + 1), *split(rows, number, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--contract", default="", help="what is added to the contract, with \\n between lines")
    parser.add_argument("--changed", choices=["purchases"])
    options = parser.parse_args()
    with open(options.data, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    total = [0, 0, 0]
    print("| split | shown | held out | right | wrong | silent | what |\n|---|---:|---:|---:|---:|---:|---|")
    for name, kept, out in runs(rows, options):
        with tempfile.TemporaryDirectory() as folder:
            report = compiled(pathlib.Path(folder), kept, options)
            right, wrong, silent, which = tally(pathlib.Path(folder), report, out)
        total = [total[0] + right, total[1] + wrong, total[2] + silent]
        print(f"| {name} | {len(kept)} | {len(out)} | {right} | {wrong} | {silent} | {brief(why(report))} |", flush=True)
        for row, got in which:
            print(f"<!-- wrong: {json.dumps(row['input'])} gives {json.dumps(got)}, not {json.dumps(row['output'])} -->")
    count = max(sum(total), 1)
    shares = {name: round(part / count, 4) for name, part in zip(("right", "wrong", "silent"), total, strict=True)}
    print(json.dumps({"data": pathlib.Path(options.data).stem, "inputs": sum(total), **shares}))


if __name__ == "__main__":
    main()
