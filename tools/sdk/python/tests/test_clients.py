"""The official clients, recorded against a server on loopback, and replayed without one.

They are skipped where the packages are not installed.
"""

import asyncio
import http.server
import importlib.util
import json
import os
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import auto_sdk  # noqa: E402

CALL = {"id": "call_9", "type": "function", "function": {"name": "look_up", "arguments": '{"order": "A-1"}'}}
SAID = {"content": None, "tool_calls": [{"name": "look_up", "arguments": {"order": "A-1"}}]}
MESSAGES = [{"role": "user", "content": "Where is A-1?"}]
TOOL = {"name": "look_up", "description": "looks an order up"}


def chat(request):
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    if not request.get("stream"):
        message = {"role": "assistant", "content": "hello"}
        if request.get("tools"):
            message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    deltas = [{"role": "assistant", "content": "he"}, {"content": "llo"}]
    if request.get("tools"):
        first = {"index": 0, "id": "call_9", "type": "function", "function": {"name": "look_up", "arguments": '{"ord'}}
        deltas = [
            {"tool_calls": [first]},
            {"tool_calls": [{"index": 0, "function": {"arguments": 'er": "A-1"}'}}]},
        ]
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**chunk, "choices": [], "usage": usage})
    return "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"


def response(request):
    text = {"type": "output_text", "text": "hello", "annotations": []}
    output = [{"type": "message", "id": "i", "status": "completed", "role": "assistant", "content": [text]}]
    if request.get("tools"):
        output = [{"type": "function_call", "call_id": "call_9", "name": "look_up", "arguments": '{"order": "A-1"}'}]
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    return {"id": "r", "object": "response", "model": "m", "status": "completed", "output": output, "usage": usage}


