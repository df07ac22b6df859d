// Records what an agent does, as auto-jsonl traces (format version 0), and replays it. The README
// shows how; `session.js` says what a session is, `record.js` writes, `replay.js` answers from a
// recording, `operations.js` is what agents call, `clients.js` wraps clients of models.

export { anthropic, openai } from "./clients.js";
export { RecordingError } from "./json.js";
export { branch, envRead, memoryOp, modelCall, replay, span, taskOutput, toolCall, trace } from "./operations.js";
export { AutoSpanProcessor } from "./otel.js";
export { DivergenceError, ReplayedError } from "./replay.js";
