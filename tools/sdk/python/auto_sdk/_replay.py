"""Answers an agent from a recording.

Each live operation consumes the first unconsumed recording of equal kind, name and
input: first among those recorded inside the recording of its own enclosing operation,
then anywhere. So operations that run side by side need not come in the recorded order,
and equal ones with different outputs do not get mixed up between two enclosing spans.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict, deque
from typing import Any, Deque, Dict, List, Optional, Tuple

from ._json import RecordingError, to_json
from ._session import Call, Session

Key = Tuple[str, str, str]


class DivergenceError(Exception):
    """The agent did something else than what was recorded."""


class ReplayedError(Exception):
    """An operation fails because its recording did."""


class Recording:
    """One recorded operation."""

    def __init__(self, line: Dict[str, Any]) -> None:
        self.number: int = line["span_id"]
        self.parent: Optional[int] = line.get("parent_span_id")
        self.sequence: int = line["seq"]
        self.kind: str = line["kind"]
        self.name: str = line["name"]
        self.input_json = to_json(line["input"], "input")
        self.output: Any = line.get("output")
        self.error: Optional[str] = line.get("error")
        self.consumed = False
        # Answered instead of done, so what happened inside does not happen again.
        self.answered = False

    def __repr__(self) -> str:
        return f"{self.kind} {self.name} of {self.input_json}"


class Replayer(Session):
    """Replays the run that a file holds."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._task: Optional[str] = None
        self._input_json: Optional[str] = None
        self._output_json: Optional[str] = None
        recordings = self._read(path)
        # Consumed ones are skipped where they are met, in both.
        self._inside: Dict[Tuple[Optional[int], Key], Deque[Recording]] = defaultdict(deque)
        self._anywhere: Dict[Key, Deque[Recording]] = defaultdict(deque)
        self._recordings = sorted(recordings, key=lambda recording: recording.sequence)
        for recording in self._recordings:
            key = (recording.kind, recording.name, recording.input_json)
            self._inside[recording.parent, key].append(recording)
            self._anywhere[key].append(recording)

    def _read(self, path: str) -> List[Recording]:
        recordings = []
        try:
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file if line.strip()]
            for line in lines:
                if line["v"] != 0:
                    raise RecordingError(f"{path} is of format version {line['v']}; this SDK replays version 0")
                if line["t"] == "trace":
                    self._task = line["task"]
                    if line.get("task_input") is not None:
                        self._input_json = to_json(line["task_input"], "task input")
                elif line["t"] == "span":
                    recordings.append(Recording(line))
                elif line["t"] == "task_output":
                    self._output_json = to_json(line["output"], "task output")
        except OSError as error:
            raise RecordingError(f"{path} cannot be replayed: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise RecordingError(f"{path} is no whole trace of format version 0 ({error!r}); record the run again") from error
        if self._task is None:
            raise RecordingError(f"{path} has no header; record the run again")
        return recordings

    def start(self, task: str, task_input: Any) -> None:
        """Checks that the agent runs what was recorded."""
        if task != self._task:
            raise DivergenceError(f"the recording is of task {self._task!r}, the agent runs {task!r}")
        given = None if task_input is None else to_json(task_input, "the task input")
        if given != self._input_json:
            raise DivergenceError(f"the recorded task input is {self._input_json}, the agent was given {given}")

    def prepare(self, kind: str, name: str, value: Any) -> str:
        return to_json(value, f"the input of {kind} {name}")

    def begin(self, kind: str, name: str, value: Any) -> Call:
        call = super().begin(kind, name, value)
        recording = call.recording = self._consume(call)
        if recording is None:
            if kind != "span":
                raise DivergenceError(f"no recording is left for {kind} {name} of {call.input_json}")
        elif kind in ("model_call", "tool_call", "memory_op"):
            recording.answered = True
            if recording.error is not None:
                raise ReplayedError(recording.error)
            call.replayed = True
            # A copy: the agent may change what it is given.
            call.output = json.loads(json.dumps(recording.output))
        return call

    def _consume(self, call: Call) -> Optional[Recording]:
        key = (call.kind, call.name, call.input_json)
        enclosing = call.parent.recording if call.parent is not None else None
        with self._lock:
            queues = [self._anywhere[key]]
            # Inside a span that was not recorded, only the whole recording can be searched.
            if call.parent is None or enclosing is not None:
                queues.insert(0, self._inside[enclosing and enclosing.number, key])
            for queue in queues:
                while queue:
                    recording = queue.popleft()
                    if not recording.consumed:
                        recording.consumed = True
                        return recording
        return None

    def end(self, call: Call, error: Optional[BaseException]) -> None:
        if error is not None or call.recording is None or call.kind == "span":
            return
        recorded = to_json(call.recording.output, "output")
        given = to_json(call.output, f"the output of {call.kind} {call.name}")
        if given != recorded:
            raise DivergenceError(f"{call.kind} {call.name} of {call.input_json} gave {given}, recorded is {recorded}")

    def declare_output(self, output_json: str) -> None:
        if output_json != self._output_json:
            raise DivergenceError(f"the task output is {output_json}, recorded is {self._output_json}")

    def leftovers(self) -> List[Recording]:
        """Operations that were recorded and have not happened."""
        covered = set()
        left = []
        with self._lock:
            # In order of opening, so an enclosing operation comes before what it encloses.
            for one in self._recordings:
                if one.answered or one.parent in covered:
                    covered.add(one.number)
                elif not one.consumed and one.kind != "span":
                    left.append(one)
        return left

    def check_complete(self) -> None:
        """Raises DivergenceError where something recorded has not happened."""
        left = self.leftovers()
        if left:
            raise DivergenceError(f"{len(left)} recorded operations did not happen; the first is {left[0]!r}")
        if self._output_json is not None and not self._output_declared:
            raise DivergenceError(f"the recorded task output {self._output_json} was not declared")


def from_environment() -> Optional[str]:
    """The recording that the environment asks to replay."""
    return os.environ.get("AUTO_REPLAY_FILE") or None
