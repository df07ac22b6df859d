"""An agent that triages support tickets with a language model, and records itself.

    auto-host record --store demo.db -- python3 agent.py tickets.jsonl
    python3 agent.py tickets.jsonl --answers       unrecorded; one line an answer, with its time

The model is at $DEMO_MODEL_URL and speaks the OpenAI chat format; policy.md is its system
prompt. Of each ticket one model call is recorded: the ticket in, the decision out. Around
it are a clock, which never says the same twice, and the tool that files the case, so that
the census has something to tell apart.
"""

import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# The SDK of this repository; an agent of yours would have it installed.
sys.path.insert(0, str(HERE.parent.parent / "tools/sdk/python"))

import auto_sdk  # noqa: E402


def decide(ticket):
    """The model's decision. The input that is recorded is what it depends on."""
    messages = [
        {"role": "system", "content": (HERE / "policy.md").read_text(encoding="utf-8")},
        {"role": "user", "content": json.dumps(ticket, ensure_ascii=False)},
    ]
    url = os.environ["DEMO_MODEL_URL"]
    return auto_sdk.openai_chat(
        url, "triage", messages, input=ticket, json_output=True, api_key="none", temperature=0
    )


@auto_sdk.tool_call("file_case")
def file_case(queue, reference):
    """Stands for the help desk's interface."""
    return {"filed": True, "case": f"{queue}/{reference}"}


@auto_sdk.tool_call("clock")
def clock():
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def triage(tickets):
    """The agent's run: every ticket is decided on and filed."""
    with auto_sdk.trace("support-triage"):
        clock()
        for ticket in tickets:
            with auto_sdk.span("ticket"):
                decision = decide(ticket)
                file_case(decision["queue"], decision["reference"])


def answers(tickets):
    """Only the decisions, one JSON object a line."""
    for ticket in tickets:
        started = time.perf_counter_ns()
        output = decide(ticket)
        microseconds = (time.perf_counter_ns() - started) // 1000
        print(json.dumps({"output": output, "microseconds": microseconds}, ensure_ascii=False))


def main():
    path, *rest = sys.argv[1:]
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    tickets = [json.loads(line) for line in lines if line.strip()]
    if rest == ["--answers"]:
        answers(tickets)
    else:
        triage(tickets)


if __name__ == "__main__":
    main()
