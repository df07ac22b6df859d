"""A trainer that is given: naive Bayes over what a pipeline of transformations makes of a text.

It finds request.json (the run, its parameters, its seed), train.jsonl (rows with labels) and
test.jsonl (rows without), and leaves predictions.jsonl, metrics.json and config.json.
"""

import json
import math
from collections import Counter, defaultdict

STOP = set("a an the i my is it to of in on for and or do did can how what why when me you have has was with be".split())


def rows(name):
    with open(name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def lower(tokens, _):
    return [token.lower() for token in tokens]


def strip(tokens, _):
    kept = ("".join(c for c in token if c.isalnum()) for token in tokens)
    return [token for token in kept if token]


def stop(tokens, _):
    return [token for token in tokens if token.lower() not in STOP]


def stem(tokens, step):
    return [token[: step["letters"]] for token in tokens]


def pairs(tokens, _):
    return tokens + [f"{a} {b}" for a, b in zip(tokens, tokens[1:]) if " " not in a and " " not in b]


def grams(tokens, step):
    n = step["letters"]
    return tokens + [f"#{token[at:at + n]}" for token in tokens if token[0] != "#" for at in range(len(token) - n + 1)]


def first(tokens, step):
    return tokens[: step["count"]]


def unique(tokens, _):
    return list(dict.fromkeys(tokens))


STEPS = {
    "lower": lower, "strip": strip, "stop": stop, "stem": stem,
    "pairs": pairs, "grams": grams, "first": first, "unique": unique,
}


def features(row, pipeline):
    tokens = row["input"]["text"].split()
    for step in pipeline:
        if step["step"] == "field":
            # A column beside the text, where the rows have one.
            tokens = tokens + [f"{step['name']}={row['input'].get(step['name'])}"] * step["weight"]
        else:
            tokens = STEPS[step["step"]](tokens, step)
    return tokens


def train(examples, params):
    counts, priors, seen = defaultdict(Counter), Counter(), Counter()
    for row in examples:
        own = features(row, params["pipeline"])
        counts[row["label"]].update(own)
        seen.update(set(own))
        priors[row["label"]] += 1
    known = {token for token, count in seen.items() if count >= params["least_count"]}
    smooth = params["smoothing"]
    tables = {}
    for label, own in sorted(counts.items()):
        total = sum(count for token, count in own.items() if token in known) + smooth * (len(known) + 1)
        logs = {token: math.log((own[token] + smooth) / total) for token in own if token in known}
        tables[label] = (math.log(priors[label]) * params["prior"], logs, math.log(smooth / total))
    return known, tables


def predict(row, params, model):
    known, tables = model
    tokens = [token for token in features(row, params["pipeline"]) if token in known]
    scored = []
    for label, (prior, logs, absent) in tables.items():
        scored.append((prior + sum(logs.get(token, absent) for token in tokens), label))
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    # Where the two best are closer than the threshold, the most careful answer.
    if len(scored) > 1 and "other" in tables and scored[0][0] - scored[1][0] < params["threshold"]:
        return "other"
    return scored[0][1]


def main():
    with open("request.json", encoding="utf-8") as file:
        request = json.load(file)
    params = request["params"]
    model = train(rows("train.jsonl"), params)
    with open("predictions.jsonl", "w", encoding="utf-8") as file:
        for row in rows("test.jsonl"):
            file.write(json.dumps({"id": row["id"], "label": predict(row, params, model)}) + "\n")
    with open("metrics.json", "w", encoding="utf-8") as file:
        json.dump({"run": request["run"], "features": len(model[0])}, file)
    with open("config.json", "w", encoding="utf-8") as file:
        json.dump(params, file)


main()
