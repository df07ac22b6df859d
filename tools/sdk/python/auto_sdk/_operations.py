"""What agents call: a trace around the run, operations inside it."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import hashlib
import inspect
import os
from typing import Any, Callable, Dict, Iterator, Optional, TypeVar, Union

from . import _session
from ._json import RecordingError
from ._record import Recorder
from ._replay import Replayer, from_environment
from ._session import Call, Session, current, open_call

Function = TypeVar("Function", bound=Callable[..., Any])

_absent: Any = object()


@contextlib.contextmanager
def trace(
    task: str,
    task_input: Any = None,
    attrs: Optional[Dict[str, str]] = None,
    path: Optional[str] = None,
) -> Iterator[Session]:
    """The run of an agent.

    Recorded to ``path`` or ``$AUTO_TRACE_FILE``; replayed where ``replay`` is around it
    or ``$AUTO_REPLAY_FILE`` is set; else just run.
    """
    if isinstance(current(), Replayer):
        session = current()
        session.start(task, task_input)  # type: ignore[attr-defined]
        yield session
        return
    # Before a file is made.
    _session.check_free()
    recording = from_environment()
    path = path or os.environ.get("AUTO_TRACE_FILE") or None
    if recording is not None:
        session = Replayer(recording)
        session.start(task, task_input)
    elif path is not None:
        session = Recorder(path, task, task_input, attrs or {})
    else:
        session = Session()
    _session.enter(session)
    try:
        yield session
    finally:
        _session.leave(session)
        session.close()


@contextlib.contextmanager
def replay(path: str, complete: bool = False) -> Iterator[Replayer]:
    """Replays the recording in ``path`` for the agent that runs inside.

    With ``complete``, raises DivergenceError at the end if something recorded did not
    happen.
    """
    session = Replayer(path)
    _session.enter(session)
    try:
        yield session
    finally:
        _session.leave(session)
    if complete:
        session.check_complete()


def task_output(value: Any) -> None:
    """Declares what the run came to. A second declaration raises RecordingError."""
    current().task_output(value)


class Operation:
    """An operation to decorate a function with, or, with an input, to enter."""

    def __init__(self, kind: str, name: str, value: Any, input_of: Optional[Callable[..., Any]]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a {kind} needs a name: @auto_sdk.{kind}('name')")
        self._kind = kind
        self._name = name
        self._value = value
        self._input_of = input_of
        self._entered: Any = None

    def __enter__(self) -> Call:
        if self._value is _absent:
            raise TypeError(f"{self._kind} {self._name} needs an input to be entered: {self._kind}(name, input)")
        if self._entered is not None:
            raise RuntimeError(f"{self._kind} {self._name} was entered before; make one operation for each time")
        call = current().begin(self._kind, self._name, self._value)
        self._entered = call, open_call.set(call)
        return call

    def __exit__(self, _kind: Any, error: Optional[BaseException], _place: Any) -> None:
        call, token = self._entered
        open_call.reset(token)
        call.session.end(call, error)

    def __call__(self, function: Function) -> Function:
        if self._value is not _absent:
            raise TypeError(f"{self._kind} {self._name} has an input already; a decorated function brings its own")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{self._kind} {self._name}: a generator has no single output; decorate what collects it")
        signature = inspect.signature(function)

        def operation(args: Any, kwargs: Any) -> Operation:
            if self._input_of is not None:
                value = self._input_of(*args, **kwargs)
            else:
                bound_arguments = signature.bind(*args, **kwargs)
                bound_arguments.apply_defaults()
                value = dict(bound_arguments.arguments)
            return Operation(self._kind, self._name, value, None)

        @functools.wraps(function)
        def call_function(*args: Any, **kwargs: Any) -> Any:
            with operation(args, kwargs) as call:
                if call.replayed:
                    return call.output
                result = function(*args, **kwargs)
                self._keep(call, result)
                return result

        @functools.wraps(function)
        async def await_function(*args: Any, **kwargs: Any) -> Any:
            with operation(args, kwargs) as call:
                if call.replayed:
                    return call.output
                result = await function(*args, **kwargs)
                self._keep(call, result)
                return result

        return await_function if inspect.iscoroutinefunction(function) else call_function  # type: ignore[return-value]

    def _keep(self, call: Call, result: Any) -> None:
        # Structure has no output: it may return anything, and nothing compares it.
        if self._kind != "span":
            call.output = result


def model_call(name: str, input: Any = _absent, *, input_of: Optional[Callable[..., Any]] = None) -> Operation:
    """A question to a model. ``input_of(*args)`` says what of a decorated function's
    arguments is the input; else it is all of them, by name."""
    return Operation("model_call", name, input, input_of)


def tool_call(name: str, input: Any = _absent, *, input_of: Optional[Callable[..., Any]] = None) -> Operation:
    """A call of a tool; as ``model_call``."""
    return Operation("tool_call", name, input, input_of)


def memory_op(name: str, input: Any = _absent, *, input_of: Optional[Callable[..., Any]] = None) -> Operation:
    """A read or write of the agent's memory; as ``model_call``."""
    return Operation("memory_op", name, input, input_of)


def span(name: str, input: Any = None) -> Operation:
    """Structure around operations; to be entered, or to decorate."""
    return _Span("span", name, {} if input is None else input, None)


class _Span(Operation):
    """Structure needs no input, so the same object can decorate."""

    def __call__(self, function: Function) -> Function:
        value = self._value
        decorator = Operation(self._kind, self._name, _absent, lambda *_args, **_kwargs: value)
        return decorator(function)


def branch(name: str, input: Any, decision: Any) -> Any:
    """Records a decision of the agent's own code, and returns it."""
    with Operation("branch", name, input, None) as call:
        call.output = decision
    return decision


def env_read(name: str, value: Union[str, bytes, None] = _absent) -> Any:
    """Reads an environment variable (or takes what was read from elsewhere) and returns
    it. Only its SHA-256 and length in bytes are recorded; null where there is none."""
    if value is _absent:
        value = os.environ.get(name)
    if value is None:
        seen = None
    elif isinstance(value, (str, bytes)):
        data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        seen = {"sha256": hashlib.sha256(data).hexdigest(), "length": len(data)}
    else:
        raise RecordingError(f"env_read {name} takes text or bytes, not {type(value).__name__}")
    with Operation("env_read", name, {}, None) as call:
        call.output = seen
    return value


def bound(function: Function) -> Function:
    """The function, to be called in another thread as if inside the operation that is
    open here. Each call has its own copy of the context."""
    context = contextvars.copy_context()

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return context.copy().run(function, *args, **kwargs)

    return run  # type: ignore[return-value]
