// @TITLE@
//
// POST a JSON text to it: 200 with the answer; 409 where it abstains; 400 for what is no input;
// 501 with the request where something has to be done first.
import module from "./behavior.wasm";
import { handler } from "./handler.mjs";

export default { fetch: handler(module) };
