// Held to `tsc --strict`: what an agent writes has the types it should have.
import * as auto from "../index.js";

const lookup = auto.toolCall.wrap("lookup", async (text: string, limit?: number) => text.length + (limit ?? 0));
const found: Promise<number> = lookup("abc", 3);
const done: Promise<boolean> = auto.trace("toy", { taskInput: { doc: "x" } }, async (run) => {
  const answer: string = await auto.modelCall("m", { prompt: "p" }, async (call) => {
    call.tokens = 7;
    return "answer";
  });
  run.taskOutput([1, 2.5, null, answer, await found]);
  return auto.branch("long", { n: 3 }, true);
});
const value: string | undefined = auto.envRead("HOME");
// @ts-expect-error a function is no JSON value
auto.taskOutput(() => 1);
// @ts-expect-error attributes are texts
void auto.trace("toy", { attrs: { n: 1 } }, () => 1);
export { done, value };
