// What a session is: the run of an agent, with one operation inside another. Here is what
// recording and replaying share. A session that does neither lets the agent run unrecorded.

import { AsyncLocalStorage } from "node:async_hooks";
import { RecordingError, toJson } from "./json.js";

const RESERVED = ["cost_usd_micros", "tokens", "duration_us", "started_at_us"];

/** @typedef {"model_call" | "tool_call" | "memory_op" | "env_read" | "branch" | "span"} Kind */

/** One operation while it happens. */
export class Call {
  /** @param {Session} session @param {Kind} kind @param {string} name @param {string} inputJson @param {Call | null} parent */
  constructor(session, kind, name, inputJson, parent) {
    this.session = session;
    this.kind = kind;
    this.name = name;
    this.inputJson = inputJson;
    this.parent = parent;
    /** @type {unknown} */
    this.output = undefined;
    this.replayed = false;
    /** @type {number | bigint | undefined} */
    this.tokens = undefined;
    /** @type {number | bigint | undefined} */
    this.costUsdMicros = undefined;
    /** @type {Record<string, string>} */
    this.attrs = {};
    // For sessions: the recorder's number and clocks, the replayer's recording.
    this.number = 0;
    this.startedUs = 0n;
    this.clock = 0n;
    /** @type {import("./replay.js").Recording | null} */
    this.recording = null;
  }

  /** All attributes, checked. @returns {Record<string, string>} */
  attributes() {
    const attrs = checkedAttributes(this.attrs, `${this.kind} ${this.name}`);
    for (const [key, value] of /** @type {const} */ ([["tokens", this.tokens], ["cost_usd_micros", this.costUsdMicros]])) {
      if (value === undefined) continue;
      const whole = typeof value === "bigint" || Number.isSafeInteger(value);
      if (!whole || value < 0 || value >= 2n ** 64n) {
        throw new RecordingError(`${key} of ${this.kind} ${this.name} is ${value}; it must be an integer from 0 to 2^64-1`);
      }
      attrs[key] = String(value);
    }
    return attrs;
  }
}

/**
 * A copy of the attributes; texts only, no reserved name.
 *
 * @param {Record<string, string>} attrs
 * @param {string} what
 */
export function checkedAttributes(attrs, what) {
  for (const [key, value] of Object.entries(attrs)) {
    if (typeof value !== "string") {
      throw new RecordingError(`attribute ${JSON.stringify(key)} of ${what} is ${String(value)}; attributes are texts`);
    }
    if (RESERVED.includes(key)) {
      throw new RecordingError(
        `attribute ${JSON.stringify(key)} of ${what} is reserved; assign tokens or costUsdMicros to the call`,
      );
    }
    toJson([key, value], `attribute ${JSON.stringify(key)} of ${what}`);
  }
  return { ...attrs };
}

/** A run that is neither recorded nor replayed; the other kinds derive from it. */
export class Session {
  #outputDeclared = false;

  /** Whether the run's output was declared. */
  get outputDeclared() {
    return this.#outputDeclared;
  }

  /**
   * Opens an operation inside the one that is open here.
   *
   * @param {Kind} kind
   * @param {string} name
   * @param {unknown} value
   */
  begin(kind, name, value) {
    const enclosing = openCall.getStore();
    // A call of another session encloses nothing here.
    const parent = enclosing?.session === this ? enclosing : null;
    return new Call(this, kind, name, this.prepare(kind, name, value), parent);
  }

  /** The input's text; empty where nobody needs it. @param {Kind} kind @param {string} name @param {unknown} value */
  prepare(kind, name, value) {
    void [kind, name, value];
    return "";
  }

  /** Closes an operation. @param {Call} call @param {unknown} error undefined where it succeeded */
  end(call, error) {
    void [call, error];
  }

  /** Declares what the run came to: once only, and not null. @param {unknown} value */
  taskOutput(value) {
    if (value === null || value === undefined) {
      throw new RecordingError("the task output is nothing, which says nothing; declare an output or leave the call out");
    }
    if (this.#outputDeclared) throw new RecordingError("the task output was declared before; a run has one");
    this.declareOutput(toJson(value, "the task output"));
    this.#outputDeclared = true;
  }

  /** Keeps or checks the run's output. @param {string} outputJson */
  declareOutput(outputJson) {
    void outputJson;
  }

  /** Ends the session. */
  close() {}
}

/** The innermost open operation of what runs. @type {AsyncLocalStorage<Call>} */
export const openCall = new AsyncLocalStorage();

const unrecorded = new Session();
let session = unrecorded;

/** The session of this process. */
export function current() {
  return session;
}

/** Throws where a session is current already. */
export function checkFree() {
  if (session !== unrecorded) {
    throw new RecordingError("a run is going on already in this process, which has one at a time; end its trace first");
  }
}

/** Makes a session the current one. @param {Session} entered */
export function enter(entered) {
  checkFree();
  session = entered;
}

/** Ends what `enter` began. @param {Session} left */
export function leave(left) {
  if (session === left) session = unrecorded;
}
