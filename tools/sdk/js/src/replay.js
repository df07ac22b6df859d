// Answers an agent from a recording. Each live operation consumes the first unconsumed recording
// of equal kind, name and input: first among those recorded inside the recording of its own
// enclosing operation, then anywhere. So operations that run side by side need not come in the
// recorded order, and equal ones with different outputs do not get mixed up between two spans.

import { readFileSync } from "node:fs";
import { RecordingError, toJson } from "./json.js";
import { Session } from "./session.js";

/** The agent did something else than what was recorded. */
export class DivergenceError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = "DivergenceError";
  }
}

/** An operation fails because its recording did. */
export class ReplayedError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = "ReplayedError";
  }
}

/** One recorded operation. */
export class Recording {
  /** @param {any} line */
  constructor(line) {
    /** @type {number} */
    this.number = line.span_id;
    /** @type {number | null} */
    this.parent = line.parent_span_id ?? null;
    /** @type {number} */
    this.sequence = line.seq;
    /** @type {string} */
    this.kind = line.kind;
    /** @type {string} */
    this.name = line.name;
    this.inputJson = toJson(line.input, "input");
    /** @type {unknown} */
    this.output = line.output;
    /** @type {string | null} */
    this.error = line.error ?? null;
    this.consumed = false;
    /** Answered instead of done, so what happened inside does not happen again. */
    this.answered = false;
  }

  toString() {
    return `${this.kind} ${this.name} of ${this.inputJson}`;
  }
}

/** Replays the run that a file holds. */
export class Replayer extends Session {
  /** @type {string | null} */
  #task = null;
  /** @type {string | null} */
  #inputJson = null;
  /** @type {string | null} */
  #outputJson = null;
  /** @type {Recording[]} */
  #recordings;

  /** @param {string} path */
  constructor(path) {
    super();
    this.#recordings = this.#read(path).sort((a, b) => a.sequence - b.sequence);
  }

  /** @param {string} path @returns {Recording[]} */
  #read(path) {
    let text;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      throw new RecordingError(`${path} cannot be replayed: ${/** @type {Error} */ (error).message}`, { cause: error });
    }
    const recordings = [];
    try {
      for (const part of text.split("\n").filter((part) => part.trim())) {
        const line = JSON.parse(part);
        if (line.v !== 0) throw new Error(`it is of format version ${line.v}; this SDK replays version 0`);
        if (line.t === "trace") {
          this.#task = line.task;
          if (line.task_input !== undefined && line.task_input !== null) {
            this.#inputJson = toJson(line.task_input, "task input");
          }
        } else if (line.t === "span") {
          recordings.push(new Recording(line));
        } else if (line.t === "task_output") {
          this.#outputJson = toJson(line.output, "task output");
        }
      }
    } catch (error) {
      const why = /** @type {Error} */ (error).message;
      throw new RecordingError(`${path} is no whole trace of format version 0 (${why}); record the run again`, { cause: error });
    }
    if (this.#task === null) throw new RecordingError(`${path} has no header; record the run again`);
    return recordings;
  }

  /** Checks that the agent runs what was recorded. @param {string} task @param {unknown} taskInput */
  start(task, taskInput) {
    if (task !== this.#task) {
      throw new DivergenceError(`the recording is of task ${this.#task}, the agent runs ${task}`);
    }
    const given = taskInput === undefined || taskInput === null ? null : toJson(taskInput, "the task input");
    if (given !== this.#inputJson) {
      throw new DivergenceError(`the recorded task input is ${this.#inputJson}, the agent was given ${given}`);
    }
  }

  /** @override @param {import("./session.js").Kind} kind @param {string} name @param {unknown} value */
  prepare(kind, name, value) {
    return toJson(value, `the input of ${kind} ${name}`);
  }

  /** @override @param {import("./session.js").Kind} kind @param {string} name @param {unknown} value */
  begin(kind, name, value) {
    const call = super.begin(kind, name, value);
    const recording = (call.recording = this.#consume(call));
    if (recording === null) {
      if (kind !== "span") throw new DivergenceError(`no recording is left for ${kind} ${name} of ${call.inputJson}`);
    } else if (kind === "model_call" || kind === "tool_call" || kind === "memory_op") {
      recording.answered = true;
      if (recording.error !== null) throw new ReplayedError(recording.error);
      call.replayed = true;
      // A copy: the agent may change what it is given.
      call.output = structuredClone(recording.output);
    }
    return call;
  }

  /** @param {import("./session.js").Call} call @returns {Recording | null} */
  #consume(call) {
    const equal = (/** @type {Recording} */ one) =>
      !one.consumed && one.kind === call.kind && one.name === call.name && one.inputJson === call.inputJson;
    const enclosing = call.parent?.recording ?? null;
    // Inside a span that was not recorded, only the whole recording can be searched.
    const inside =
      call.parent === null || enclosing !== null
        ? this.#recordings.find((one) => one.parent === (enclosing?.number ?? null) && equal(one))
        : undefined;
    const found = inside ?? this.#recordings.find(equal) ?? null;
    if (found !== null) found.consumed = true;
    return found;
  }

  /** @override @param {import("./session.js").Call} call @param {unknown} error */
  end(call, error) {
    if (error !== undefined || call.recording === null || call.kind === "span") return;
    const recorded = toJson(call.recording.output ?? null, "output");
    const given = toJson(call.output ?? null, `the output of ${call.kind} ${call.name}`);
    if (given !== recorded) {
      throw new DivergenceError(`${call.kind} ${call.name} of ${call.inputJson} gave ${given}, recorded is ${recorded}`);
    }
  }

  /** @override @param {string} outputJson */
  declareOutput(outputJson) {
    if (outputJson !== this.#outputJson) {
      throw new DivergenceError(`the task output is ${outputJson}, recorded is ${this.#outputJson}`);
    }
  }

  /** Operations that were recorded and have not happened. @returns {Recording[]} */
  leftovers() {
    const covered = new Set();
    const left = [];
    // In order of opening, so an enclosing operation comes before what it encloses.
    for (const one of this.#recordings) {
      if (one.answered || covered.has(one.parent)) covered.add(one.number);
      else if (!one.consumed && one.kind !== "span") left.push(one);
    }
    return left;
  }

  /** Throws where something recorded has not happened. */
  checkComplete() {
    const left = this.leftovers();
    if (left.length > 0) {
      throw new DivergenceError(`${left.length} recorded operations did not happen; the first is ${left[0]}`);
    }
    if (this.#outputJson !== null && !this.outputDeclared) {
      throw new DivergenceError(`the recorded task output ${this.#outputJson} was not declared`);
    }
  }
}
