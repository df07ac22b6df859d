"""Writes replies.jsonl: what a teacher says, in the order in which it is asked.

    python3 make_replies.py

It stands for a model, so that the search runs without one. Two of its edits are bad on purpose: one
adds a heading, and one sounds right to the judge and makes runs fail.
"""

import itertools
import json
import pathlib

STEPS = """## Steps

1. Read the files `inbox/*`.
2. Take the number after `Amount:`, and leave out the commas in it.
3. Count each invoice once, by the number after `Invoice:`.
4. Add up the numbers.
5. Write the sum to `out/total.txt`."""
UNITS = ["s00", "s01-add-up-invoices", "s02-steps", "s03-when-something-is-odd", "s04-background"]


def scores(**low):
    named = {unit: low.get(unit[:3], (5, "nothing to improve")) for unit in UNITS}
    rows = [{"unit": unit, "score": score, "evidence": [], "reason": why} for unit, (score, why) in named.items()]
    return {"units": rows}


def edit(text, summary):
    return {"text": text, "summary": summary}


# A comparison does not say which version is new. The first one shows it as b, and they take turns.
turns = itertools.cycle(["ab", "ba"])


def compared(incumbent, candidate, reason):
    old, new = next(turns)
    return {
        old: incumbent,
        new: candidate,
        "task_relevant": True,
        "worse_with_a": [],
        "worse_with_b": [],
        "evidence": [],
        "reason": reason,
    }


odd = "## When something is odd\n\n- If a file has no amount, skip it."
replies = [
    # Procedure Completeness, then Economy.
    scores(s02=(2, "only .txt files are read, and nothing is said of commas and copies"), s03=(2.5, "one letter ends the whole job")),
    scores(s04=(2, "it is long, and no run uses it")),
    edit(STEPS + "\n\n## Checks\n\n- Look at the sum again.", "adds a section, which is not allowed"),
    edit(STEPS, "reads every file, leaves out commas, counts an invoice once"),
    compared(2, 4.5, "two of three sums are right now, before none was"),
    edit(odd + "\n- Leave out amounts below 100, which are rarely worth the time.", "goes on, and saves time"),
    compared(2.5, 4, "it no longer stops"),
    edit(odd, "goes on without it"),
    compared(2.5, 4.5, "the letter is passed over, and the sum is right"),
    # Economy again, since the text has changed.
    scores(s04=(2, "it is long, and no run uses it")),
    edit("## Background\n\nAn invoice has a number and an amount.", "says it in a sentence"),
    compared(2, 5, "the runs are the same, and the text is shorter"),
    scores(),
]
lines = [json.dumps({"text": json.dumps(reply)}) for reply in replies]
pathlib.Path(__file__).with_name("replies.jsonl").write_text("\n".join(lines) + "\n")
