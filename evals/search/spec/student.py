"""The student: a clerk that answers one question about a letter.

All that it can do is in its spec, `spec.json`; the question is `task.json`. It adds as many
amounts as it may take steps, writes dates as it should if it has the tool for it, and knows
where the sender stands if its prompt tells it.
"""

import json
import re
from decimal import Decimal

MONTHS = "January February March April May June July August September October November December".split()


def total(text, agent):
    amounts = re.findall(r"\d+\.\d\d", text)[: agent["params"].get("max_steps", 1)]
    return str(sum(map(Decimal, amounts)))


def due(text, agent):
    day, month, year = re.search(r"(\d+) (\w+) (\d{4})", text).groups()
    if "calendar" not in agent["tools"]:
        return f"{day} {month} {year}"
    return f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}"


def sender(text, agent):
    lines = text.splitlines()
    return lines[-1] if "last line" in agent["prompt"] else lines[0]


spec = json.load(open("spec.json"))
asked = json.load(open("task.json"))["input"]
kinds = {"What is the total?": total, "When is it due?": due, "Who wrote it?": sender}
print(kinds[asked["question"]](asked["letter"], spec["agents"]["default"]))
