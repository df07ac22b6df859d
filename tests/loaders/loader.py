"""Runs a .cbin artifact: `python3 loader.py FILE.cbin < inputs.jsonl`; needs `pip install pywasm3`.

Every line of the input is one JSON text, an empty line too. Every line of the output is one of
  {"answer":J}                                        J: the answer's own text, byte for byte
  {"abstain":{"reason":T,"score":N,"limit":N}}
  {"request":{"capability":T,"input":J,"state":B}}    B: base64
  {"failed":{"bad-input":T}} or {"failed":{"unsupported":T}}
  {"failed":"trap"}                                   it stopped, or returned what is no result
"""
import base64, hashlib, json, struct, sys, wasm3

# The SHA-256 of the whole section component-type:cbin, which is the same in every artifact.
WORLD = "f937afa0af013dbe6c1cbd2b87afcec665a04c583424d520529bc526e8962dda"
STACK = 1 << 16  # bytes; small, since each frame of it also takes the stack of the process

def must(holds, otherwise):
    if not holds:
        raise ValueError(otherwise)

def sections(file):
    """The sections of a core module: id, begin, end, and the name of a custom one."""
    def number(at, value=0, shift=0):  # LEB128, at most 32 bits; and where it ends
        must(at < len(file) and shift <= 28, "a length in it is cut off or too long")
        value |= (file[at] & 127) << shift
        return number(at + 1, value, shift + 7) if file[at] > 127 else (value, at + 1)
    end = 8
    while end < len(file):
        begin, (size, at) = end, number(end + 1)
        end = at + size
        length, at = (0, at) if file[begin] else number(at)
        must(end <= len(file) and at + length <= end, "a section of it is cut off")
        yield file[begin], begin, end, file[at:at + length]

def check(file):
    must(file[:8] == b"\0asm\1\0\0\0", "it is no core WebAssembly module")
    found = list(sections(file))
    last = (0, len(file) - 46, len(file), b"auto:digest")
    must(last in found[-1:], "it does not end with a digest")
    start, stop = next((s[1:3] for s in found if s[3] == b"component-type:cbin"), (0, 0))
    must(hashlib.sha256(file[start:stop]).hexdigest() == WORLD, "its world is another")
    digest = hashlib.sha256(file[:start] + file[stop:-46]).digest()
    must(digest == file[-32:], "its digest is another")
    must(all(s[0] != 2 for s in found), "it imports something")

def fresh(file):
    environment = wasm3.Environment()
    runtime = environment.new_runtime(STACK)
    runtime.load(environment.parse_module(file))
    return runtime, *map(runtime.find_function, ("cabi_realloc", "auto:cbin/behavior@0.1.0#run"))

def run(runtime, cabi_realloc, behavior, line):
    """One call by the canonical ABI, which wants UTF-8 of every string, of either side."""
    if line.decode(errors="ignore").encode() != line:
        return '{"failed":{"bad-input":"the input is not UTF-8"}}'
    at = cabi_realloc(0, 0, 1, len(line)) % 2**32
    runtime.get_memory(0)[at:at + len(line)] = line
    result = behavior(at, len(line)) % 2**32
    memory = runtime.get_memory(0)  # asked for again, since it may have grown
    word = lambda n: struct.unpack_from("<I", memory, result + n)[0]
    def data(n):
        must(word(n) + word(n + 4) <= len(memory), "it lies outside the memory")
        return bytes(memory[word(n):word(n) + word(n + 4)])
    raw = lambda n: data(n).decode()
    text = lambda n: json.dumps(raw(n), ensure_ascii=False)
    match memory[result], memory[result + 4]:
        case 0, 0: return '{"answer":%s}' % raw(8)
        case 0, 1: return '{"abstain":{"reason":%s,"score":%d,"limit":%d}}' % (text(8), word(16), word(20))
        case 0, 2: return '{"request":{"capability":%s,"input":%s,"state":"%s"}}' % (
            text(8), raw(16), base64.b64encode(data(24)).decode())
        case 1, 0: return '{"failed":{"bad-input":%s}}' % text(8)
        case 1, 1: return '{"failed":{"unsupported":%s}}' % text(8)
    raise ValueError("no such case")

if __name__ == "__main__":
    try:
        check(file := open(sys.argv[1], "rb").read())
        instance = fresh(file)
    except Exception as error:
        sys.exit(f"The file is refused: {error}.")
    for line in sys.stdin.buffer:
        try:
            said = run(*instance, line.removesuffix(b"\n"))
        except Exception:  # an instance that trapped is used no more
            said, instance = '{"failed":"trap"}', fresh(file)
        sys.stdout.buffer.write(said.encode() + b"\n")
