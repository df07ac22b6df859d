// A span processor for the OpenTelemetry SDK: each span that ends becomes a line of OTLP/JSON,
// which `auto-host import` reads. Each line is one write, so that a process that is killed loses
// at most the spans that had not ended.

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";

/** Writes spans as they end. */
export class AutoSpanProcessor {
  /** @type {number | undefined} */
  #file;

  /** @param {string} [path] */
  constructor(path = process.env["AUTO_OTLP_FILE"]) {
    if (!path) throw new Error("give a file, or set AUTO_OTLP_FILE");
    this.#file = openSync(path, "a", 0o600);
  }

  onStart() {}

  /** @param {any} span */
  onEnd(span) {
    if (this.#file === undefined) return;
    const line = Buffer.from(`${JSON.stringify(request(span))}\n`);
    for (let at = 0; at < line.length; ) at += writeSync(this.#file, line, at);
  }

  async forceFlush() {
    if (this.#file !== undefined) fsyncSync(this.#file);
  }

  async shutdown() {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

/** @param {any} span */
function request(span) {
  const { traceId, spanId } = span.spanContext();
  const parentSpanId = span.parentSpanContext?.spanId ?? span.parentSpanId;
  const one = {
    traceId,
    spanId,
    ...(parentSpanId ? { parentSpanId } : {}),
    name: span.name,
    startTimeUnixNano: nanos(span.startTime),
    endTimeUnixNano: nanos(span.endTime),
    attributes: attributes(span.attributes),
    events: (span.events ?? []).map((/** @type {any} */ event) => ({ name: event.name, attributes: attributes(event.attributes) })),
    // 2 is an error in the SDK and in the protocol.
    ...(span.status?.code === 2 ? { status: { code: 2, message: span.status.message ?? "" } } : {}),
  };
  const scope = { name: (span.instrumentationScope ?? span.instrumentationLibrary)?.name ?? "" };
  return { resourceSpans: [{ resource: { attributes: attributes(span.resource?.attributes) }, scopeSpans: [{ scope, spans: [one] }] }] };
}

/** @param {[number, number]} time */
function nanos([seconds, nanoseconds]) {
  return String(BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds));
}

/** @param {Record<string, unknown> | undefined} given */
function attributes(given) {
  return Object.entries(given ?? {}).map(([key, value]) => ({ key, value: tagged(value) }));
}

/**
 * @param {unknown} value
 * @returns {any}
 */
function tagged(value) {
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number" && Number.isSafeInteger(value)) return { intValue: String(value) };
  if (typeof value === "number" && Number.isFinite(value)) return { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(tagged) } };
  return { stringValue: String(value) };
}
