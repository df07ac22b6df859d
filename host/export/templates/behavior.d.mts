// What `behavior.mjs` exports. `Input` and `Output` are the types of the contract.

/** The input type of the contract. */
export type Input = @INPUT@;

/** The output type of the contract. */
export type Output = @OUTPUT@;

/** What the guard says of an input: a measure, and the most it may be, in parts per million. */
export interface Novelty {
  reason: string;
  score: number;
  limit: number;
}

/** The artifact does not know: ask whatever it stands for. */
export interface Abstention extends Novelty {
  kind: "abstain";
}

/** The artifact needs something done; hand the reply to `resume` with this state. */
export interface Request<Text = unknown> {
  kind: "request";
  capability: @CAPABILITIES@;
  input: Text;
  state: Uint8Array;
}

/** How a call ends. */
export type Outcome = { kind: "answer"; output: Output } | Abstention | Request;

/** The same with JSON texts. */
export type TextOutcome = { kind: "answer"; output: string } | Abstention | Request<string>;

/** What a request came to. */
export type Reply<Value = unknown> = { ok: Value; err?: undefined } | { err: string; ok?: undefined };

/** The most bytes of an input, or of a state and its reply. */
export const MAX_INPUT: number;

/** A call that was not answered. */
export class BehaviorError extends Error {
  constructor(code: BehaviorError["code"], message: string, options?: { cause?: unknown });
  readonly code: "bad-input" | "unsupported" | "too-large" | "trap" | "bad-output";
}

/** A compiled artifact. Calls do not influence each other. */
export class Behavior {
  constructor(module: WebAssembly.Module, reusable: boolean);
  run(input: Input): Outcome;
  runText(input: string): TextOutcome;
  resume(state: Uint8Array, reply: Reply): Outcome;
  resumeText(state: Uint8Array, reply: Reply<string>): TextOutcome;
  assess(input: Input): Novelty;
  assessText(input: string): Novelty;
  /** How many bytes of memory the artifact has now; 0 where no instance is kept. */
  readonly memoryBytes: number;
}
