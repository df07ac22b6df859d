// What a recorded operation costs: `node bench/overhead.mjs`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as auto from "../src/index.js";

const folder = mkdtempSync(join(tmpdir(), "auto-sdk-"));
const input = { customer: "Ana Okafor", subject: "Refund for a broken toaster", body: "x".repeat(200) };
const rounds = [];
for (let round = 0; round < 21; round++) {
  await auto.trace("overhead", { path: join(folder, `${round}.jsonl`) }, () => {
    const [start, used] = [process.hrtime.bigint(), process.cpuUsage()];
    for (let n = 0; n < 1000; n++) auto.toolCall("t", input, () => ({ queue: "returns", n }));
    const { user, system } = process.cpuUsage(used);
    rounds.push([Number(process.hrtime.bigint() - start) / 1e6, (user + system) / 1e3]);
  });
}
rmSync(folder, { recursive: true });
const median = (which) => Number(rounds.map((round) => round[which]).sort((a, b) => a - b)[10].toFixed(2));
console.log(JSON.stringify({ us_per_span: median(0), processor_us_per_span: median(1) }));
