// What agents call: a trace around the run, operations inside it.

import { createHash } from "node:crypto";
import { RecordingError } from "./json.js";
import { Recorder } from "./record.js";
import { Replayer } from "./replay.js";
import { Session, checkFree, current, enter, leave, openCall } from "./session.js";

/**
 * Runs `work` as the run of an agent: recorded to `options.path` or `$AUTO_TRACE_FILE`, replayed
 * inside `replay` or where `$AUTO_REPLAY_FILE` is set, else just run.
 *
 * @template T
 * @param {string} task
 * @param {import("../index.d.ts").TraceOptions} options
 * @param {(session: Session) => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function trace(task, options, work) {
  const { taskInput, attrs = {}, path = process.env["AUTO_TRACE_FILE"] || undefined } = options;
  const running = current();
  if (running instanceof Replayer) {
    running.start(task, taskInput);
    return await work(running);
  }
  // Before a file is made.
  checkFree();
  const recording = process.env["AUTO_REPLAY_FILE"] || undefined;
  let session;
  if (recording !== undefined) {
    session = new Replayer(recording);
    session.start(task, taskInput);
  } else {
    session = path === undefined ? new Session() : new Recorder(path, task, taskInput, attrs);
  }
  enter(session);
  try {
    return await work(session);
  } finally {
    leave(session);
    session.close();
  }
}

/**
 * Replays the recording in `path` for the agent that runs inside.
 *
 * @template T
 * @param {string} path
 * @param {(session: Replayer) => T | Promise<T>} work
 * @param {{ complete?: boolean }} [options]
 * @returns {Promise<T>}
 */
export async function replay(path, work, options = {}) {
  const session = new Replayer(path);
  enter(session);
  let result;
  try {
    result = await work(session);
  } finally {
    leave(session);
  }
  if (options.complete) session.checkComplete();
  return result;
}

/** Declares what the run came to; a second declaration throws. @param {unknown} value */
export function taskOutput(value) {
  current().taskOutput(value);
}

/**
 * Runs `work` as an operation. What it returns is the output, unless it assigned one to the call.
 *
 * @param {import("./session.js").Kind} kind
 * @param {string} name
 * @param {unknown} input
 * @param {(call: import("./session.js").Call) => any} work
 * @returns {any}
 */
export function operate(kind, name, input, work) {
  const call = current().begin(kind, name, input);
  if (call.replayed) {
    // Answered: nothing is done, and nothing can differ.
    const { output } = call;
    call.session.end(call, undefined);
    return output;
  }
  const keep = (/** @type {unknown} */ result) => {
    // Structure has no output: it may return anything, and nothing compares it.
    if (kind !== "span" && call.output === undefined) call.output = result;
    call.session.end(call, undefined);
    return result;
  };
  const failed = (/** @type {unknown} */ error) => {
    call.session.end(call, error ?? new Error("an operation threw nothing"));
    throw error;
  };
  let result;
  try {
    result = openCall.run(call, () => work(call));
  } catch (error) {
    return failed(error);
  }
  return isPromise(result) ? result.then(keep, failed) : keep(result);
}

/** @param {unknown} value @returns {value is Promise<unknown>} */
function isPromise(value) {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/**
 * An operation of a kind: `operation(name, input, work)` runs it, `operation.wrap(name, function)`
 * makes a function that is one.
 *
 * @param {import("./session.js").Kind} kind
 */
function operation(kind) {
  const run = (/** @type {string} */ name, /** @type {unknown} */ input, /** @type {any} */ work) =>
    operate(kind, name, input, work);
  run.wrap = (/** @type {string} */ name, /** @type {any} */ wrapped, /** @type {any} */ inputOf) =>
    /** @this {unknown} */
    function (/** @type {any[]} */ ...args) {
      // One argument is the input; several are a list.
      const input = inputOf ? inputOf(...args) : args.length === 1 ? args[0] : args;
      return operate(kind, name, input, () => wrapped.apply(this, args));
    };
  return run;
}

/** @type {any} */
export const modelCall = operation("model_call");
/** @type {any} */
export const toolCall = operation("tool_call");
/** @type {any} */
export const memoryOp = operation("memory_op");

/** Structure around operations. @param {string} name @param {any} work */
export function span(name, work) {
  return operate("span", name, {}, work);
}

/**
 * Records a decision of the agent's own code, and returns it.
 *
 * @template T
 * @param {string} name
 * @param {unknown} input
 * @param {T} decision
 * @returns {T}
 */
export function branch(name, input, decision) {
  return operate("branch", name, input, () => decision);
}

/**
 * Reads an environment variable, or takes what was read from elsewhere, and returns it. Only its
 * SHA-256 and length in bytes are recorded; null where there is none.
 *
 * @param {string} name
 * @param {[] | [string | Uint8Array | undefined | null]} given
 * @returns {any}
 */
export function envRead(name, ...given) {
  const value = given.length > 0 ? given[0] : process.env[name];
  let seen = null;
  if (value !== undefined && value !== null) {
    if (typeof value !== "string" && !(value instanceof Uint8Array)) {
      throw new RecordingError(`envRead ${name} takes text or bytes, not ${typeof value}`);
    }
    const data = typeof value === "string" ? Buffer.from(value) : value;
    seen = { length: data.length, sha256: createHash("sha256").update(data).digest("hex") };
  }
  operate("env_read", name, {}, (call) => void (call.output = seen));
  return value;
}