def message(request):
    usage = {"input_tokens": 3, "output_tokens": 2}
    block = {"type": "text", "text": "hello"}
    if request.get("tools"):
        block = {"type": "tool_use", "id": "tu_9", "name": "look_up", "input": {"order": "A-1"}}
    whole = {"id": "a", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    if not request.get("stream"):
        return {**whole, "content": [block], "stop_reason": "end_turn"}
    deltas = [{"type": "text_delta", "text": text} for text in ("he", "llo")]
    empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
    if request.get("tools"):
        deltas = [{"type": "input_json_delta", "partial_json": text} for text in ('{"ord', 'er": "A-1"}')]
    events = [
        {"type": "message_start", "message": {**whole, "content": [], "usage": {"input_tokens": 3, "output_tokens": 0}}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


class Server(http.server.BaseHTTPRequestHandler):
    asked = 0

    def do_POST(self):
        Server.asked += 1
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = {"/v1/chat/completions": chat, "/v1/responses": response}.get(self.path, message)(request)
        stream = isinstance(answer, str)
        body = (answer if stream else json.dumps(answer)).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if stream else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        cls.address = f"http://127.0.0.1:{cls.server.server_port}"
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.jsonl")

    def check(self, agent, calls):
        expected = ["hello"] * (calls // 2) + [{"order": "A-1"}] * (calls // 2)
        with auto_sdk.trace("toy", path=self.path):
            self.assertEqual(agent(), expected)
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        for random in ("sk-none", "call_9", "tu_9"):
            self.assertNotIn(random, text)
        spans = [line for line in map(json.loads, text.splitlines()) if line["t"] == "span"]
        told = [(span["kind"], span["name"], span["attrs"]["tokens"], span["output"]) for span in spans]
        said = [one if isinstance(one, str) else SAID for one in expected]
        self.assertEqual(told, [("model_call", "m", "5", one) for one in said])
        # Streamed or not, the question is the same.
        self.assertEqual(spans[0]["input"], spans[1]["input"])
        before = Server.asked
        with auto_sdk.replay(self.path, complete=True), auto_sdk.trace("toy"):
            self.assertEqual(agent(), expected)
        self.assertEqual(Server.asked, before)

    @unittest.skipUnless(importlib.util.find_spec("openai"), "openai is not installed")
    def test_openai_whole_and_streamed_with_and_without_tools(self):
        import openai

        def agent():
            seen = []
            with openai.OpenAI(api_key="sk-none", base_url=self.address + "/v1", max_retries=0) as bare:
                client = auto_sdk.openai(bare)
                for tools in ({}, {"tools": [{"type": "function", "function": {**TOOL, "parameters": {}}}]}):
                    request = {"model": "m", "messages": MESSAGES, **tools}
                    said = client.chat.completions.create(**request).choices[0].message
                    seen.append(json.loads(said.tool_calls[0].function.arguments) if tools else said.content)
                    text = ""
                    stream = client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **request)
                    for event in stream:
                        for choice in event.choices:
                            delta = choice.delta
                            text += delta.content or "".join(call.function.arguments for call in delta.tool_calls or [])
                    seen.append(json.loads(text) if tools else text)
                    asked = {"tools": [{"type": "function", **TOOL, "parameters": {}, "strict": False}]} if tools else {}
                    item = client.responses.create(model="m", input="Where is A-1?", **asked).output[0]
                    seen.append(json.loads(item.arguments) if tools else item.content[0].text)
            return seen

        self.check(agent, 6)

    @unittest.skipUnless(importlib.util.find_spec("openai"), "openai is not installed")
    def test_the_asynchronous_client(self):
        import openai

        async def ask():
            seen = []
            async with openai.AsyncOpenAI(api_key="sk-none", base_url=self.address + "/v1", max_retries=0) as bare:
                client = auto_sdk.openai(bare)
                for tools in ({}, {"tools": [{"type": "function", "function": {**TOOL, "parameters": {}}}]}):
                    request = {"model": "m", "messages": MESSAGES, **tools}
                    said = (await client.chat.completions.create(**request)).choices[0].message
                    seen.append(json.loads(said.tool_calls[0].function.arguments) if tools else said.content)
                    text = ""
                    async for event in await client.chat.completions.create(
                        stream=True, stream_options={"include_usage": True}, **request
                    ):
                        for choice in event.choices:
                            delta = choice.delta
                            text += delta.content or "".join(call.function.arguments for call in delta.tool_calls or [])
                    seen.append(json.loads(text) if tools else text)
            return seen

        self.check(lambda: asyncio.run(ask()), 4)

    @unittest.skipUnless(importlib.util.find_spec("anthropic"), "anthropic is not installed")
    def test_anthropic_whole_and_streamed_with_and_without_tools(self):
        import anthropic

        def agent():
            seen = []
            with anthropic.Anthropic(api_key="sk-none", base_url=self.address, max_retries=0) as bare:
                client = auto_sdk.anthropic(bare)
                for tools in ({}, {"tools": [{**TOOL, "input_schema": {"type": "object"}}]}):
                    request = {"model": "m", "max_tokens": 9, "messages": MESSAGES, **tools}
                    block = client.messages.create(**request).content[0]
                    seen.append(block.input.model_dump() if hasattr(block.input, "model_dump") else block.input) if tools else (
                        seen.append(block.text)
                    )
                    text = ""
                    for event in client.messages.create(stream=True, **request):
                        if event.type == "content_block_delta":
                            text += event.delta.text if event.delta.type == "text_delta" else event.delta.partial_json
                    seen.append(json.loads(text) if tools else text)
            return seen

        self.check(agent, 4)

    @unittest.skipUnless(importlib.util.find_spec("openai"), "openai is not installed")
    def test_a_stream_that_is_left_is_an_error_and_so_is_a_server_that_is_not_there(self):
        import openai

        with auto_sdk.trace("toy", path=self.path):
            with openai.OpenAI(api_key="sk-none", base_url=self.address + "/v1", max_retries=0) as bare:
                with auto_sdk.openai(bare).chat.completions.create(model="m", messages=MESSAGES, stream=True) as stream:
                    next(iter(stream))
            with openai.OpenAI(api_key="sk-none", base_url="http://127.0.0.1:9/v1", max_retries=0) as bare:
                for stream in (False, True):
                    with self.assertRaises(openai.APIConnectionError):
                        auto_sdk.openai(bare).chat.completions.create(model="m", messages=MESSAGES, stream=stream)
        with open(self.path, encoding="utf-8") as file:
            errors = [line.get("error") or "" for line in map(json.loads, file) if line["t"] == "span"]
        self.assertIn("left the stream", errors[0])
        self.assertTrue(all("APIConnectionError" in error for error in errors[1:]) and len(errors) == 3, errors)


if __name__ == "__main__":
    unittest.main()
