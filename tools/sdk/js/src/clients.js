// The official clients of OpenAI and Anthropic, recorded: their calls go through as they are, and
// each is a model call whose input is the request and whose output is what was said.

import { operate } from "./operations.js";
import { current } from "./session.js";

/** What of a request is no part of the question. */
const HOW = ["stream", "stream_options", "user", "metadata", "store"];

/**
 * The client, recording `chat.completions.create` and `responses.create`.
 *
 * @template {object} T
 * @param {T} client
 * @returns {T}
 */
export function openai(client) {
  return wrapped(client, {
    "chat.completions.create": { say: chatSaid, join: joinedChat, make: madeChat, tell: chatEvents },
    "responses.create": { say: responseSaid, join: joinedResponse, make: madeResponse, tell: responseEvents },
  });
}

/**
 * The client, recording `messages.create`.
 *
 * @template {object} T
 * @param {T} client
 * @returns {T}
 */
export function anthropic(client) {
  return wrapped(client, { "messages.create": { say: messageSaid, join: joinedMessage, make: madeMessage, tell: messageEvents } });
}

/**
 * How to read what a method gives, how to join a stream of it, how to make it out of a recording,
 * and how to make a stream of it.
 *
 * @typedef {object} Method
 * @property {(reply: any) => unknown} say
 * @property {(events: any[]) => any} join
 * @property {(output: any, model: string) => any} make
 * @property {(reply: any) => any[]} tell
 */

/**
 * The object with some of its methods, named by their path, recorded.
 *
 * @param {any} object
 * @param {Record<string, Method>} methods
 * @param {string} [path]
 * @returns {any}
 */
function wrapped(object, methods, path = "") {
  return new Proxy(object, {
    get(target, key) {
      const value = Reflect.get(target, key, target);
      const place = path + String(key);
      const method = methods[place];
      if (method && typeof value === "function") {
        return (/** @type {any} */ request, /** @type {any[]} */ ...rest) => recorded(target, value, method, request, rest);
      }
      if (typeof value === "function") return value.bind(target);
      const inside = Object.keys(methods).some((name) => name.startsWith(`${place}.`));
      return inside && typeof value === "object" && value !== null ? wrapped(value, methods, `${place}.`) : value;
    },
  });
}

/** @param {any} target @param {any} create @param {Method} method @param {any} request @param {any[]} rest */
async function recorded(target, create, method, request, rest) {
  const { model, ...question } = request;
  for (const key of HOW) delete question[key];
  if (request.stream) return await streamed(target, create, method, request, rest, question);
  // Replayed, there is an output and no reply.
  let reply;
  const output = await operate("model_call", model, question, async (call) => {
    reply = await create.call(target, request, ...rest);
    count(call, reply.usage);
    return method.say(reply);
  });
  return reply ?? method.make(output, model);
}

/**
 * A stream that is handed on event by event, and recorded once it has ended. One that the agent
 * leaves early is recorded as the error that it is: what was said is not known.
 *
 * @param {any} target @param {any} create @param {Method} method @param {any} request @param {any[]} rest @param {any} question
 */
async function streamed(target, create, method, request, rest, question) {
  const session = current();
  const call = session.begin("model_call", request.model, question);
  if (call.replayed) {
    session.end(call, undefined);
    const events = method.tell(method.make(call.output, request.model));
    return (async function* () {
      yield* events;
    })();
  }
  let stream;
  try {
    stream = await create.call(target, request, ...rest);
  } catch (error) {
    session.end(call, error);
    throw error;
  }
  const events = async function* () {
    const seen = [];
    let ended = false;
    try {
      for await (const event of stream) {
        seen.push(event);
        yield event;
      }
      ended = true;
      const reply = method.join(seen);
      count(call, reply.usage);
      call.output = method.say(reply);
      session.end(call, undefined);
    } catch (error) {
      if (!ended) session.end(call, error);
      ended = true;
      throw error;
    } finally {
      if (!ended) session.end(call, new Error("the agent left the stream before its end"));
    }
  };
  return new Proxy(stream, {
    get(of, key) {
      if (key === Symbol.asyncIterator) return events;
      const value = Reflect.get(of, key, of);
      return typeof value === "function" ? value.bind(of) : value;
    },
  });
}

/** @param {import("./session.js").Call} call @param {any} usage */
function count(call, usage) {
  const total = usage?.total_tokens ?? (usage ? (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0) : undefined);
  if (Number.isSafeInteger(total)) call.tokens = total;
}

