"""Makes instances.jsonl and probe.jsonl: what is packed, and all that a heuristic can be asked.

    python3 make.py
"""

import json

CAPACITY, LEAST, MOST = 60, 8, 40
INSTANCES, ITEMS = 160, 120


def draws(seed):
    """Numbers from a linear congruential generator (Knuth's MMIX), so that every machine makes the same."""
    while True:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        yield seed >> 33


def main():
    row = draws(11)
    with open("instances.jsonl", "w", encoding="utf-8") as file:
        for number in range(INSTANCES):
            items = [LEAST + next(row) % (MOST - LEAST + 1) for _ in range(ITEMS)]
            instance = {"id": f"pack-{number:03}", "capacity": CAPACITY, "items": items}
            file.write(json.dumps(instance, separators=(",", ":")) + "\n")
    with open("probe.jsonl", "w", encoding="utf-8") as file:
        for item in range(LEAST, MOST + 1):
            for left in range(item, CAPACITY + 1):
                file.write(json.dumps({"item": item, "left": left}, separators=(",", ":")) + "\n")


main()
