"""@TITLE@

Runs an artifact: a WebAssembly module with no imports, by wasmtime. `run` takes and gives
values; `Behavior` has the rest.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import threading
from typing import Any

import wasmtime

from .types import Abstain, Answer, Input, Novelty, Outcome, Output, Request

__all__ = [
    "FUEL", "ID", "MAX_INPUT", "MEMORY", "Abstain", "Answer", "Behavior", "BehaviorError", "Input", "Novelty",
    "Outcome", "Output", "Request", "run",
]

#: The SHA-256 of the artifact.
ID = "@ID@"

#: The most bytes of an input, or of a state and its reply.
MAX_INPUT = 1 << 20

#: Fuel and bytes of memory of a call.
FUEL = 500_000_000
MEMORY = 64 << 20

_BEHAVIOR = "auto:cbin/behavior@0.1.0#"
_REUSABLE = @REUSABLE_PYTHON@


class BehaviorError(Exception):
    """A call that was not answered.

    `code` is `bad-input`, `unsupported`, `too-large`, `trap`, or `bad-output`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Live:
    """One instance, and its memory."""

    def __init__(self, engine: wasmtime.Engine, module: wasmtime.Module) -> None:
        self.store = wasmtime.Store(engine)
        self.store.set_limits(memory_size=MEMORY)
        self.store.set_fuel(FUEL)
        exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        start = exports.get("_initialize")
        if start is not None:
            start(self.store)
        self.memory = exports["memory"]
        self.functions = {name: exports[_BEHAVIOR + name] for name in ("run", "resume", "assess")}
        self.realloc = exports["cabi_realloc"]

    def call(self, name: str, *arguments: int) -> int:
        return self.functions[name](self.store, *arguments) & 0xFFFF_FFFF

    def place(self, given: bytes) -> tuple[int, int]:
        at = self.realloc(self.store, 0, 0, 1, len(given)) & 0xFFFF_FFFF
        self.within(at, len(given), "room")
        self.memory.write(self.store, given, at)
        return at, len(given)

    def within(self, at: int, size: int, what: str) -> None:
        if at + size > self.memory.data_len(self.store):
            raise BehaviorError("bad-output", f"the artifact returned {what} outside its memory")

    def read(self, at: int, size: int, what: str) -> bytes:
        self.within(at, size, what)
        return bytes(self.memory.read(self.store, at, at + size))

    def text(self, pair: bytes) -> str:
        at, size = _word(pair, 0), _word(pair, 4)
        try:
            return self.read(at, size, "a text").decode("utf-8")
        except UnicodeDecodeError as error:
            raise BehaviorError("bad-output", "the artifact returned a text that is not UTF-8") from error

    def novelty(self, block: bytes) -> Novelty:
        return Novelty(self.text(block[0:8]), _word(block, 8), _word(block, 12))

    def outcome(self, at: int) -> Outcome:
        block = self.read(at, 32, "a result")
        match (block[0], block[4]):
            case (0, 0):
                return Answer(self.text(block[8:16]))
            case (0, 1):
                return Abstain(*self.novelty(block[8:24]))
            case (0, 2):
                state = self.read(_word(block, 24), _word(block, 28), "a state")
                return Request(self.text(block[8:16]), self.text(block[16:24]), state)
            case (1, 0):
                raise BehaviorError("bad-input", self.text(block[8:16]))
            case (1, 1):
                raise BehaviorError("unsupported", self.text(block[8:16]))
            case (failed, which):
                raise BehaviorError("bad-output", f"the artifact returned case {which} of {failed}")


def _word(block: bytes, at: int) -> int:
    return int.from_bytes(block[at : at + 4], "little")


class Behavior:
    """The artifact, compiled. Calls do not influence each other; threads take turns."""

    def __init__(self, file: bytes | None = None) -> None:
        if file is None:
            file = (pathlib.Path(__file__).parent / "behavior.cbin").read_bytes()
        found = hashlib.sha256(file).hexdigest()
        if found != ID:
            raise ValueError(f"this is not the artifact {ID}: its SHA-256 is {found}")
        config = wasmtime.Config()
        config.consume_fuel = True
        self._engine = wasmtime.Engine(config)
        self._module = wasmtime.Module(self._engine, file)
        self._live: _Live | None = None
        self._lock = threading.Lock()

    def run(self, input: Input) -> Outcome:
        """Runs the behaviour on a value. `Answer.value` is the answer's."""
        return self.run_text(_text(input))

    def run_text(self, input: str) -> Outcome:
        """The same with a JSON text, in which numbers keep their digits: 3.0 is not 3."""
        given = _bytes(input)
        return self._call(len(given), lambda live: live.outcome(live.call("run", *live.place(given))))

    def resume(self, state: bytes, reply: str | None = None, *, error: str | None = None) -> Outcome:
        """Goes on after a request, with the reply (a JSON text) or what went wrong."""
        if (reply is None) == (error is None):
            raise TypeError("give either a reply or an error")
        case, given = (0, _bytes(reply)) if reply is not None else (1, _bytes(error or ""))

        def work(live: _Live) -> Outcome:
            placed = live.place(state)
            return live.outcome(live.call("resume", *placed, case, *live.place(given)))

        return self._call(len(state) + len(given), work)

    def assess(self, input: Input) -> Novelty:
        """What the guard thinks of a value, without running anything."""
        given = _bytes(_text(input))

        def work(live: _Live) -> Novelty:
            at = live.call("assess", *live.place(given))
            return live.novelty(live.read(at, 16, "a result"))

        return self._call(len(given), work)

    @property
    def memory_bytes(self) -> int:
        """How many bytes of memory the artifact has now; 0 where no instance is kept."""
        with self._lock:
            return 0 if self._live is None else self._live.memory.data_len(self._live.store)

    def _call(self, size: int, work: Any) -> Any:
        if size > MAX_INPUT:
            raise BehaviorError("too-large", f"the input has more than {MAX_INPUT} bytes")
        with self._lock:
            # An instance that failed in the middle of a call is not used again.
            live, self._live = self._live, None
            try:
                if live is None:
                    live = _Live(self._engine, self._module)
                live.store.set_fuel(FUEL)
                result = work(live)
            except BehaviorError as error:
                if _REUSABLE and error.code != "bad-output":
                    self._live = live
                raise
            except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
                raise BehaviorError("trap", f"the artifact failed: {error}") from error
            if _REUSABLE:
                self._live = live
            return result


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BehaviorError("bad-input", "the text holds half a surrogate pair") from error


_shared: Behavior | None = None
_shared_lock = threading.Lock()


def run(input: Input) -> Outcome:
    """Runs the behaviour on a value, with one compiled artifact for the whole process."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Behavior()
    return _shared.run(input)
