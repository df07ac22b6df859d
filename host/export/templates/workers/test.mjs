// Holds the handler to what `auto-host` got for the same inputs: `npm test`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { handler } from "./handler.mjs";

const here = (name) => new URL(name, import.meta.url);
const fetch = handler(new WebAssembly.Module(readFileSync(here("./behavior.wasm"))));
const lines = readFileSync(here("./vectors.jsonl"), "utf8").trimEnd().split("\n");
const ask = (body, method = "POST") => fetch(new Request("http://worker/", method === "POST" ? { method, body } : { method }));

test(`${lines.length} inputs come to what they came to elsewhere`, async () => {
  for (const line of lines) {
    const { input, answer, abstain, request, error } = JSON.parse(line);
    const response = await ask(input);
    const body = await response.text();
    if (answer !== undefined) assert.deepEqual([response.status, body], [200, answer], input);
    if (abstain) assert.deepEqual([response.status, JSON.parse(body).abstained], [409, abstain], input);
    if (request) assert.deepEqual([response.status, JSON.parse(body).request.capability], [501, request.capability], input);
    if (error) assert.deepEqual([response.status, JSON.parse(body).error.code], [400, error], input);
  }
});

test("other methods and inputs that are too large are refused", async () => {
  assert.equal((await ask(undefined, "GET")).status, 405);
  assert.equal((await ask(`"${"a".repeat(1 << 20)}"`)).status, 413);
});
