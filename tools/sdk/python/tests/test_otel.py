"""The span processor, with the OpenTelemetry SDK where it is installed."""

import importlib.util
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from auto_sdk.otel import AutoSpanProcessor  # noqa: E402


def installed():
    return importlib.util.find_spec("opentelemetry") is not None and importlib.util.find_spec("opentelemetry.sdk") is not None


class TestProcessor(unittest.TestCase):
    @unittest.skipUnless(installed(), "opentelemetry-sdk is not installed")
    def test_spans_become_lines_as_they_end(self):
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.jsonl")
            provider = TracerProvider(resource=Resource.create({"service.name": "tickets"}))
            provider.add_span_processor(AutoSpanProcessor(path))
            tracer = provider.get_tracer("agent")
            with tracer.start_as_current_span("run"):
                with tracer.start_as_current_span("chat m") as span:
                    span.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.request.temperature": 0.5, "ok": True, "n": [1, 2]})
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(len(file.readlines()), 1, "a span is written when it ends")
            provider.shutdown()
            with open(path, encoding="utf-8") as file:
                inner, outer = [json.loads(line)["resourceSpans"][0] for line in file]
            one, root = inner["scopeSpans"][0]["spans"][0], outer["scopeSpans"][0]["spans"][0]
            self.assertEqual((one["parentSpanId"], one["traceId"]), (root["spanId"], root["traceId"]))
            values = {attribute["key"]: attribute["value"] for attribute in one["attributes"]}
            self.assertEqual(values["gen_ai.request.temperature"], {"doubleValue": 0.5})
            self.assertEqual((values["ok"], values["n"]["arrayValue"]["values"][0]), ({"boolValue": True}, {"intValue": "1"}))
            self.assertNotIn("parentSpanId", root)

    def test_it_needs_a_file(self):
        os.environ.pop("AUTO_OTLP_FILE", None)
        with self.assertRaises(ValueError):
            AutoSpanProcessor()


if __name__ == "__main__":
    unittest.main()
