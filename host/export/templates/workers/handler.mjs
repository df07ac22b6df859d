import { Behavior, BehaviorError, MAX_INPUT } from "./behavior.mjs";

/** The SHA-256 of the artifact. */
export const id = "@ID@";

const STATUS = { "bad-input": 400, unsupported: 400, "too-large": 413, trap: 500, "bad-output": 500 };

const json = (status, body) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", "x-artifact": id },
  });

/** Answers requests with a compiled artifact. */
export function handler(module) {
  const behavior = new Behavior(module, @REUSABLE@);
  return async (request) => {
    if (request.method !== "POST") return json(405, { error: { code: "wrong-method", message: "POST a JSON text" } });
    if (Number(request.headers.get("content-length")) > MAX_INPUT) {
      return json(413, { error: { code: "too-large", message: `an input has at most ${MAX_INPUT} bytes` } });
    }
    try {
      const outcome = behavior.runText(await request.text());
      if (outcome.kind === "answer") return json(200, outcome.output);
      const { kind, ...rest } = outcome;
      if (kind === "abstain") return json(409, { abstained: rest });
      return json(501, { request: { capability: rest.capability, input: JSON.parse(rest.input) } });
    } catch (error) {
      if (!(error instanceof BehaviorError)) throw error;
      return json(STATUS[error.code], { error: { code: error.code, message: error.message } });
    }
  };
}
