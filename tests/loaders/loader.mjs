// Runs a .cbin artifact: `node loader.mjs FILE.cbin < inputs.jsonl`.
//
// Every line of the input is one JSON text, an empty line too. Every line of the output is one of
//   {"answer":J}                                        J: the answer's own text, byte for byte
//   {"abstain":{"reason":T,"score":N,"limit":N}}
//   {"request":{"capability":T,"input":J,"state":B}}    B: base64
//   {"failed":{"bad-input":T}} or {"failed":{"unsupported":T}}
//   {"failed":"trap"}                                   it stopped, or returned what is no result
import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { createHash } from 'node:crypto'

// The SHA-256 of the whole section component-type:cbin, which is the same in every artifact.
const WORLD = 'f937afa0af013dbe6c1cbd2b87afcec665a04c583424d520529bc526e8962dda'
const RUN = 'auto:cbin/behavior@0.1.0#run'
const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest('hex')
const must = (holds, otherwise) => { if (!holds) throw new Error(otherwise) }

// The sections of a core module: where each begins and ends, and the name of a custom one.
function sections(file) {
  const found = []
  let at = 8
  const number = () => { // LEB128, at most 32 bits
    for (let value = 0, scale = 1; ; scale *= 128) {
      must(at < file.length && scale <= 2 ** 28, 'a length in it is cut off or too long')
      value += (file[at] & 127) * scale
      if (file[at++] < 128) return value
    }
  }
  while (at < file.length) {
    const begin = at, id = file[at++], end = number() + at, length = id ? 0 : number()
    must(end <= file.length && at + length <= end, 'a section of it is cut off')
    found.push({ begin, end, name: file.toString('latin1', at, at + length) })
    at = end
  }
  return found
}

function load(file) {
  must(file.toString('latin1', 0, 8) === '\0asm\x01\0\0\0', 'it is no core WebAssembly module')
  const all = sections(file), last = all.at(-1), world = all.find(s => s.name === 'component-type:cbin')
  must(last?.name === 'auto:digest' && last.end - last.begin === 46, 'it does not end with a digest')
  must(world && sha256(file.subarray(world.begin, world.end)) === WORLD, 'its world is another')
  const digest = sha256(file.subarray(0, world.begin), file.subarray(world.end, last.begin))
  must(digest === file.toString('hex', file.length - 32), 'its digest is another')
  const module = new WebAssembly.Module(file)
  return () => new WebAssembly.Instance(module).exports
}

// One call by the canonical ABI, which wants UTF-8 of every string, of either side.
function run({ memory, cabi_realloc, [RUN]: behavior }, input) {
  if (!isUtf8(input)) return '{"failed":{"bad-input":"the input is not UTF-8"}}'
  const at = cabi_realloc(0, 0, 1, input.length) >>> 0
  new Uint8Array(memory.buffer, at, input.length).set(input)
  const result = behavior(at, input.length) >>> 0
  const view = new DataView(memory.buffer), word = n => view.getUint32(result + n, true)
  const bytes = n => Buffer.from(memory.buffer, word(n), word(n + 4))
  const raw = n => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes(n))
  const text = n => JSON.stringify(raw(n)), base64 = n => bytes(n).toString('base64')
  switch (`${view.getUint8(result)} ${view.getUint8(result + 4)}`) {
    case '0 0': return `{"answer":${raw(8)}}`
    case '0 1': return `{"abstain":{"reason":${text(8)},"score":${word(16)},"limit":${word(20)}}}`
    case '0 2': return `{"request":{"capability":${text(8)},"input":${raw(16)},"state":"${base64(24)}"}}`
    case '1 0': return `{"failed":{"bad-input":${text(8)}}}`
    case '1 1': return `{"failed":{"unsupported":${text(8)}}}`
  }
  throw new Error('no such case')
}

let fresh, instance, rest = Buffer.alloc(0)
try { instance = (fresh = load(readFileSync(process.argv[2])))() } catch (error) {
  console.error(`The file is refused: ${error.message}.`)
  process.exit(1)
}
function print(line) { // an instance that trapped is used no more
  try { console.log(run(instance, line)) } catch { console.log('{"failed":"trap"}'); instance = fresh() }
}
for await (const chunk of process.stdin) {
  rest = Buffer.concat([rest, chunk])
  for (let end; (end = rest.indexOf(10)) >= 0; rest = rest.subarray(end + 1)) print(rest.subarray(0, end))
}
if (rest.length) print(rest)
