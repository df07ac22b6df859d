"""Holds this engine to what `auto-host` got for the same inputs: `python -m unittest`."""

import base64
import json
import pathlib
import unittest

import @MODULE@ as package


def outcome(behavior, text):
    try:
        came = behavior.run_text(text)
    except package.BehaviorError as error:
        return {"error": error.code}
    match came:
        case package.Answer(text):
            return {"answer": text}
        case package.Abstain(reason, score, limit):
            return {"abstain": {"reason": reason, "score": score, "limit": limit}}
        case package.Request(capability, input, state):
            state = base64.b64encode(state).decode()
            return {"request": {"capability": capability, "input": input, "state": state}}


class Vectors(unittest.TestCase):
    def test_inputs_come_to_what_they_came_to_elsewhere(self):
        behavior = package.Behavior()
        lines = pathlib.Path(__file__).with_name("vectors.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertTrue(lines)
        for line in lines:
            expected = json.loads(line)
            text = expected.pop("input")
            self.assertEqual(outcome(behavior, text), expected, text)

    def test_half_a_pair_and_too_much_are_refused(self):
        behavior = package.Behavior()
        for text, code in (('"\ud800"', "bad-input"), (json.dumps("a" * (1 << 20)), "too-large")):
            with self.assertRaises(package.BehaviorError) as raised:
                behavior.run_text(text)
            self.assertEqual(raised.exception.code, code)


if __name__ == "__main__":
    unittest.main()