/** Arguments as values; models do write some that are no JSON, which then are the text. @param {unknown} text */
function parsed(text) {
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * What was said: a text, or a text and calls without their random ids.
 *
 * @param {string | null} content
 * @param {{ name: string, arguments: unknown }[]} calls
 */
function said(content, calls) {
  return calls.length > 0 ? { content, tool_calls: calls } : content;
}

/** @param {any} reply */
function chatSaid(reply) {
  const message = reply.choices[0].message;
  const calls = message.tool_calls ?? [];
  return said(
    message.content ?? null,
    calls.map((/** @type {any} */ call) => ({ name: call.function.name, arguments: parsed(call.function.arguments) })),
  );
}

/** @param {any[]} events */
function joinedChat(events) {
  /** @type {any} */
  const message = { content: null };
  /** @type {any[]} */
  const calls = [];
  let usage;
  for (const event of events) {
    usage = event.usage ?? usage;
    const delta = event.choices?.[0]?.delta;
    if (typeof delta?.content === "string") message.content = (message.content ?? "") + delta.content;
    for (const part of delta?.tool_calls ?? []) {
      const call = (calls[part.index] ??= { function: { name: "", arguments: "" } });
      call.function.name += part.function?.name ?? "";
      call.function.arguments += part.function?.arguments ?? "";
    }
  }
  if (calls.length > 0) message.tool_calls = calls.filter(Boolean);
  return { choices: [{ message }], usage };
}

/** @param {any} output */
function parts(output) {
  return typeof output === "object" && output !== null ? output : { content: output, tool_calls: [] };
}

/** @param {any} output @param {string} model */
function madeChat(output, model) {
  const { content, tool_calls: calls } = parts(output);
  const made = calls.map((/** @type {any} */ call, /** @type {number} */ at) => ({
    id: `replayed_${at}`,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  const message = { role: "assistant", content, refusal: null, ...(made.length > 0 ? { tool_calls: made } : {}) };
  const finish = made.length > 0 ? "tool_calls" : "stop";
  return { id: "replayed", object: "chat.completion", created: 0, model, choices: [{ index: 0, message, finish_reason: finish, logprobs: null }] };
}

/** @param {any} reply */
function chatEvents(reply) {
  const { choices, ...rest } = reply;
  const { message, finish_reason: finish } = choices[0];
  const calls = message.tool_calls?.map((/** @type {any} */ call, /** @type {number} */ index) => ({ index, ...call }));
  const chunk = (/** @type {any} */ delta, /** @type {any} */ finish_reason) => ({
    ...rest,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  });
  return [chunk({ role: "assistant", content: message.content, ...(calls ? { tool_calls: calls } : {}) }, null), chunk({}, finish)];
}

/** @param {any} reply */
function responseSaid(reply) {
  const items = reply.output ?? [];
  const texts = items
    .filter((/** @type {any} */ item) => item.type === "message")
    .flatMap((/** @type {any} */ item) => item.content ?? [])
    .filter((/** @type {any} */ part) => part.type === "output_text")
    .map((/** @type {any} */ part) => part.text);
  const calls = items
    .filter((/** @type {any} */ item) => item.type === "function_call")
    .map((/** @type {any} */ item) => ({ name: item.name, arguments: parsed(item.arguments) }));
  return said(texts.length > 0 ? texts.join("") : null, calls);
}

/** @param {any[]} events */
function joinedResponse(events) {
  const ended = events.find((event) => event.type === "response.completed");
  if (!ended) throw new Error("the stream of a response ended before it was completed");
  return ended.response;
}

/** @param {any} output @param {string} model */
function madeResponse(output, model) {
  const { content, tool_calls: calls } = parts(output);
  const items = calls.map((/** @type {any} */ call, /** @type {number} */ at) => ({
    type: "function_call",
    call_id: `replayed_${at}`,
    name: call.name,
    arguments: JSON.stringify(call.arguments),
  }));
  if (content !== null) {
    items.unshift({ type: "message", role: "assistant", content: [{ type: "output_text", text: content, annotations: [] }] });
  }
  return { id: "replayed", object: "response", model, status: "completed", output: items, output_text: content ?? "" };
}

/** @param {any} response */
function responseEvents(response) {
  const text = response.output_text ? [{ type: "response.output_text.delta", delta: response.output_text }] : [];
  return [...text, { type: "response.completed", response }];
}

/** @param {any} reply */
function messageSaid(reply) {
  const texts = reply.content.filter((/** @type {any} */ part) => part.type === "text");
  const calls = reply.content.filter((/** @type {any} */ part) => part.type === "tool_use");
  return said(
    texts.length > 0 ? texts.map((/** @type {any} */ part) => part.text).join("") : null,
    calls.map((/** @type {any} */ part) => ({ name: part.name, arguments: part.input })),
  );
}

/** @param {any[]} events */
function joinedMessage(events) {
  /** @type {any} */
  const message = { content: [], usage: undefined };
  for (const event of events) {
    if (event.type === "message_start") message.usage = { ...event.message.usage };
    if (event.type === "content_block_start") message.content[event.index] = { ...event.content_block, json: "" };
    if (event.type === "content_block_delta") {
      const block = message.content[event.index];
      if (event.delta.type === "text_delta") block.text += event.delta.text;
      if (event.delta.type === "input_json_delta") block.json += event.delta.partial_json;
    }
    if (event.type === "message_delta") message.usage = { ...message.usage, ...event.usage };
  }
  message.content = message.content.filter(Boolean).map((/** @type {any} */ { json, ...block }) =>
    block.type === "tool_use" && json ? { ...block, input: parsed(json) } : block,
  );
  return message;
}

/** @param {any} output @param {string} model */
function madeMessage(output, model) {
  const { content, tool_calls: calls } = parts(output);
  const blocks = calls.map((/** @type {any} */ call, /** @type {number} */ at) => ({
    type: "tool_use",
    id: `replayed_${at}`,
    name: call.name,
    input: call.arguments,
  }));
  if (content !== null) blocks.unshift({ type: "text", text: content, citations: null });
  const stop = calls.length > 0 ? "tool_use" : "end_turn";
  return { id: "replayed", type: "message", role: "assistant", model, content: blocks, stop_reason: stop, stop_sequence: null };
}

/** @param {any} message */
function messageEvents(message) {
  const { content, stop_reason: reason, ...start } = message;
  const blocks = content.flatMap((/** @type {any} */ block, /** @type {number} */ index) => {
    const text = block.type === "text";
    const empty = text ? { ...block, text: "" } : { ...block, input: {} };
    const delta = text
      ? { type: "text_delta", text: block.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
    return [
      { type: "content_block_start", index, content_block: empty },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ];
  });
  return [
    { type: "message_start", message: { ...start, content: [], stop_reason: null } },
    ...blocks,
    { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: {} },
    { type: "message_stop" },
  ];
}
