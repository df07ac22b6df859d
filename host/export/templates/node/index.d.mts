import type { Behavior, Input, Outcome } from "./behavior.mjs";

export * from "./behavior.mjs";

/** The SHA-256 of the artifact. */
export const id: string;

/** The artifact, compiled. */
export const behavior: Behavior;

/** Runs the behaviour on a value. */
export function run(input: Input): Outcome;
