// The official clients, recorded against a server on loopback, and replayed without one. They are
// where `$AUTO_SDK_CLIENTS` says, in `node_modules`.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as auto from "../src/index.js";

const clients = process.env.AUTO_SDK_CLIENTS;
const skip = clients ? false : "AUTO_SDK_CLIENTS is not set";
const load = (name) => createRequire(`${clients}/`)(name);

const CALL = { id: "call_9", type: "function", function: { name: "look_up", arguments: '{"order": "A-1"}' } };
const SAID = { content: null, tool_calls: [{ name: "look_up", arguments: { order: "A-1" } }] };

/** What the server says, by what it is asked. */
function reply(path, request) {
  const tools = Boolean(request.tools);
  if (path.endsWith("/chat/completions")) {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    if (request.stream) {
      const chunk = (delta, finish_reason = null, rest = {}) => ({
        id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }], ...rest,
      });
      const { id, type } = CALL;
      const deltas = tools
        ? [{ tool_calls: [{ index: 0, id, type, function: { name: "look_up", arguments: '{"ord' } }] },
           { tool_calls: [{ index: 0, function: { arguments: 'er": "A-1"}' } }] }]
        : [{ role: "assistant", content: "he" }, { content: "llo" }];
      const chunks = [...deltas.map((delta) => chunk(delta)), chunk({}, "stop"), { ...chunk({}), choices: [], usage }];
      return [...chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`), "data: [DONE]\n\n"].join("");
    }
    const message = tools ? { role: "assistant", content: null, tool_calls: [CALL] } : { role: "assistant", content: "hello" };
    return { id: "c", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message, finish_reason: "stop" }], usage };
  }
  if (path.endsWith("/responses")) {
    const output = tools
      ? [{ type: "function_call", call_id: "call_9", name: "look_up", arguments: '{"order": "A-1"}' }]
      : [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "hello", annotations: [] }] }];
    return { id: "r", object: "response", model: "m", status: "completed", output, usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } };
  }
  const usage = { input_tokens: 3, output_tokens: 2 };
  const block = tools ? { type: "tool_use", id: "tu_9", name: "look_up", input: { order: "A-1" } } : { type: "text", text: "hello" };
  if (request.stream) {
    const deltas = tools
      ? [{ type: "input_json_delta", partial_json: '{"ord' }, { type: "input_json_delta", partial_json: 'er": "A-1"}' }]
      : [{ type: "text_delta", text: "he" }, { type: "text_delta", text: "llo" }];
    const events = [
      { type: "message_start", message: { id: "a", type: "message", role: "assistant", model: "m", content: [], usage: { input_tokens: 3, output_tokens: 0 } } },
      { type: "content_block_start", index: 0, content_block: tools ? { ...block, input: {} } : { ...block, text: "" } },
      ...deltas.map((delta) => ({ type: "content_block_delta", index: 0, delta })),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ];
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  }
  return { id: "a", type: "message", role: "assistant", model: "m", content: [block], stop_reason: "end_turn", usage };
}

let server, url, folder;
let asked = 0;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "auto-sdk-"));
  server = createServer(async (request, response) => {
    asked += 1;
    let body = "";
    for await (const part of request) body += part;
    const said = reply(request.url, JSON.parse(body));
    const stream = typeof said === "string";
    response.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json" });
    response.end(stream ? said : JSON.stringify(said));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${server.address().port}/v1`;
});
after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const TOOL = { name: "look_up", description: "looks an order up" };
const messages = [{ role: "user", content: "Where is A-1?" }];

async function openai() {
  const { OpenAI } = load("openai");
  const client = auto.openai(new OpenAI({ apiKey: "sk-none", baseURL: url, maxRetries: 0 }));
  const seen = [];
  for (const tools of [undefined, [{ type: "function", function: { ...TOOL, parameters: { type: "object" } } }]]) {
    const whole = await client.chat.completions.create({ model: "m", messages, ...(tools ? { tools } : {}) });
    seen.push(whole.choices[0].message.content ?? JSON.parse(whole.choices[0].message.tool_calls[0].function.arguments));
    const stream = await client.chat.completions.create({
      model: "m", messages, stream: true, stream_options: { include_usage: true }, ...(tools ? { tools } : {}),
    });
    let text = "";
    for await (const event of stream) {
      const delta = event.choices[0]?.delta;
      text += delta?.content ?? delta?.tool_calls?.[0]?.function?.arguments ?? "";
    }
    seen.push(tools ? JSON.parse(text) : text);
    const said = await client.responses.create({ model: "m", input: "Where is A-1?", ...(tools ? { tools: [{ type: "function", ...TOOL }] } : {}) });
    seen.push(tools ? JSON.parse(said.output[0].arguments) : said.output[0].content[0].text);
  }
  return seen;
}

async function anthropic() {
  const { Anthropic } = load("@anthropic-ai/sdk");
  const client = auto.anthropic(new Anthropic({ apiKey: "sk-none", baseURL: url.slice(0, -3), maxRetries: 0 }));
  const seen = [];
  for (const tools of [undefined, [{ ...TOOL, input_schema: { type: "object" } }]]) {
    const request = { model: "m", max_tokens: 9, messages, ...(tools ? { tools } : {}) };
    const whole = await client.messages.create(request);
    seen.push(whole.content[0].text ?? whole.content[0].input);
    let text = "";
    for await (const event of await client.messages.create({ ...request, stream: true })) {
      text += event.delta?.text ?? event.delta?.partial_json ?? "";
    }
    seen.push(tools ? JSON.parse(text) : text);
  }
  return seen;
}

for (const [name, agent, calls] of [["openai", openai, 6], ["anthropic", anthropic, 4]]) {
  test(`the client of ${name} is recorded and replayed, whole and streamed, with and without tools`, { skip }, async () => {
    const path = join(folder, `${name}.jsonl`);
    const expected = [...Array(calls / 2).fill("hello"), ...Array(calls / 2).fill({ order: "A-1" })];
    assert.deepEqual(await auto.trace("toy", { path }, agent), expected);
    const text = readFileSync(path, "utf8");
    assert.ok(!text.includes("sk-none") && !text.includes("call_9") && !text.includes("tu_9"), text);
    const spans = text.trimEnd().split("\n").map((line) => JSON.parse(line)).filter((line) => line.t === "span");
    assert.deepEqual(spans.map((span) => [span.kind, span.name, span.attrs.tokens, span.output]),
      expected.map((said) => ["model_call", "m", "5", typeof said === "string" ? said : SAID]));
    // Streamed or not, the question is the same.
    assert.deepEqual(spans[0].input, spans[1].input);
    const before = asked;
    assert.deepEqual(await auto.replay(path, () => auto.trace("toy", {}, agent), { complete: true }), expected);
    assert.equal(asked, before, "the server was asked in a replay");
  });
}

test("a stream that the agent leaves is recorded as an error", { skip }, async () => {
  const { OpenAI } = load("openai");
  const path = join(folder, "left.jsonl");
  await auto.trace("toy", { path }, async () => {
    const client = auto.openai(new OpenAI({ apiKey: "sk-none", baseURL: url, maxRetries: 0 }));
    for await (const event of await client.chat.completions.create({ model: "m", messages, stream: true })) {
      void event;
      break;
    }
  });
  assert.match(readFileSync(path, "utf8"), /"error":"Error: the agent left the stream before its end"/);
});
