// Holds this engine to what `auto-host` got for the same inputs: `npm test`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { behavior, BehaviorError } from "./index.mjs";

const lines = readFileSync(new URL("./vectors.jsonl", import.meta.url), "utf8").trimEnd().split("\n");

function outcome(input) {
  try {
    const { kind, ...rest } = behavior.runText(input);
    if (rest.state) rest.state = Buffer.from(rest.state).toString("base64");
    return { [kind]: kind === "answer" ? rest.output : rest };
  } catch (error) {
    if (!(error instanceof BehaviorError)) throw error;
    return { error: error.code };
  }
}

test(`${lines.length} inputs come to what they came to elsewhere`, () => {
  for (const line of lines) {
    const { input, ...expected } = JSON.parse(line);
    assert.deepEqual(outcome(input), expected, input);
  }
});

test("half a pair and too much are refused", () => {
  assert.throws(() => behavior.runText('"\uD800"'), { code: "bad-input" });
  assert.throws(() => behavior.runText(`"${"a".repeat(1 << 20)}"`), { code: "too-large" });
});
