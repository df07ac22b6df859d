"""Makes tasks.jsonl, traces.jsonl and replies.jsonl: the benchmark, some recorded runs, and what
the scripted teacher says, in the order in which it is asked.

    python3 make.py
"""

import hashlib
import json
import random
import re
from decimal import Decimal

VERSION = "clerk_v1"
MONTHS = "January February March April May June July August September October November December".split()
FIRST = "Ann Ben Cleo Dan Eve Finn Gus Hana Ida Jon".split()
LAST = "Adler Brook Cole Dorn Ebert Frey".split()


def sha(data):
    return hashlib.sha256(data).digest()


def split(task):
    at = int.from_bytes(sha(f"split\0{VERSION}\0{task}".encode())[:8], "big") % 100
    return "diagnose" if at < 40 else "gate" if at < 80 else "confirm"


def words(question, letter):
    text = json.dumps({"letter": letter, "question": question}, separators=(",", ":"))
    return {word.lower() for word in re.split(r"[\W_]+", text) if word}


def for_diagnosis(known):
    """The tasks for diagnosis, without those that ask nearly what one that decides asks."""
    asked = {task["id"]: words(**task["input"]) for task in known}
    near = lambda a, b: 5 * len(asked[a] & asked[b]) >= 4 * len(asked[a] | asked[b])
    decide = [task["id"] for task in known if split(task["id"]) != "diagnose"]
    own = [task for task in known if split(task["id"]) == "diagnose"]
    return [task for task in own if not any(near(task["id"], other) for other in decide)]


def tasks():
    draw = random.Random(7)
    for number in range(20):
        name = f"{draw.choice(FIRST)} {draw.choice(LAST)}"
        amounts = [Decimal(draw.randrange(100, 9000)) / 100 for _ in range(draw.randrange(3, 6))]
        listed = ", ".join(f"{amount:.2f}" for amount in amounts)
        yield f"total-{number}", "total", "What is the total?", f"Dear all,\nwe bought for {listed}.\n{name}", f"{sum(amounts):.2f}"
        day, month, year = draw.randrange(1, 29), draw.randrange(12), draw.randrange(2024, 2028)
        letter = f"Dear all,\nplease pay by {day} {MONTHS[month]} {year}.\n{name}"
        yield f"due-{number}", "due", "When is it due?", letter, f"{year}-{month + 1:02}-{day:02}"
        yield f"sender-{number}", "sender", "Who wrote it?", f"Dear all,\nthe {draw.choice(MONTHS)} papers are in.\n{name}", name


def cluster(category, description, gap):
    return {"id": category, "description": description, "category": category, "skill_gap": gap}


CLUSTERS = [
    cluster("total", "leaves amounts out of the sum", "it stops after two amounts"),
    cluster("due", "writes dates as the letter does", "it cannot convert dates"),
    cluster("sender", "names the addressee", "it does not know where the sender stands"),
]


def fenced(value):
    return f"```json\n{json.dumps(value)}\n```"


def edit(op, payload, why):
    return {"op": op, "payload": payload, "rationale": why}


def proposal(target, *edits):
    return {"targets": [target], "edits": list(edits), "rationale": edits[0]["rationale"]}


STEPS = proposal("total", edit("set_agent_param", {"param": "max_steps", "value": 8}, "letters have up to five amounts"))
COOL = proposal("total", edit("set_model_param", {"model": "small", "param": "temperature", "value": 0.0}, "less chance"))
CALENDAR = proposal("due", edit("add_tool_to_agent", {"tool_name": "calendar"}, "it writes dates as they are wanted"))
MAIL = proposal("due", edit("add_tool_to_agent", {"tool_name": "mail"}, "it could ask the sender"))
DIFF = "@@ -1,2 +1,3 @@\n You are a clerk.\n Answer with the value alone.\n+The sender is in the last line of the letter."
PROMPT = proposal("sender", edit("patch_system_prompt", {"diff": DIFF}, "it is told where to look"))


def replies(known):
    """As `auto-host search spec` asks: diagnosis, the teacher's own answers, plan, for each session."""
    yield fenced([{"tool": "list_traces", "arguments": {"limit": 3}}, {"tool": "get_trace", "arguments": {"trace_id": "run-1"}}])
    yield "Three kinds of question fail.\n" + fenced(CLUSTERS)
    seed = sha(f"teacher\0{0}\0{VERSION}".encode())
    for one in CLUSTERS:
        own = [task for task in for_diagnosis(known) if task["category"] == one["category"]]
        for task in sorted(own, key=lambda task: sha(seed + task["id"].encode()))[:3]:
            yield task["expected"]
    yield fenced([STEPS, COOL])
    yield "Sums are right now.\n" + fenced(CLUSTERS[1:])
    yield fenced([MAIL, CALENDAR])
    yield fenced(CLUSTERS[2:])
    yield fenced([PROMPT])
    for _ in range(2):
        yield fenced(CLUSTERS[2:])
        yield fenced([PROMPT])


def lines(path, rows):
    with open(path, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


known = [
    {"id": id, "category": category, "input": {"question": question, "letter": letter}, "expected": expected}
    for id, category, question, letter, expected in tasks()
]
lines("tasks.jsonl", known)
shown = [
    ("Who wrote it?", "Dear all,\nwrite to ann@example.com.\nAnn Adler", "Dear all,", "failure"),
    ("When is it due?", "Dear all,\nby 7 May 2025.\nBen Cole", "7 May 2025", "failure"),
    ("What is the total?", "Dear all,\n1.00, 2.00.\nEve Frey", "3.00", "success"),
    ("What is the total?", "Dear all,\n1.00, 2.00, 3.50.\nEve Frey", "3.00", "failure"),
    ("Who wrote it?", "Dear all,\nsee /srv/payroll/may.\nIda Dorn", "Dear all,", "failure"),
    ("When is it due?", "Dear all,\nby 1 June 2026.\nJon Dorn", "1 June 2026", "failure"),
    ("Who wrote it?", "Dear all,\nthanks.\nGus Brook", "Dear all,", "failure"),
]
lines(
    "traces.jsonl",
    (
        {"id": f"run-{at}", "agent": "default", "source": "clerk", "outcome": outcome, "output": answer,
         "input": {"question": question, "letter": letter}}
        for at, (question, letter, answer, outcome) in enumerate(shown, 1)
    ),
)
lines("replies.jsonl", ({"text": reply} for reply in replies(known)))
