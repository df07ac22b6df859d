"""An agent that answers a shop's inbox in three steps, and records itself.

    python3 agent.py messages.jsonl FOLDER          one recorded run a message, FOLDER/N.jsonl
    python3 agent.py messages.jsonl --answers       unrecorded; one line an answer

Each message is a run of its own. A model says what kind of message it is; where it names an
order, a tool looks the order up (lookup.py, a process of its own); a model writes the reply
by the template of the house. No model is at hand here, so `model` stands for one: a fixed
rule that the compiler never sees, in place of a prompt that comes to the same.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# The SDK of this repository; an agent of yours would have it installed.
sys.path.insert(0, str(HERE.parent.parent / "tools/sdk/python"))

import auto_sdk  # noqa: E402

KINDS = [("refund", "refund"), ("money back", "refund"), ("parcel", "delivery"), ("password", "account")]


class OrderSystem:
    """The tool's process."""

    def __init__(self):
        command = [sys.executable, str(HERE / "lookup.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.requests = 0

    def ask(self, value):
        self.requests += 1
        request = {"id": self.requests, "name": "lookup", "input": value}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        reply = json.loads(self.process.stdout.readline())
        if "err" in reply:
            raise RuntimeError(reply["err"])
        return reply["ok"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def model(name, value):
    """Stands for a model."""
    if name == "classify":
        body = value["body"].lower()
        return next((kind for word, kind in KINDS if word in body), "other")
    sender, order = value["from"], value.get("order")
    if order is None:
        return f"Dear {sender}, which order is your {value['kind']} message about?"
    return (
        f"Dear {sender}, thank you for your {value['kind']} message about {order}. "
        f"It is {value['status']} with {value['carrier']}."
    )


def called(name, value):
    """A recorded call of the model."""
    with auto_sdk.model_call(name, value) as call:
        call.output = model(name, value)
    return call.output


def answer(message, orders):
    """The three steps."""
    kind = called("classify", {"body": message["body"]})
    facts = {"from": message["from"], "kind": kind}
    order = re.search(r"ORD-\d+", message["body"])
    if auto_sdk.branch("names an order", {"body": message["body"]}, order is not None):
        with auto_sdk.tool_call("lookup", {"order": order.group()}) as call:
            call.output = orders.ask({"order": order.group()})
        facts |= {"order": order.group(), "status": call.output["status"], "carrier": call.output["carrier"]}
    return {"kind": kind, "reply": called("reply", facts)}


def main():
    path, where = sys.argv[1:]
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    orders = OrderSystem()
    if where != "--answers":
        os.makedirs(where, exist_ok=True)
    for number, line in enumerate(lines, 1):
        message = json.loads(line)
        if where == "--answers":
            os.environ.pop("AUTO_TRACE_FILE", None)
            print(json.dumps(answer(message, orders), ensure_ascii=False))
            continue
        os.environ["AUTO_TRACE_FILE"] = str(pathlib.Path(where) / f"{number:03}.jsonl")
        with auto_sdk.trace("inbox", message) as run:
            run.task_output(answer(message, orders))
    orders.close()


if __name__ == "__main__":
    main()
