"""An experiment that returns counts: a till that retries a flaky card reader.

It stands in for the experiment platform of a house: request.json names two settings of a policy and a
batch; the till serves so many customers with each, by turns, and leaves who paid in counts.json. A
customer leaves when it takes too long, so neither no retry nor endless retries are best.
"""

import json
import random

CUSTOMERS = 200


def pays(policy, chance):
    """Whether a customer pays, who waits for so many seconds at most."""
    patience = chance.uniform(2.0, 14.0)
    waited = 0.0
    for attempt in range(policy["retries"] + 1):
        waited += 1.2 + (policy["pause_seconds"] if attempt else 0.0)
        if waited > patience:
            return False
        # The reader recovers with time: a short pause meets the same fault again.
        works = 0.45 if attempt == 0 else min(0.7, 0.12 + 0.16 * policy["pause_seconds"])
        if chance.random() < works:
            return True
    return False


def main():
    with open("request.json", encoding="utf-8") as file:
        request = json.load(file)
    chance = random.Random(request["seed"])
    counts = {"run": request["run"]}
    for arm in ("baseline", "candidate"):
        paid = sum(pays(request[arm], chance) for _ in range(CUSTOMERS))
        counts[arm] = {"successes": paid, "trials": CUSTOMERS}
    with open("counts.json", "w", encoding="utf-8") as file:
        json.dump(counts, file)


main()
