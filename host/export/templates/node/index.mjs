// @TITLE@
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Behavior } from "./behavior.mjs";

export { Behavior, BehaviorError, MAX_INPUT } from "./behavior.mjs";

/** The SHA-256 of the artifact. */
export const id = "@ID@";

const file = readFileSync(new URL("./behavior.cbin", import.meta.url));
const found = createHash("sha256").update(file).digest("hex");
if (found !== id) throw new Error(`behavior.cbin is not the artifact ${id}: its SHA-256 is ${found}`);

/** The artifact, compiled. */
export const behavior = new Behavior(new WebAssembly.Module(file), @REUSABLE@);

/** Runs the behaviour on a value. */
export const run = (input) => behavior.run(input);
