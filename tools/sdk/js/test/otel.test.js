import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { AutoSpanProcessor } from "../src/index.js";

test("the span processor writes a line of OTLP for each span that ends", async () => {
  const folder = mkdtempSync(join(tmpdir(), "auto-sdk-"));
  const path = join(folder, "run.jsonl");
  const processor = new AutoSpanProcessor(path);
  processor.onStart();
  processor.onEnd({
    spanContext: () => ({ traceId: `${"0".repeat(31)}1`, spanId: `${"0".repeat(15)}2` }),
    parentSpanContext: { spanId: `${"0".repeat(15)}1` },
    name: "chat m",
    startTime: [1_749_209_494, 5],
    endTime: [1_749_209_495, 0],
    attributes: { "gen_ai.operation.name": "chat", ok: true, n: [1, 2.5] },
    events: [],
    status: { code: 2, message: "late" },
    resource: { attributes: { "service.name": "tickets" } },
    instrumentationScope: { name: "agent" },
  });
  await processor.forceFlush();
  await processor.shutdown();
  const [{ resource, scopeSpans }] = JSON.parse(readFileSync(path, "utf8")).resourceSpans;
  const [one] = scopeSpans[0].spans;
  rmSync(folder, { recursive: true });
  assert.deepEqual(
    [one.startTimeUnixNano, one.parentSpanId, one.status.code],
    ["1749209494000000005", "0000000000000001", 2],
  );
  assert.deepEqual(one.attributes[2].value.arrayValue.values, [{ intValue: "1" }, { doubleValue: 2.5 }]);
  assert.equal(resource.attributes[0].value.stringValue, "tickets");
});
