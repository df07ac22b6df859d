"""Runs inputs in the package's `Behavior`, and times them."""

import json
import pathlib
import sys
import time

import edge

task = json.loads(sys.stdin.read())
file = pathlib.Path("edge/behavior.cbin").read_bytes()
start = time.perf_counter_ns()
behavior = edge.Behavior(file)
load = time.perf_counter_ns() - start


def call(text):
    try:
        came = behavior.run_text(text)
    except edge.BehaviorError as error:
        return f"error\t{error.code}"
    if isinstance(came, edge.Answer):
        return f"answer\t{came.text}"
    if isinstance(came, edge.Abstain):
        return f"abstain\t{came.reason}\t{came.score}\t{came.limit}"
    return f"request\t{came.capability}\t{came.input}\t{came.state.hex()}"


lines = [call(text) for text in task["inputs"]]
memory = behavior.memory_bytes
times = []
some = task["inputs"][: task["timed"]]
again = -(-1000 // len(some))
for _ in range(task["rounds"]):
    start = time.perf_counter_ns()
    for _ in range(again):
        for text in some:
            call(text)
    times.append((time.perf_counter_ns() - start) // (again * len(some)))
times.sort()
print(json.dumps({"lines": lines, "load_ns": load, "call_ns": times[len(times) // 2], "memory": memory}))
