// @TITLE@
import { Behavior } from "./behavior.mjs";

export { Behavior, BehaviorError, MAX_INPUT } from "./behavior.mjs";

/** The SHA-256 of the artifact. */
export const id = "@ID@";

/** Fetches the artifact, checks that it is the one, and compiles it. */
export async function load(url = new URL("./behavior.cbin", import.meta.url)) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} could not be fetched: ${response.status}`);
  const file = await response.arrayBuffer();
  if (!globalThis.crypto?.subtle) throw new Error("the artifact cannot be checked: serve the page over https or from localhost");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", file));
  const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (found !== id) throw new Error(`${url} is not the artifact ${id}: its SHA-256 is ${found}`);
  return new Behavior(await WebAssembly.compile(file), @REUSABLE@);
}
