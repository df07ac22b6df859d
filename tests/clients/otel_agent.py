"""An agent that knows nothing of Auto: OpenTelemetry's own exporter, protobuf and gzip."""

import json
import sys

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider(resource=Resource.create({"service.name": "sorter"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(compression=Compression.Gzip), max_export_batch_size=7))
tracer = provider.get_tracer("agent")
TEAMS = ["billing", "orders", "returns"]


def message(role, text):
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


for number in range(int(sys.argv[1])):
    team = TEAMS[number % 3]
    with tracer.start_as_current_span("invoke_agent sorter") as run:
        run.set_attribute("gen_ai.operation.name", "invoke_agent")
        with tracer.start_as_current_span("chat m") as span:
            span.set_attribute("gen_ai.operation.name", "chat")
            span.set_attribute("gen_ai.request.model", "m")
            span.set_attribute("gen_ai.input.messages", message("user", f"[{team}] ticket"))
            span.set_attribute("gen_ai.output.messages", message("assistant", team))
        with tracer.start_as_current_span("execute_tool route") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", "route")
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps({"team": team}))
            span.set_attribute("gen_ai.tool.call.result", team.upper())
        with tracer.start_as_current_span("chat m") as span:
            span.set_attribute("gen_ai.operation.name", "chat")
            span.set_attribute("gen_ai.request.model", "m")
provider.shutdown()
