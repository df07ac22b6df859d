"""What a session is: the run of an agent, with one operation inside another.

Here is what recording and replaying share: the calls, who encloses whom, and which
session is current. A session that does neither lets the agent run unrecorded.
"""

from __future__ import annotations

import contextvars
import threading
from typing import Any, Dict, Optional

from ._json import RecordingError, to_json

RESERVED = ("cost_usd_micros", "tokens", "duration_us", "started_at_us")


class Call:
    """One operation while it happens.

    Assign ``output``; ``tokens`` and ``cost_usd_micros`` where they are known; notes of
    your own, text by text, into ``attrs``. ``replayed`` says that ``output`` was filled
    from a recording and nothing needs to be done.
    """

    def __init__(self, session: "Session", kind: str, name: str, input_json: str, parent: Optional["Call"]) -> None:
        self.session = session
        self.kind = kind
        self.name = name
        self.input_json = input_json
        self.parent = parent
        self.output: Any = None
        self.replayed = False
        self.tokens: Optional[int] = None
        self.cost_usd_micros: Optional[int] = None
        self.attrs: Dict[str, str] = {}
        # For sessions: the recorder's number and clocks, the replayer's recording.
        self.number = 0
        self.started_us = 0
        self.clock = 0
        self.recording: Any = None

    def attributes(self) -> Dict[str, str]:
        """All attributes, checked."""
        attrs = checked_attributes(self.attrs, f"{self.kind} {self.name}")
        for key in ("tokens", "cost_usd_micros"):
            value = getattr(self, key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
                raise RecordingError(f"{key} of {self.kind} {self.name} is {value!r}; it must be an integer from 0 to 2^64-1")
            attrs[key] = str(value)
        return attrs


def checked_attributes(attrs: Dict[str, str], what: str) -> Dict[str, str]:
    """A copy of the attributes; texts only, no reserved name."""
    for key, value in attrs.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise RecordingError(f"attribute {key!r} of {what} is {value!r}; attributes are texts")
        if key in RESERVED:
            raise RecordingError(f"attribute {key!r} of {what} is reserved; assign tokens or cost_usd_micros to the call")
        to_json([key, value], f"attribute {key!r} of {what}")
    return dict(attrs)


class Session:
    """A run that is neither recorded nor replayed; the other kinds derive from it."""

    def __init__(self) -> None:
        self._output_declared = False
        self._lock = threading.Lock()

    def begin(self, kind: str, name: str, value: Any) -> Call:
        """Opens an operation inside the one that is open in this context."""
        enclosing = open_call.get()
        # A call of another session encloses nothing here.
        parent = enclosing if enclosing is not None and enclosing.session is self else None
        return Call(self, kind, name, self.prepare(kind, name, value), parent)

    def prepare(self, kind: str, name: str, value: Any) -> str:
        """The input's text; empty where nobody needs it."""
        return ""

    def end(self, call: Call, error: Optional[BaseException]) -> None:
        """Closes an operation."""

    def task_output(self, value: Any) -> None:
        """Declares what the run came to. Once only, and not None."""
        if value is None:
            raise RecordingError("the task output is None, which says nothing; declare an output or leave the call out")
        with self._lock:
            if self._output_declared:
                raise RecordingError("the task output was declared before; a run has one")
            self.declare_output(to_json(value, "the task output"))
            self._output_declared = True

    def declare_output(self, output_json: str) -> None:
        """Keeps or checks the run's output."""

    def close(self) -> None:
        """Ends the session."""


# The innermost open operation of this thread or asyncio task.
open_call: "contextvars.ContextVar[Optional[Call]]" = contextvars.ContextVar("auto_sdk_open_call", default=None)

_unrecorded = Session()
_current: Session = _unrecorded
_current_lock = threading.Lock()


def current() -> Session:
    """The session of this process; threads share it."""
    return _current


def check_free() -> None:
    """Raises where a session is current already."""
    if _current is not _unrecorded:
        raise RecordingError("a run is going on already in this process, which has one at a time; end its trace first")


def enter(session: Session) -> None:
    """Makes a session the current one."""
    global _current
    with _current_lock:
        check_free()
        _current = session


def leave(session: Session) -> None:
    """Ends what ``enter`` began."""
    global _current
    with _current_lock:
        if _current is session:
            _current = _unrecorded
