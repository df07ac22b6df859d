// Runs an artifact: a WebAssembly module with no imports, called by the canonical ABI of the
// world `auto:cbin/cbin`. No dependencies; works in every engine that has WebAssembly.

const BEHAVIOR = "auto:cbin/behavior@0.1.0#";

/** The most bytes of an input, or of a state and its reply. */
export const MAX_INPUT = 1 << 20;

/** A call that was not answered. `code`: `bad-input`, `unsupported`, `too-large`, `trap`, `bad-output`. */
export class BehaviorError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = "BehaviorError";
    this.code = code;
  }
}

const encoder = new TextEncoder();
const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A compiled artifact. Calls do not influence each other. */
export class Behavior {
  #module;
  #reusable;
  #live = null;

  /** `reusable` says that the code was made so that nothing survives a call. */
  constructor(module, reusable) {
    this.#module = module;
    this.#reusable = reusable;
  }

  /** Runs the behaviour on a value. */
  run(input) {
    return parsed(this.runText(text(input)));
  }

  /** The same with JSON texts, in which numbers keep their digits: 3.0 is not 3. */
  runText(input) {
    return this.#call(least(input), (live) => {
      const [at, size] = live.place(input);
      return live.outcome(live.run(at, size));
    });
  }

  /** Goes on after a request, with `{ ok: value }` or `{ err: message }`. */
  resume(state, reply) {
    const failed = reply.err !== undefined;
    const said = failed ? { err: String(reply.err) } : { ok: text(reply.ok) };
    return parsed(this.resumeText(state, said));
  }

  /** The same with JSON texts. */
  resumeText(state, reply) {
    const failed = reply.err !== undefined;
    const said = failed ? reply.err : reply.ok;
    return this.#call(state.length + least(said), (live) => {
      const [stateAt, stateSize] = live.placeBytes(state);
      const [at, size] = live.place(said);
      return live.outcome(live.resume(stateAt, stateSize, failed ? 1 : 0, at, size));
    });
  }

  /** What the guard thinks of a value, without running anything. */
  assess(input) {
    return this.assessText(text(input));
  }

  /** The same of a JSON text. */
  assessText(input) {
    return this.#call(least(input), (live) => {
      const [at, size] = live.place(input);
      return live.novelty(live.assess(at, size));
    });
  }

  /** How many bytes of memory the artifact has now; 0 where no instance is kept. */
  get memoryBytes() {
    return this.#live?.memory.buffer.byteLength ?? 0;
  }

  #call(size, work) {
    if (size > MAX_INPUT) throw tooLarge();
    const live = this.#live ?? new Live(this.#module);
    // An instance that failed in the middle of a call is not used again.
    this.#live = null;
    try {
      const result = work(live);
      if (this.#reusable) this.#live = live;
      return result;
    } catch (error) {
      if (error instanceof BehaviorError) {
        if (this.#reusable && error.code !== "bad-output") this.#live = live;
        throw error;
      }
      throw new BehaviorError("trap", `the artifact failed: ${error.message}`, { cause: error });
    }
  }
}

/** One instance, and its memory as it is after the last call. */
class Live {
  constructor(module) {
    const { exports } = new WebAssembly.Instance(module, {});
    exports._initialize?.();
    this.memory = exports.memory;
    this.realloc = exports.cabi_realloc;
    this.run = exports[`${BEHAVIOR}run`];
    this.resume = exports[`${BEHAVIOR}resume`];
    this.assess = exports[`${BEHAVIOR}assess`];
    this.bytes = new Uint8Array(0);
    this.view = null;
  }

  /** The memory may have grown. */
  refresh() {
    if (this.bytes.buffer !== this.memory.buffer) {
      this.bytes = new Uint8Array(this.memory.buffer);
      this.view = new DataView(this.memory.buffer);
    }
  }

  place(string) {
    const size = string.length;
    if (size >= 256 || !isAscii(string)) {
      // A half of a pair has no UTF-8; it would become another character unnoticed.
      if (LONE.test(string)) throw new BehaviorError("bad-input", "the text holds half a surrogate pair");
      return this.placeBytes(encoder.encode(string));
    }
    const at = this.room(size);
    const { bytes } = this;
    for (let index = 0; index < size; index++) bytes[at + index] = string.charCodeAt(index);
    return [at, size];
  }

  placeBytes(given) {
    if (given.length > MAX_INPUT) throw tooLarge();
    const at = this.room(given.length);
    this.bytes.set(given, at);
    return [at, given.length];
  }

  room(size) {
    const at = this.realloc(0, 0, 1, size) >>> 0;
    this.refresh();
    this.within(at, size, "room");
    return at;
  }

  outcome(at) {
    at = this.block(at, 32);
    const failed = this.bytes[at];
    const which = this.bytes[at + 4];
    if (failed === 1 && which < 2) {
      throw new BehaviorError(which === 0 ? "bad-input" : "unsupported", this.string(at + 8));
    }
    if (failed === 0 && which === 0) return { kind: "answer", output: this.string(at + 8) };
    if (failed === 0 && which === 1) return { kind: "abstain", ...this.noveltyAt(at + 8) };
    if (failed === 0 && which === 2) {
      const [from, size] = this.slice(at + 24, "a state");
      return {
        kind: "request",
        capability: this.string(at + 8),
        input: this.string(at + 16),
        state: this.bytes.slice(from, from + size),
      };
    }
    throw new BehaviorError("bad-output", `the artifact returned case ${which} of ${failed}`);
  }

  novelty(at) {
    return this.noveltyAt(this.block(at, 16));
  }

  noveltyAt(at) {
    return { reason: this.string(at), score: this.word(at + 8), limit: this.word(at + 12) };
  }

  word(at) {
    return this.view.getUint32(at, true);
  }

  block(at, size) {
    this.refresh();
    this.within(at >>> 0, size, "a result");
    return at >>> 0;
  }

  within(at, size, what) {
    if (at + size > this.bytes.length) {
      throw new BehaviorError("bad-output", `the artifact returned ${what} outside its memory`);
    }
  }

  slice(place, what) {
    const [at, size] = [this.word(place), this.word(place + 4)];
    this.within(at, size, what);
    return [at, size];
  }

  string(place) {
    const [at, size] = this.slice(place, "a text");
    try {
      return decoder.decode(this.bytes.subarray(at, at + size));
    } catch {
      throw new BehaviorError("bad-output", "the artifact returned a text that is not UTF-8");
    }
  }
}

function isAscii(string) {
  for (let index = 0; index < string.length; index++) if (string.charCodeAt(index) > 127) return false;
  return true;
}

function tooLarge() {
  return new BehaviorError("too-large", `the input has more than ${MAX_INPUT} bytes`);
}

/** How many bytes a text has at least. */
function least(string) {
  if (typeof string !== "string") throw new BehaviorError("bad-input", "a JSON text is needed");
  return string.length;
}

function text(value) {
  const json = JSON.stringify(value);
  if (json === undefined) throw new BehaviorError("bad-input", "the value has no JSON text");
  return json;
}

function parsed(outcome) {
  if (outcome.kind === "answer") return { kind: "answer", output: JSON.parse(outcome.output) };
  if (outcome.kind === "request") return { ...outcome, input: JSON.parse(outcome.input) };
  return outcome;
}
