"""The order system, as a resident process: JSON lines in, JSON lines out.

    {"id": 1, "name": "lookup", "input": {"order": "ORD-48213"}}
    {"id": 1, "ok": {"status": "packed", "carrier": "Northern Post"}}

An order it does not know is an error: {"id": 1, "err": "no such order"}. The agent starts it
when it is recorded, and `auto-host run --tool lookup=…` when the artifact runs.
"""

import json
import sys

STATUS = ["packed", "shipped", "delivered", "delayed", "waiting for payment"]
CARRIERS = ["Northern Post", "Blue Van", "City Bikes"]


def lookup(request):
    """What the order system knows about an order."""
    order = request["order"]
    digits = order.removeprefix("ORD-")
    if order == digits or not digits.isdigit():
        raise ValueError("no such order")
    number = int(digits)
    return {"status": STATUS[number % len(STATUS)], "carrier": CARRIERS[number % len(CARRIERS)]}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        reply = {"id": request["id"]}
        try:
            reply["ok"] = lookup(request["input"])
        except (KeyError, ValueError, AttributeError) as error:
            reply["err"] = str(error)
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
