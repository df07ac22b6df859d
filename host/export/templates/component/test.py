"""Holds the component to what `auto-host` got for the same inputs: `python3 -m unittest test`.

It needs the package `wasmtime` from PyPI, a version with components.
"""

import base64
import json
import pathlib
import unittest

import wasmtime
from wasmtime import component

HERE = pathlib.Path(__file__).parent


def came(result):
    """A `result<outcome, failure>` as a line of `vectors.jsonl` has it."""
    outcome = result.payload
    if result.tag == "err":
        return {"error": outcome.tag}
    if outcome.tag == "answer":
        return {"answer": outcome.payload}
    fields = dict(vars(outcome.payload))
    if outcome.tag == "request":
        fields["state"] = base64.b64encode(bytes(fields["state"])).decode()
    return {outcome.tag: fields}


class Vectors(unittest.TestCase):
    def test_inputs_come_to_what_they_came_to_elsewhere(self):
        engine = wasmtime.Engine()
        file = component.Component.from_file(engine, str(HERE / "behavior.component.wasm"))
        lines = (HERE / "vectors.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertTrue(lines)
        for line in lines:
            expected = json.loads(line)
            text = expected.pop("input")
            store = wasmtime.Store(engine)
            instance = component.Linker(engine).instantiate(store, file)
            behavior = instance.get_export_index(store, "auto:cbin/behavior@0.1.0")
            run = instance.get_func(store, instance.get_export_index(store, "run", behavior))
            self.assertEqual(came(run(store, text)), expected, text)


if __name__ == "__main__":
    unittest.main()
