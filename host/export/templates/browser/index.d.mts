import type { Behavior } from "./behavior.mjs";

export * from "./behavior.mjs";

/** The SHA-256 of the artifact. */
export const id: string;

/** Fetches the artifact, checks that it is the one, and compiles it. */
export function load(url?: string | URL): Promise<Behavior>;
