"""Writes one trace file: a header, then a line for each operation when it closes.

``seq`` is given when an operation opens, so it, and not the order of lines, is the
order of events. Each line is one write, so that a process that is killed leaves whole
lines and at most one torn one.
"""

from __future__ import annotations

import os
import secrets
import time
from typing import Any, Dict, Optional

from ._json import RecordingError, to_json
from ._session import Call, Session, checked_attributes

VERSION = 0
SDK = "auto-sdk-python/0.1.0"


class Recorder(Session):
    """Records a run into a file."""

    def __init__(self, path: str, task: str, task_input: Any, attrs: Dict[str, str]) -> None:
        super().__init__()
        self._path = path
        self._process = os.getpid()
        self._opened = 0
        self._trace_id = secrets.token_hex(16)
        started_us = time.time_ns() // 1_000
        header = {
            "v": VERSION,
            "t": "trace",
            "trace_id": self._trace_id,
            "task": task,
            "started_at_ms": started_us // 1_000,
            "sdk": SDK,
            "attrs": {**checked_attributes(attrs, "the trace"), "started_at_us": str(started_us)},
        }
        # Checked before the file is made, so that a refused run leaves none.
        line = _line(header, {} if task_input is None else {"task_input": to_json(task_input, "the task input")})
        self._file: Optional[int] = _create(path)
        self._write(line)

    def prepare(self, kind: str, name: str, value: Any) -> str:
        return to_json(value, f"the input of {kind} {name}")

    def begin(self, kind: str, name: str, value: Any) -> Call:
        call = super().begin(kind, name, value)
        with self._lock:
            self._opened += 1
            call.number = self._opened
        call.started_us = time.time_ns() // 1_000
        call.clock = time.perf_counter_ns()
        return call

    def end(self, call: Call, error: Optional[BaseException]) -> None:
        duration_us = max(0, time.perf_counter_ns() - call.clock) // 1_000
        output = "null"
        try:
            if error is None:
                output = to_json(call.output, f"the output of {call.kind} {call.name}")
            attrs = call.attributes()
        except RecordingError as refused:
            # The operation happened, so its line must be there: children name it.
            error, output, attrs = refused, "null", {}
            raise
        finally:
            line = self._span(call, error, output, attrs, duration_us)
            with self._lock:
                self._write(line)

    def _span(
        self, call: Call, error: Optional[BaseException], output: str, attrs: Dict[str, str], duration_us: int
    ) -> bytes:
        """The line of an operation, written out: every operation of an agent waits for it."""
        times = {"duration_us": str(duration_us), "started_at_us": str(call.started_us)}
        told = "null" if error is None else to_json(_told(error), "an error")
        parent = "null" if call.parent is None else call.parent.number
        return (
            f'{{"attrs":{to_json({**attrs, **times}, "attributes")},"duration_ms":{duration_us // 1_000},"error":{told},'
            f'"input":{call.input_json},"kind":"{call.kind}","name":{to_json(call.name, "a name")},"output":{output},'
            f'"parent_span_id":{parent},"seq":{call.number},"span_id":{call.number},'
            f'"started_at_ms":{call.started_us // 1_000},"t":"span","trace_id":"{self._trace_id}","v":{VERSION}}}\n'
        ).encode("utf-8")

    def declare_output(self, output_json: str) -> None:
        now = time.time_ns() // 1_000_000
        line = {"v": VERSION, "t": "task_output", "trace_id": self._trace_id, "recorded_at_ms": now}
        self._write(_line(line, {"output": output_json}))

    def _write(self, line: bytes) -> None:
        if self._file is None:
            raise RecordingError(f"the recording in {self._path} has ended; an operation outlived its trace")
        if os.getpid() != self._process:
            raise RecordingError("this process was forked from the recorded one; a trace holds one process")
        while line:
            line = line[os.write(self._file, line) :]

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None


def _create(path: str) -> int:
    """Opens a file that is new or empty."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise RecordingError(f"no trace can be written to {path}: {error.strerror}") from error
    if os.fstat(file).st_size:
        os.close(file)
        raise RecordingError(f"{path} holds a trace already; a file holds one: give AUTO_TRACE_FILE another name")
    return file


def _line(fields: Dict[str, Any], values: Dict[str, str]) -> bytes:
    """A line of plain fields and of values that are JSON texts already."""
    plain = {key: to_json(value, key) for key, value in fields.items()}
    members = sorted({**plain, **values}.items())
    return ("{" + ",".join(f'"{key}":{text}' for key, text in members) + "}\n").encode("utf-8")


def _told(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    return text.encode("utf-8", "replace").decode("utf-8")
