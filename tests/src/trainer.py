"""Learns which label even and odd numbers have, and gets some of a hundred rows wrong, fewer the more
skill it has. A trick is what a candidate does to the search.
"""

import json, os, sys, time

request = json.load(open("request.json"))
params = request["params"]
rows = lambda name: [json.loads(line) for line in open(name)]
votes = {}
for row in rows("train.jsonl"):
    side = votes.setdefault(row["input"]["x"] % 2, {})
    side[row["label"]] = side.get(row["label"], 0) + 1
best = {side: max(sorted(labels), key=labels.get) for side, labels in votes.items()}
tests = rows("test.jsonl")


def predict():
    lines = []
    for row in tests:
        x = row["input"]["x"]
        wrong = x * 37 % 100 >= 50 + params["skill"]
        lines.append({"id": row["id"], "label": "a" if wrong else best.get(x % 2, "a")})
    return lines


def leave(name, text):
    with open(name, "w") as file:
        file.write(text)


def honest():
    leave("predictions.jsonl", "".join(json.dumps(line) + "\n" for line in predict()))
    leave("metrics.json", json.dumps({"run": request["run"]}))
    leave("config.json", json.dumps(params))


trick = params["trick"]
if trick == "loop":
    while True:
        pass
elif trick == "sleep":
    time.sleep(60)
elif trick == "flood":
    while True:
        sys.stdout.write("x" * 65536)
elif trick == "fork":
    for _ in range(40):
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
            os._exit(0)
elif trick == "huge":
    with open("predictions.jsonl", "wb") as file:
        while True:
            file.write(b"0" * 65536)
elif trick == "symlink":
    honest()
    os.remove("metrics.json")
    os.symlink("/etc/hostname", "metrics.json")
elif trick == "many":
    for at in range(2000):
        leave(f"junk-{at}", "x")
    honest()
elif trick == "other-run":
    honest()
    leave("metrics.json", json.dumps({"run": "r-0123456789abcdef"}))
elif trick == "nan":
    honest()
    leave("metrics.json", '{"run": "%s", "loss": NaN}' % request["run"])
elif trick == "infinite":
    honest()
    leave("predictions.jsonl", "".join('{"id": "%s", "label": Infinity}\n' % row["id"] for row in tests))
elif trick == "labels":
    honest()
    leave("predictions.jsonl", "".join(json.dumps({"id": row["id"], "label": row["label"]}) + "\n" for row in rows("train.jsonl")))
elif trick == "fail":
    sys.exit(3)
elif trick == "memory":
    hoard = b"x" * (1 << 30)
    honest()
else:
    honest()
