// What a trace can hold, and the text by which values are compared. Texts made here never leave
// the process as digests: stores make their own.

/** A line of a trace is itself an object, and readers stop at 64 levels. */
const MAX_DEPTH = 63;
/** Readers keep numbers exactly, to 38 digits. */
const MAX_INTEGER = 10n ** 38n - 1n;
const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Something cannot be recorded; says what, where, and what to do. */
export class RecordingError extends Error {
  /** @param {string} message @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options);
    this.name = "RecordingError";
  }
}

/**
 * The value as compact JSON with sorted keys: equal texts are equal values. Members that are
 * undefined are left out, as JSON does it; a bigint is an integer.
 *
 * @param {unknown} value
 * @param {string} what where it is, for errors
 * @returns {string}
 */
export function toJson(value, what) {
  return written(value, what, 0);
}

/** @param {unknown} value @param {string} place @param {number} depth @returns {string} */
function written(value, place, depth) {
  if (depth > MAX_DEPTH) {
    throw new RecordingError(`${place} is nested more than ${MAX_DEPTH} deep (or contains itself); record less of it`);
  }
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "string":
      return quoted(value, place);
    case "number":
      if (!Number.isFinite(value)) {
        throw new RecordingError(`${place} is ${value}, which JSON has no number for; record null or text instead`);
      }
      return JSON.stringify(value === 0 ? 0 : value);
    case "bigint":
      if (value > MAX_INTEGER || value < -MAX_INTEGER) {
        throw new RecordingError(`${place} is an integer of more than 38 digits; record it as text`);
      }
      return String(value);
    case "object":
      if (value === null) return "null";
      if (Array.isArray(value)) {
        return `[${value.map((item, at) => written(item, `${place}[${at}]`, depth + 1)).join(",")}]`;
      }
      if (isPlain(value)) return object(/** @type {Record<string, unknown>} */ (value), place, depth);
  }
  const kind = typeof value === "object" ? (value?.constructor?.name ?? "object") : typeof value;
  throw new RecordingError(`${place} is of type ${kind}, which JSON cannot hold; convert it first`);
}

/** @param {object} value */
function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** @param {Record<string, unknown>} value @param {string} place @param {number} depth */
function object(value, place, depth) {
  const members = [];
  for (const key of Object.keys(value).sort(byCodePoint)) {
    if (value[key] === undefined) continue;
    members.push(`${quoted(key, `a key of ${place}`)}:${written(value[key], `${place}.${key}`, depth + 1)}`);
  }
  return `{${members.join(",")}}`;
}

/** @param {string} a @param {string} b */
function byCodePoint(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** @param {string} text @param {string} place */
function quoted(text, place) {
  if (LONE.test(text)) {
    throw new RecordingError(`${place} holds half a surrogate pair, which is not text; decode it properly first`);
  }
  return JSON.stringify(text);
}
