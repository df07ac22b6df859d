// What the SDK records, what it refuses, and how it replays.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import * as auto from "../src/index.js";

let folder, path;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "auto-sdk-"));
  path = join(folder, "run.jsonl");
  delete process.env.AUTO_TRACE_FILE;
  delete process.env.AUTO_REPLAY_FILE;
});
afterEach(() => rmSync(folder, { recursive: true }));

const lines = () => {
  const text = readFileSync(path, "utf8");
  assert.ok(text.endsWith("\n"));
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
};

/** The spans in order of opening, checked against the rules of the format. */
function spans() {
  const [header, ...rest] = lines();
  assert.equal(header.t, "trace");
  const spans = rest.filter((line) => line.t === "span").sort((a, b) => a.seq - b.seq);
  const opened = new Set([null]);
  for (const span of spans) {
    assert.deepEqual([span.v, span.trace_id], [0, header.trace_id]);
    assert.ok(opened.has(span.parent_span_id) && !opened.has(span.span_id));
    opened.add(span.span_id);
    assert.ok(Object.values(span.attrs).every((value) => typeof value === "string"));
  }
  return spans;
}

test("a run in the wire format", async () => {
  const lookup = auto.toolCall.wrap("lookup", (text, limit = 3) => ({ n: text.length, limit }));
  await auto.trace("toy", { taskInput: { doc: "x", none: undefined }, attrs: { who: "me" }, path }, async (run) => {
    await auto.span("run", async () => {
      const answer = await auto.modelCall("m", { prompt: "p" }, async (call) => {
        [call.tokens, call.costUsdMicros] = [7, 12n];
        call.attrs.note = "n";
        return "answer";
      });
      assert.equal(answer, "answer");
      assert.deepEqual(lookup("abc"), { n: 3, limit: 3 });
      assert.equal(auto.branch("long", { n: 3 }, true), true);
      auto.memoryOp("append", { key: "k" }, () => undefined);
    });
    run.taskOutput([1, 2.5, null]);
  });
  const [header, ...rest] = lines();
  assert.deepEqual(Object.keys(header), ["attrs", "sdk", "started_at_ms", "t", "task", "task_input", "trace_id", "v"]);
  assert.deepEqual([header.v, header.task, header.task_input], [0, "toy", { doc: "x" }]);
  assert.match(header.trace_id, /^[0-9a-f]{32}$/);
  assert.equal(header.attrs.who, "me");
  assert.equal(header.started_at_ms, Math.floor(Number(header.attrs.started_at_us) / 1000));
  assert.deepEqual(Object.keys(rest.at(-1)), ["output", "recorded_at_ms", "t", "trace_id", "v"]);
  assert.deepEqual(rest.at(-1).output, [1, 2.5, null]);
  const shown = spans().map(({ kind, name, input, output }) => [kind, name, input, output]);
  assert.deepEqual(shown, [
    ["span", "run", {}, null],
    ["model_call", "m", { prompt: "p" }, "answer"],
    ["tool_call", "lookup", "abc", { n: 3, limit: 3 }],
    ["branch", "long", { n: 3 }, true],
    ["memory_op", "append", { key: "k" }, null],
  ]);
  const model = spans()[1];
  assert.deepEqual([model.attrs.tokens, model.attrs.cost_usd_micros, model.attrs.note], ["7", "12", "n"]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("what runs side by side has its own enclosing operation", async () => {
  await auto.trace("toy", { path }, () =>
    Promise.all(
      [1, 2, 3].map((n) =>
        auto.span(`outer-${n}`, async () => {
          await new Promise((done) => setTimeout(done, 10 * (4 - n)));
          await auto.toolCall("inner", { n }, async () => n);
        }),
      ),
    ),
  );
  const all = spans();
  for (const span of all.filter((span) => span.name === "inner")) {
    assert.equal(all.find((one) => one.span_id === span.parent_span_id).name, `outer-${span.input.n}`);
  }
});

test("an operation that fails is recorded and throws", async () => {
  await assert.rejects(
    auto.trace("toy", { path }, async () => {
      assert.throws(() => auto.toolCall("sync", {}, () => { throw new TypeError("no\u0000"); }), TypeError);
      await auto.toolCall("async", {}, async () => Promise.reject(new Error("late")));
    }),
    /late/,
  );
  assert.deepEqual(spans().map((span) => [span.name, span.error]), [["sync", "TypeError: no\u0000"], ["async", "Error: late"]]);
});

test("what JSON cannot hold is refused with its place", async () => {
  const self = {};
  self.self = self;
  const cases = [
    [NaN, /the input of tool_call t is NaN/],
    [{ a: [1, Infinity] }, /t\.a\[1\] is Infinity/],
    [new Map(), /of type Map/],
    [{ f() {} }, /t\.f is of type function/],
    ["\ud800", /half a surrogate pair/],
    [10n ** 38n, /more than 38 digits/],
    [self, /more than 63 deep/],
    [undefined, /of type undefined/],
  ];
  await auto.trace("toy", { path }, () => {
    for (const [input, why] of cases) {
      assert.throws(() => auto.toolCall("t", input, () => 1), (error) => error instanceof auto.RecordingError && why.test(error.message));
    }
    assert.throws(() => auto.toolCall("out", {}, () => NaN), /the output of tool_call out is NaN/);
    assert.throws(() => auto.toolCall("tokens", {}, (call) => void (call.tokens = 1.5)), /must be an integer/);
    assert.throws(() => auto.toolCall("attrs", {}, (call) => void (call.attrs.tokens = "1")), /reserved/);
  });
  // They happened, so they are there.
  assert.deepEqual(spans().map((span) => span.name), ["out", "tokens", "attrs"]);
});

test("a file holds one trace, a process has one run, a run one output", async () => {
  await auto.trace("toy", { path }, async (run) => {
    await assert.rejects(auto.trace("toy", { path: `${path}.2` }, () => 1), /one at a time/);
    assert.throws(() => run.taskOutput(null), /says nothing/);
    run.taskOutput(1);
    assert.throws(() => auto.taskOutput(2), /declared before/);
  });
  await assert.rejects(auto.trace("toy", { path }, () => 1), /holds a trace already/);
  await assert.rejects(auto.trace("toy", { path: join(folder, "no", "where") }, () => 1), /no trace can be written/);
  let late;
  await auto.trace("toy", { path: `${path}.3` }, () => {
    late = new Promise((done) => setTimeout(done, 20)).then(() => 1);
    auto.toolCall("late", {}, () => late).catch(() => {});
  });
  await late;
});

test("without a place the agent just runs", async () => {
  assert.equal(await auto.trace("toy", {}, () => auto.toolCall("t", { f() {} }, () => 7)), 7);
  assert.equal(auto.toolCall("outside", {}, () => 8), 8);
});

test("an environment read records a digest", async () => {
  process.env.SDK_SECRET = "s3cret";
  await auto.trace("toy", { path }, () => {
    assert.equal(auto.envRead("SDK_SECRET"), "s3cret");
    assert.equal(auto.envRead("SDK_NOT_THERE"), undefined);
    assert.deepEqual(auto.envRead("bytes", new Uint8Array([1])), new Uint8Array([1]));
  });
  assert.ok(!readFileSync(path, "utf8").includes("s3cret"));
  assert.deepEqual(spans().map((span) => span.output?.length ?? null), [6, null, 1]);
});

async function agent(tool) {
  return await auto.trace("toy", { taskInput: 1, path }, async (run) => {
    const values = await Promise.all([1, 2].map((n) => auto.span(`s${n}`, () => auto.toolCall("t", {}, () => tool(n)))));
    auto.branch("b", {}, values[0] < values[1]);
    run.taskOutput(values);
    return values;
  });
}

test("a recording answers the agent again", async () => {
  assert.deepEqual(await agent(async (n) => n * 10), [10, 20]);
  const never = () => assert.fail("the tool was called");
  assert.deepEqual(await auto.replay(path, () => agent(never), { complete: true }), [10, 20]);
  process.env.AUTO_REPLAY_FILE = path;
  assert.deepEqual(await agent(never), [10, 20]);
  delete process.env.AUTO_REPLAY_FILE;
  const other = (task, input, work) => auto.replay(path, () => auto.trace(task, { taskInput: input }, work), { complete: true });
  await assert.rejects(other("toys", 1, () => 1), auto.DivergenceError);
  await assert.rejects(other("toy", 2, () => 1), /recorded task input/);
  await assert.rejects(other("toy", 1, () => auto.toolCall("t", { other: 1 }, never)), /no recording is left/);
  await assert.rejects(other("toy", 1, () => 1), /did not happen/);
  await assert.rejects(other("toy", 1, () => auto.branch("b", {}, false)), /recorded is true/);
  writeFileSync(`${path}.torn`, readFileSync(path, "utf8").slice(0, -20));
  await assert.rejects(auto.replay(`${path}.torn`, () => 1), /no whole trace/);
  await assert.rejects(auto.replay(join(folder, "none"), () => 1), /cannot be replayed/);
});

test("a recorded error is thrown again", async () => {
  const run = () => auto.trace("toy", { path }, () => auto.toolCall("t", {}, () => { throw new Error("down"); }));
  await assert.rejects(run(), /down/);
  await assert.rejects(auto.replay(path, run), auto.ReplayedError);
});

test("a process that is killed loses the operation in flight alone", async () => {
  const script = `
    import * as auto from ${JSON.stringify(new URL("../src/index.js", import.meta.url).href)};
    await auto.trace("toy", {}, async () => {
      for (let n = 0; n < 100; n++) auto.toolCall("t", { n }, () => n);
      await auto.toolCall("in flight", {}, () => { process.stdout.write("now"); return new Promise(() => setTimeout(() => {}, 1e6)); });
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { env: { ...process.env, AUTO_TRACE_FILE: path } });
  await new Promise((done) => child.stdout.once("data", done));
  child.kill("SIGKILL");
  await new Promise((done) => child.once("close", done));
  assert.equal(spans().length, 100);
});

test("equal traces have equal texts of values in both SDKs", () => {
  // As the Python SDK writes them: sorted keys, no white space.
  const script = `
    import * as auto from ${JSON.stringify(new URL("../src/index.js", import.meta.url).href)};
    await auto.trace("toy", { taskInput: { b: [1, 2.5, -0, "\\u00e9\\u2028"], a: { d: null, c: true } } }, () => 1);`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], { env: { ...process.env, AUTO_TRACE_FILE: path } });
  assert.match(readFileSync(path, "utf8"), /"task_input":\{"a":\{"c":true,"d":null\},"b":\[1,2\.5,0,"é\u2028"\]\}/);
});
