"""A span processor for the OpenTelemetry SDK: each span that ends becomes a line of OTLP/JSON.

    provider.add_span_processor(AutoSpanProcessor("run.otlp.jsonl"))

``auto-host import run.otlp.jsonl`` reads the file. Each line is one write, so that a process
that is killed loses at most the spans that had not ended. Where a collector can be reached, an
exporter and ``auto-host collect`` do without a file.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Dict, Optional


class AutoSpanProcessor:
    """Writes spans as they end; give it to ``TracerProvider.add_span_processor``."""

    def __init__(self, path: Optional[str] = None) -> None:
        path = path or os.environ.get("AUTO_OTLP_FILE")
        if not path:
            raise ValueError("give a file, or set AUTO_OTLP_FILE")
        self._lock = threading.Lock()
        self._file: Optional[int] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Nothing is written before a span ends."""

    def _on_ending(self, span: Any) -> None:
        """Newer SDKs ask for this too."""

    def on_end(self, span: Any) -> None:
        """Writes the span."""
        line = (json.dumps(_request(span), separators=(",", ":"), allow_nan=False, default=str) + "\n").encode("utf-8")
        with self._lock:
            while line and self._file is not None:
                line = line[os.write(self._file, line) :]

    def shutdown(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Everything that ended is with the system already."""
        with self._lock:
            if self._file is not None:
                os.fsync(self._file)
        return True


def _request(span: Any) -> Dict[str, Any]:
    context, parent, status = span.context, span.parent, span.status
    one: Dict[str, Any] = {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "name": span.name,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": _attributes(span.attributes),
        "events": [{"name": event.name, "attributes": _attributes(event.attributes)} for event in span.events],
    }
    if parent is not None:
        one["parentSpanId"] = f"{parent.span_id:016x}"
    if status is not None and status.status_code.name == "ERROR":
        one["status"] = {"code": 2, "message": status.description or ""}
    scope = span.instrumentation_scope
    scoped = {"scope": {"name": scope.name if scope else ""}, "spans": [one]}
    return {"resourceSpans": [{"resource": {"attributes": _attributes(span.resource.attributes)}, "scopeSpans": [scoped]}]}


def _attributes(attributes: Any) -> Any:
    return [{"key": key, "value": _value(value)} for key, value in (attributes or {}).items()]


def _value(value: Any) -> Dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value} if value == value and abs(value) != float("inf") else {"stringValue": repr(value)}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _attributes(value)}}
    return {"stringValue": str(value)}
