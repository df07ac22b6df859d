"""The types of the contract, and how a call ends."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, TypedDict, Union

try:
    from typing import NotRequired
except ImportError:  # before Python 3.11
    from typing_extensions import NotRequired

@TYPES@

class Novelty(NamedTuple):
    """What the guard says of an input: a measure, and the most it may be, in parts per million."""

    reason: str
    score: int
    limit: int


class Answer(NamedTuple):
    """The answer, a canonical JSON text."""

    text: str

    @property
    def value(self) -> Output:
        """The answer as a value."""
        return json.loads(self.text)


class Abstain(NamedTuple):
    """The artifact does not know: ask whatever it stands for."""

    reason: str
    score: int
    limit: int


class Request(NamedTuple):
    """The artifact needs something done; hand the reply to `resume` with this state."""

    capability: str
    input: str
    state: bytes


Outcome = Union[Answer, Abstain, Request]
