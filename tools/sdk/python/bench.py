"""What a recorded operation costs: `python3 bench.py`."""

import json
import os
import tempfile
import time

import auto_sdk

given = {"customer": "Ana Okafor", "subject": "Refund for a broken toaster", "body": "x" * 200}
rounds = []
with tempfile.TemporaryDirectory() as folder:
    for number in range(21):
        with auto_sdk.trace("overhead", path=os.path.join(folder, f"{number}.jsonl")):
            start, used = time.perf_counter_ns(), time.process_time_ns()
            for n in range(1000):
                with auto_sdk.tool_call("t", given) as call:
                    call.output = {"queue": "returns", "n": n}
            rounds.append(((time.perf_counter_ns() - start) / 1e6, (time.process_time_ns() - used) / 1e6))
wall, processor = (sorted(figures)[10] for figures in zip(*rounds))
print(json.dumps({"us_per_span": round(wall, 2), "processor_us_per_span": round(processor, 2)}))
