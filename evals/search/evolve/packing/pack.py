"""Packs items one by one, as they come, into the bin that the heuristic likes best.

outputs.jsonl says what the heuristic (a program, run in the sandbox) answered for every size of item
and room left in a bin; an untouched bin is one with all of its room. A bin of which it says nothing
is taken last. The score of an instance is the fewest bins that could do, by volume, in those used.
"""

import json


def rows(name):
    with open(name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def pack(items, capacity, liking):
    bins = []
    for item in items:
        best, best_liking = len(bins), liking.get((item, capacity), -(10**40))
        seen = set()
        for place, left in enumerate(bins):
            # Of bins with the same room the first one: they are liked the same.
            if left < item or left in seen:
                continue
            seen.add(left)
            likes = liking.get((item, left), -(10**40))
            if likes >= best_liking and (likes > best_liking or best == len(bins)):
                best, best_liking = place, likes
        if best == len(bins):
            bins.append(capacity)
        bins[best] -= item
    return len(bins)


def main():
    liking = {}
    for row in rows("outputs.jsonl"):
        if row["output"] is not None:
            liking[row["input"]["item"], row["input"]["left"]] = row["output"]
    with open("scores.jsonl", "w", encoding="utf-8") as file:
        for instance in rows("instances.jsonl"):
            items, capacity = instance["input"]["items"], instance["input"]["capacity"]
            least = -(-sum(items) // capacity)
            score = least / pack(items, capacity, liking)
            file.write(json.dumps({"id": instance["id"], "score": round(score, 6)}) + "\n")


main()
