"""Records what an agent does, as auto-jsonl traces (format version 0), and replays it.

The README shows how; ``_session`` says what a session is, ``_record`` writes,
``_replay`` answers from a recording, ``_operations`` is what agents call.
"""

from ._chat import ModelError, openai_chat
from ._clients import anthropic, openai
from ._json import RecordingError
from ._operations import (
    bound,
    branch,
    env_read,
    memory_op,
    model_call,
    replay,
    span,
    task_output,
    tool_call,
    trace,
)
from ._replay import DivergenceError, ReplayedError

__all__ = [
    "DivergenceError",
    "ModelError",
    "RecordingError",
    "ReplayedError",
    "anthropic",
    "bound",
    "branch",
    "env_read",
    "memory_op",
    "model_call",
    "openai",
    "openai_chat",
    "replay",
    "span",
    "task_output",
    "tool_call",
    "trace",
]
__version__ = "0.1.0"
