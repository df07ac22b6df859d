/** A value that JSON can hold; a `bigint` is an integer, members that are undefined are left out. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** One operation while it happens. */
export interface Call {
  /** What came of it; what the work returns, unless this is assigned. */
  output: unknown;
  /** Whether `output` was filled from a recording, so that nothing needs to be done. */
  readonly replayed: boolean;
  tokens: number | bigint | undefined;
  costUsdMicros: number | bigint | undefined;
  /** Notes of your own. */
  attrs: Record<string, string>;
}

/** The run of an agent. */
export interface Session {
  /** Declares what the run came to: once only, and not null. */
  taskOutput(value: Json): void;
}

/** A run that is answered from a recording. */
export interface Replay extends Session {
  /** Throws where something recorded has not happened. */
  checkComplete(): void;
}

export interface TraceOptions {
  taskInput?: Json | undefined;
  attrs?: Record<string, string> | undefined;
  /** Where the trace goes; `$AUTO_TRACE_FILE` where it is left out. */
  path?: string | undefined;
}

/** Runs `work` as the run of an agent: recorded, replayed, or just run. */
export function trace<T>(task: string, options: TraceOptions, work: (session: Session) => T | Promise<T>): Promise<T>;

/** Replays the recording in `path` for the agent that runs inside. */
export function replay<T>(path: string, work: (session: Replay) => T | Promise<T>, options?: { complete?: boolean }): Promise<T>;

/** Declares what the run came to; a second declaration throws. */
export function taskOutput(value: Json): void;

/** An operation of one kind. */
export interface Operation {
  /** Runs `work`; what it returns is the output. A promise is waited for. */
  <T>(name: string, input: Json, work: (call: Call) => T): T;
  /**
   * The function, each call of which is an operation. Its input is its one argument, or the list of
   * them, or what `inputOf` makes of them.
   */
  wrap<A extends unknown[], T>(name: string, wrapped: (...args: A) => T, inputOf?: (...args: A) => Json): (...args: A) => T;
}

export const modelCall: Operation;
export const toolCall: Operation;
export const memoryOp: Operation;

/** Structure around operations. */
export function span<T>(name: string, work: () => T): T;

/** Records a decision of the agent's own code, and returns it. */
export function branch<T extends Json>(name: string, input: Json, decision: T): T;

/** Reads an environment variable, of which only SHA-256 and length are recorded. */
export function envRead(name: string): string | undefined;
/** The same of a value that was read from elsewhere. */
export function envRead<T extends string | Uint8Array | undefined | null>(name: string, value: T): T;

/** The client of the package `openai`, recording `chat.completions.create` and `responses.create`. */
export function openai<T extends object>(client: T): T;

/** The client of the package `@anthropic-ai/sdk`, recording `messages.create`. */
export function anthropic<T extends object>(client: T): T;

/** Something cannot be recorded; says what, where, and what to do. */
export class RecordingError extends Error {}
/** The agent did something else than what was recorded. */
export class DivergenceError extends Error {}
/** An operation fails because its recording did. */
export class ReplayedError extends Error {}

/** A span processor of the OpenTelemetry SDK: each span that ends becomes a line of OTLP/JSON. */
export class AutoSpanProcessor {
  constructor(path?: string);
  onStart(span: unknown, context: unknown): void;
  onEnd(span: unknown): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}
