"""Runs artifacts (`.cbin`): WebAssembly modules with no imports that answer, abstain, or ask.

    behavior = auto_cbin.Behavior(pathlib.Path("triage.cbin").read_bytes())
    match behavior.run({"subject": "Where is my refund?"}):
        case auto_cbin.Answer() as answer:
            print(answer.value)
        case auto_cbin.Abstain(reason):
            print("ask the model:", reason)

The engine is wasmtime, inside this package. Every call has limits of its own, and no call influences
another; threads run at the same time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Union

from ._native import Native as _Native

__all__ = ["Abstain", "Answer", "Behavior", "BehaviorError", "Novelty", "Outcome", "Request"]


class BehaviorError(Exception):
    """A call that was not answered.

    `code` says why: `bad-input` and `unsupported` are the artifact's own, with its words; `input-too-large`,
    `out-of-fuel`, `out-of-memory`, `out-of-stack`, `deadline` name a limit; `trap` and `bad-output` are faults of the
    artifact.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer, a JSON text."""

    text: str

    @property
    def value(self) -> Any:
        """The answer as a value; numbers become binary floats where they have a fraction."""
        return json.loads(self.text)


@dataclass(frozen=True, slots=True)
class Abstain:
    """The artifact does not know: what its guard measured, and the most that it lets through."""

    reason: str
    score: int
    limit: int


@dataclass(frozen=True, slots=True)
class Request:
    """Something has to be done first: which capability is asked for what (a JSON text), and the state to go on from."""

    capability: str
    input: str
    state: bytes


@dataclass(frozen=True, slots=True)
class Novelty:
    """What a guard measured on an input, in parts per million, and the most that it lets through."""

    reason: str
    score: int
    limit: int


Outcome = Union[Answer, Abstain, Request]

_KINDS = {"answer": Answer, "abstain": Abstain, "request": Request}


class Behavior:
    """An artifact, checked against its digest and compiled. `ValueError` for what is none.

    `fuel` (instructions), `memory` (bytes), `deadline_ms` and `max_input` (bytes) bound each call; left out, they are
    those of the `auto-host` that this package came with.
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        file: bytes,
        *,
        fuel: int | None = None,
        memory: int | None = None,
        deadline_ms: int | None = None,
        max_input: int | None = None,
    ) -> None:
        self._native = _Native(file, fuel=fuel, memory=memory, deadline_ms=deadline_ms, max_input=max_input)

    @property
    def id(self) -> str:
        """The SHA-256 of the file."""
        return self._native.id

    @property
    def manifest(self) -> dict[str, Any]:
        """What the artifact says about itself."""
        return json.loads(self._native.manifest)

    def run(self, input: Any) -> Outcome:
        """Runs the behaviour on a value."""
        return self.run_text(json.dumps(input, ensure_ascii=False, allow_nan=False))

    def run_text(self, input: str) -> Outcome:
        """The same with a JSON text, in which numbers keep their digits: 3.0 is not 3."""
        kind, *rest = self._native.run(input)
        return _KINDS[kind](*rest)

    def resume(self, state: bytes, reply: str | None = None, *, error: str | None = None) -> Outcome:
        """Goes on after a request, with the reply (a JSON text) or what went wrong."""
        kind, *rest = self._native.resume(state, reply, error)
        return _KINDS[kind](*rest)

    def assess(self, input: Any) -> Novelty:
        """What the guard thinks of a value, without running anything."""
        return Novelty(*self._native.assess(json.dumps(input, ensure_ascii=False, allow_nan=False)))
