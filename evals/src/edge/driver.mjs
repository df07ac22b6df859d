// Runs inputs in the package's `Behavior`, and times them. Used in Node, browsers and workers: these
// may compile nothing, and have the module.
export function drive(Behavior, BehaviorError, file, { inputs, rounds, timed, reusable }) {
  const now = () => performance.now() * 1e6;
  const start = now();
  const module = file instanceof WebAssembly.Module ? file : new WebAssembly.Module(file);
  const behavior = new Behavior(module, reusable);
  const load = now() - start;
  const call = (input) => {
    try {
      const came = behavior.runText(input);
      if (came.kind === "answer") return `answer\t${came.output}`;
      if (came.kind === "abstain") return `abstain\t${came.reason}\t${came.score}\t${came.limit}`;
      const state = Array.from(came.state, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return `request\t${came.capability}\t${came.input}\t${state}`;
    } catch (error) {
      if (!(error instanceof BehaviorError)) throw error;
      return `error\t${error.code}`;
    }
  };
  const lines = inputs.map(call);
  const memory = behavior.memoryBytes;
  const times = [];
  const some = inputs.slice(0, timed);
  const again = Math.ceil(1000 / some.length);
  for (let round = 0; round < rounds; round++) {
    const start = now();
    for (let time = 0; time < again; time++) for (const input of some) call(input);
    times.push((now() - start) / (again * some.length));
  }
  times.sort((a, b) => a - b);
  return { lines, load_ns: Math.round(load), call_ns: Math.round(times[times.length >> 1] ?? 0), memory };
}
