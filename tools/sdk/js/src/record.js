// Writes one trace file: a header, then a line for each operation when it closes. `seq` is given
// when an operation opens, so it, and not the order of lines, is the order of events. Each line
// is one write, so that a process that is killed leaves whole lines and at most one torn one.

import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, writeSync } from "node:fs";
import { RecordingError, toJson } from "./json.js";
import { Session, checkedAttributes } from "./session.js";

const VERSION = 0;
const SDK = "auto-sdk-js/0.1.0";

/** Microseconds since 1970. */
function nowUs() {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000));
}

/** Records a run into a file. */
export class Recorder extends Session {
  #path;
  #opened = 0;
  #traceId = randomBytes(16).toString("hex");
  /** @type {number | null} */
  #file;

  /** @param {string} path @param {string} task @param {unknown} taskInput @param {Record<string, string>} attrs */
  constructor(path, task, taskInput, attrs) {
    super();
    this.#path = path;
    const startedUs = nowUs();
    const header = {
      v: VERSION,
      t: "trace",
      trace_id: this.#traceId,
      task,
      started_at_ms: startedUs / 1000n,
      sdk: SDK,
      attrs: { ...checkedAttributes(attrs, "the trace"), started_at_us: String(startedUs) },
    };
    // Checked before the file is made, so that a refused run leaves none.
    const given = taskInput === undefined || taskInput === null ? {} : { task_input: toJson(taskInput, "the task input") };
    const first = line(header, given);
    this.#file = created(path);
    this.#write(first);
  }

  /** @override @param {import("./session.js").Kind} kind @param {string} name @param {unknown} value */
  prepare(kind, name, value) {
    return toJson(value, `the input of ${kind} ${name}`);
  }

  /** @override @param {import("./session.js").Kind} kind @param {string} name @param {unknown} value */
  begin(kind, name, value) {
    const call = super.begin(kind, name, value);
    call.number = ++this.#opened;
    call.startedUs = nowUs();
    call.clock = process.hrtime.bigint();
    return call;
  }

  /** @override @param {import("./session.js").Call} call @param {unknown} error */
  end(call, error) {
    const took = process.hrtime.bigint() - call.clock;
    const durationUs = (took > 0n ? took : 0n) / 1000n;
    let output = "null";
    /** @type {Record<string, string>} */
    let attrs = {};
    let refused;
    try {
      if (error === undefined && call.output !== undefined) {
        output = toJson(call.output, `the output of ${call.kind} ${call.name}`);
      }
      attrs = call.attributes();
    } catch (why) {
      // The operation happened, so its line must be there: children name it.
      [refused, error, output, attrs] = [why, why, "null", {}];
    }
    const span = {
      v: VERSION,
      t: "span",
      trace_id: this.#traceId,
      span_id: call.number,
      parent_span_id: call.parent?.number ?? null,
      seq: call.number,
      kind: call.kind,
      name: call.name,
      error: error === undefined ? null : told(error),
      started_at_ms: call.startedUs / 1000n,
      duration_ms: durationUs / 1000n,
      attrs: { ...attrs, duration_us: String(durationUs), started_at_us: String(call.startedUs) },
    };
    this.#write(line(span, { input: call.inputJson, output }));
    if (refused !== undefined) throw refused;
  }

  /** @override @param {string} outputJson */
  declareOutput(outputJson) {
    const fields = { v: VERSION, t: "task_output", trace_id: this.#traceId, recorded_at_ms: nowUs() / 1000n };
    this.#write(line(fields, { output: outputJson }));
  }

  /** @override */
  close() {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  /** @param {Buffer} bytes */
  #write(bytes) {
    if (this.#file === null) {
      throw new RecordingError(`the recording in ${this.#path} has ended; an operation outlived its trace`);
    }
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
  }
}

/** Opens a file that is new or empty. @param {string} path */
function created(path) {
  let file;
  try {
    file = openSync(path, "a", 0o600);
  } catch (error) {
    throw new RecordingError(`no trace can be written to ${path}: ${/** @type {Error} */ (error).message}`, { cause: error });
  }
  if (fstatSync(file).size > 0) {
    closeSync(file);
    throw new RecordingError(`${path} holds a trace already; a file holds one: give AUTO_TRACE_FILE another name`);
  }
  return file;
}

/**
 * A line of plain fields and of values that are JSON texts already.
 *
 * @param {Record<string, unknown>} fields
 * @param {Record<string, string>} values
 */
function line(fields, values) {
  const plain = Object.entries(fields).map(([key, value]) => [key, toJson(value, key)]);
  const members = [...plain, ...Object.entries(values)].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  return Buffer.from(`{${members.map(([key, text]) => `"${key}":${text}`).join(",")}}\n`);
}

/** @param {unknown} error */
function told(error) {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return Buffer.from(text).toString();
}
