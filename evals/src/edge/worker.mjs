import module from "./behavior.wasm";
import { Behavior, BehaviorError } from "./behavior.mjs";
import { drive } from "./driver.mjs";

export default {
  async fetch(request) {
    return new Response(JSON.stringify(drive(Behavior, BehaviorError, module, await request.json())));
  },
};
