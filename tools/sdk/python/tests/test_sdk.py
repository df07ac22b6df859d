"""What the SDK records, what it refuses, and how it replays."""

import asyncio
import hashlib
import http.server
import json
import math
import os
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import auto_sdk  # noqa: E402


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.jsonl")
        for name in ("AUTO_TRACE_FILE", "AUTO_REPLAY_FILE"):
            os.environ.pop(name, None)

    def lines(self):
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.endswith("\n"))
        return [json.loads(line) for line in text.splitlines()]

    def spans(self):
        """The spans in order of opening, checked against the rules of the format."""
        header, *rest = self.lines()
        self.assertEqual(header["t"], "trace")
        spans = sorted((line for line in rest if line["t"] == "span"), key=lambda span: span["seq"])
        opened = set()
        for span in spans:
            self.assertEqual((span["v"], span["trace_id"]), (0, header["trace_id"]))
            self.assertIn(span["parent_span_id"], opened | {None})
            self.assertNotIn(span["span_id"], opened)
            opened.add(span["span_id"])
            self.assertTrue(all(isinstance(value, str) for value in span["attrs"].values()))
        return spans


class Recording(Case):
    def test_a_run_in_the_wire_format(self):
        @auto_sdk.tool_call("lookup")
        def lookup(text, limit=3):
            return {"n": len(text), "limit": limit}

        with auto_sdk.trace("toy", {"doc": "x"}, {"who": "me"}, self.path) as run:
            with auto_sdk.span("run"):
                with auto_sdk.model_call("m", {"prompt": "p"}) as call:
                    call.output, call.tokens, call.cost_usd_micros = "answer", 7, 12
                    call.attrs["note"] = "n"
                self.assertEqual(lookup("abc"), {"n": 3, "limit": 3})
                self.assertTrue(auto_sdk.branch("long", {"n": 3}, True))
                with auto_sdk.memory_op("append", {"key": "k"}):
                    pass
            run.task_output([1, 2.5, None])
        header, *rest = self.lines()
        self.assertEqual(set(header), {"v", "t", "trace_id", "task", "started_at_ms", "sdk", "attrs", "task_input"})
        self.assertEqual((header["v"], header["task"], header["task_input"]), (0, "toy", {"doc": "x"}))
        self.assertRegex(header["trace_id"], "^[0-9a-f]{32}$")
        self.assertEqual(header["attrs"]["who"], "me")
        self.assertEqual(header["started_at_ms"], int(header["attrs"]["started_at_us"]) // 1000)
        self.assertEqual(set(rest[-1]), {"v", "t", "trace_id", "output", "recorded_at_ms"})
        self.assertEqual(rest[-1]["output"], [1, 2.5, None])
        spans = self.spans()
        shown = [(span["kind"], span["name"], span["input"], span["output"]) for span in spans]
        self.assertEqual(
            shown,
            [
                ("span", "run", {}, None),
                ("model_call", "m", {"prompt": "p"}, "answer"),
                ("tool_call", "lookup", {"text": "abc", "limit": 3}, {"n": 3, "limit": 3}),
                ("branch", "long", {"n": 3}, True),
                ("memory_op", "append", {"key": "k"}, None),
            ],
        )
        self.assertEqual([span["parent_span_id"] for span in spans], [None, 1, 1, 1, 1])
        fields = {"v", "t", "trace_id", "span_id", "parent_span_id", "seq", "kind", "name", "input", "output", "error"}
        self.assertTrue(all(set(span) == fields | {"started_at_ms", "duration_ms", "attrs"} for span in spans))
        attrs = spans[1]["attrs"]
        self.assertEqual((attrs["tokens"], attrs["cost_usd_micros"], attrs["note"]), ("7", "12", "n"))
        self.assertEqual(spans[1]["duration_ms"], int(attrs["duration_us"]) // 1000)

    def test_lines_are_written_at_close_and_inputs_taken_at_open(self):
        with auto_sdk.trace("toy", path=self.path):
            given = {"items": [1]}
            with auto_sdk.tool_call("t", given) as call:
                self.assertEqual(len(self.lines()), 1)
                given["items"].append(2)
                call.output = given
            self.assertEqual(len(self.lines()), 2)
        (span,) = self.spans()
        self.assertEqual((span["input"], span["output"]), ({"items": [1]}, {"items": [1, 2]}))

    def test_microseconds(self):
        with auto_sdk.trace("toy", path=self.path):
            with auto_sdk.tool_call("nap", {}):
                time.sleep(0.003)
        self.assertGreaterEqual(int(self.spans()[0]["attrs"]["duration_us"]), 3000)

    def test_errors_are_recorded_and_raised(self):
        @auto_sdk.tool_call("fails")
        def fails():
            raise ValueError("no such thing \ud800")

        with auto_sdk.trace("toy", path=self.path):
            with self.assertRaises(ValueError):
                fails()
        (span,) = self.spans()
        self.assertEqual((span["output"], span["error"]), (None, "ValueError: no such thing ?"))

    def test_environment_values_are_not_recorded(self):
        os.environ["AUTO_SDK_TEST"] = "s3cret-ä"
        self.addCleanup(os.environ.pop, "AUTO_SDK_TEST")
        with auto_sdk.trace("toy", path=self.path):
            self.assertEqual(auto_sdk.env_read("AUTO_SDK_TEST"), "s3cret-ä")
            self.assertIsNone(auto_sdk.env_read("AUTO_SDK_ABSENT"))
            self.assertEqual(auto_sdk.env_read("file", b"\xff"), b"\xff")
        with open(self.path, "rb") as file:
            self.assertNotIn(b"s3cret", file.read())
        digest = hashlib.sha256("s3cret-ä".encode()).hexdigest()
        outputs = [span["output"] for span in self.spans()]
        self.assertEqual(outputs[:2], [{"sha256": digest, "length": 9}, None])
        self.assertEqual(outputs[2]["length"], 1)

    def test_what_json_cannot_hold_is_refused_with_its_place(self):
        endless = []
        endless.append(endless)
        cases = [
            ({"a": [math.nan]}, "input of tool_call t.a[0]"),
            (math.inf, "inf"),
            (10**38, "38 digits"),
            ({1: 2}, "key 1"),
            ({"a": {1, 2}}, "set"),
            ("\ud800", "surrogate"),
            ({"\ud800": 1}, "surrogate"),
            (endless, "nested"),
            (object(), "object"),
        ]
        with auto_sdk.trace("toy", path=self.path):
            for value, word in cases:
                with self.assertRaisesRegex(auto_sdk.RecordingError, word.replace("[", r"\[")):
                    with auto_sdk.tool_call("t", value):
                        self.fail("entered")
            with self.assertRaisesRegex(auto_sdk.RecordingError, "output of tool_call t"):
                with auto_sdk.tool_call("t", 10**38 - 1) as call:
                    call.output = -math.inf
            for attribute in ({"tokens": "1"}, {"n": 1}):
                with self.assertRaises(auto_sdk.RecordingError):
                    with auto_sdk.tool_call("t", 1) as call:
                        call.attrs.update(attribute)
            with self.assertRaises(auto_sdk.RecordingError):
                with auto_sdk.tool_call("t", 1) as call:
                    call.tokens = 1.5
        # Such operations did happen: they are there, as failed.
        self.assertEqual([span["error"] is None for span in self.spans()], [False] * 4)

    def test_a_task_output_is_declared_once_and_says_something(self):
        with auto_sdk.trace("toy", path=self.path) as run:
            for bad in (None, math.nan):
                with self.assertRaises(auto_sdk.RecordingError):
                    run.task_output(bad)
            auto_sdk.task_output(0)
            with self.assertRaisesRegex(auto_sdk.RecordingError, "before"):
                run.task_output(0)
        self.assertEqual([line["t"] for line in self.lines()], ["trace", "task_output"])

    def test_a_file_holds_one_trace(self):
        os.environ["AUTO_TRACE_FILE"] = self.path
        self.addCleanup(os.environ.pop, "AUTO_TRACE_FILE")
        with auto_sdk.trace("toy"):
            with self.assertRaisesRegex(auto_sdk.RecordingError, "one at a time"):
                with auto_sdk.trace("toy"):
                    pass
        with self.assertRaisesRegex(auto_sdk.RecordingError, "holds a trace already"):
            with auto_sdk.trace("toy"):
                pass
        self.assertEqual(len(self.lines()), 1)
        with self.assertRaisesRegex(auto_sdk.RecordingError, "No such file"):
            with auto_sdk.trace("toy", path=os.path.join(self.path + ".d", "x")):
                pass

    def test_without_a_file_the_agent_just_runs(self):
        @auto_sdk.model_call("m")
        def ask(prompt):
            return {prompt}

        self.assertEqual(ask("p"), {"p"})
        with auto_sdk.trace("toy"):
            self.assertEqual(ask(math.nan).__len__(), 1)
            auto_sdk.task_output(1)

    def test_misuse_is_told(self):
        with self.assertRaises(TypeError):
            auto_sdk.tool_call(lambda: None)
        with self.assertRaises(TypeError):
            with auto_sdk.tool_call("t"):
                pass
        with self.assertRaises(TypeError):
            auto_sdk.tool_call("t", 1)(len)

        def numbers():
            yield 1

        with self.assertRaises(TypeError):
            auto_sdk.tool_call("t")(numbers)
        with auto_sdk.trace("toy", path=self.path):
            operation = auto_sdk.tool_call("t", 1)
            with operation:
                with self.assertRaises(RuntimeError):
                    operation.__enter__()

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_process_cannot_write_into_the_trace(self):
        with auto_sdk.trace("toy", path=self.path):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    with auto_sdk.tool_call("t", 1):
                        pass
                except auto_sdk.RecordingError:
                    status = 0
                finally:
                    os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(self.spans(), [])


class Concurrency(Case):
    def test_threads(self):
        @auto_sdk.tool_call("inner")
        def inner(n):
            return n

        def worker(n):
            with auto_sdk.span("worker", {"n": n}):
                for _ in range(20):
                    inner(n)

        with auto_sdk.trace("toy", path=self.path):
            with auto_sdk.span("all"):
                threads = [threading.Thread(target=auto_sdk.bound(worker), args=(n,)) for n in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        spans = self.spans()
        self.assertEqual(len(spans), 1 + 8 + 160)
        by_id = {span["span_id"]: span for span in spans}
        for span in spans:
            parent = by_id.get(span["parent_span_id"], {"name": None, "input": None})
            expected = {"all": None, "worker": "all", "inner": "worker"}[span["name"]]
            self.assertEqual(parent["name"], expected)
            if span["name"] == "inner":
                self.assertEqual(parent["input"], span["input"])

    def test_a_thread_by_itself_has_no_enclosing_span(self):
        with auto_sdk.trace("toy", path=self.path):
            with auto_sdk.span("all"):
                thread = threading.Thread(target=lambda: auto_sdk.branch("b", 1, 2))
                thread.start()
                thread.join()
        self.assertEqual([span["parent_span_id"] for span in self.spans()], [None, None])

    def test_asyncio_tasks(self):
        @auto_sdk.tool_call("inner")
        async def inner(n):
            await asyncio.sleep(0.001 * (n % 3))
            return n

        @auto_sdk.span("worker")
        async def worker(n):
            await inner(n)
            return await inner(n)

        async def agent():
            with auto_sdk.span("all"):
                return await asyncio.gather(*(worker(n) for n in range(10)))

        with auto_sdk.trace("toy", path=self.path):
            self.assertEqual(asyncio.run(agent()), list(range(10)))
        spans = self.spans()
        by_id = {span["span_id"]: span for span in spans}
        inners = [span for span in spans if span["name"] == "inner"]
        self.assertEqual(len(inners), 20)
        parents = {}
        for span in inners:
            parent = by_id[span["parent_span_id"]]
            self.assertEqual((parent["name"], by_id[parent["parent_span_id"]]["name"]), ("worker", "all"))
            parents.setdefault(parent["span_id"], set()).add(span["input"]["n"])
        self.assertTrue(all(len(inputs) == 1 for inputs in parents.values()))


class Replaying(Case):
    def record(self, agent, *arguments, **options):
        with auto_sdk.trace("toy", path=self.path, **options):
            return agent(*arguments)

    def test_recordings_answer_and_the_functions_do_not_run(self):
        live = []

        @auto_sdk.model_call("m", input_of=lambda prompt, temperature: {"prompt": prompt})
        def ask(prompt, temperature):
            live.append(prompt)
            return prompt.upper()

        def agent(order=("a", "b", "a")):
            answers = [ask(prompt, 0.5) for prompt in order]
            auto_sdk.branch("n", {}, len(answers))
            with auto_sdk.memory_op("append", {"k": 1}) as call:
                if not call.replayed:
                    live.append("memory")
                    call.output = [1]
                answers.append(call.output)
            auto_sdk.task_output(answers)
            return answers

        recorded = self.record(agent, task_input=[1])
        self.assertEqual(live, ["a", "b", "a", "memory"])
        with auto_sdk.replay(self.path, complete=True):
            with auto_sdk.trace("toy", [1]):
                self.assertEqual(agent(), recorded)
        self.assertEqual(len(live), 4)
        os.environ["AUTO_REPLAY_FILE"] = self.path
        self.addCleanup(os.environ.pop, "AUTO_REPLAY_FILE")
        with auto_sdk.trace("toy", [1]) as session:
            self.assertEqual(agent(), recorded)
            session.check_complete()
        for task, given in (("other", [1]), ("toy", [2]), ("toy", None)):
            with self.assertRaises(auto_sdk.DivergenceError):
                with auto_sdk.trace(task, given):
                    pass

    def test_what_was_not_recorded_diverges(self):
        @auto_sdk.tool_call("t")
        def tool(n):
            return n

        self.record(lambda: [tool(1), auto_sdk.branch("b", {}, "left"), auto_sdk.task_output(1)])
        with auto_sdk.replay(self.path) as session:
            for attempt in (lambda: tool(2), lambda: tool(1.0), lambda: auto_sdk.branch("b", {"n": 1}, "left")):
                with self.assertRaisesRegex(auto_sdk.DivergenceError, "no recording is left"):
                    attempt()
            with self.assertRaisesRegex(auto_sdk.DivergenceError, "right"):
                auto_sdk.branch("b", {}, "right")
            with self.assertRaisesRegex(auto_sdk.DivergenceError, "task output"):
                auto_sdk.task_output(2)
            self.assertEqual([one.name for one in session.leftovers()], ["t"])
            tool(1)
            with self.assertRaisesRegex(auto_sdk.DivergenceError, "no recording is left"):
                tool(1)

    def test_leftovers_raise_only_where_asked(self):
        @auto_sdk.tool_call("t")
        def tool(n):
            return n

        self.record(lambda: [tool(1), tool(2)])
        with auto_sdk.replay(self.path) as session:
            tool(2)
            self.assertEqual([one.input_json for one in session.leftovers()], ['{"n":1}'])
        with self.assertRaisesRegex(auto_sdk.DivergenceError, '1 recorded operations.*"n":1'):
            with auto_sdk.replay(self.path, complete=True):
                tool(2)

    def test_what_happened_inside_an_answered_call_is_not_missing(self):
        @auto_sdk.tool_call("inner")
        def inner():
            return 1

        @auto_sdk.tool_call("outer")
        def outer():
            return inner() + 1

        self.record(outer)
        with auto_sdk.replay(self.path, complete=True):
            self.assertEqual(outer(), 2)

    def test_recorded_errors_are_raised(self):
        @auto_sdk.tool_call("t")
        def tool():
            raise KeyError("gone")

        def agent():
            try:
                return tool()
            except (KeyError, auto_sdk.ReplayedError) as error:
                return str(error)

        self.record(agent)
        with auto_sdk.replay(self.path, complete=True):
            self.assertEqual(agent(), "KeyError: 'gone'")

    def test_the_environment_stays_live_and_is_checked(self):
        os.environ["AUTO_SDK_TEST"] = "one"
        self.addCleanup(os.environ.pop, "AUTO_SDK_TEST")
        self.record(lambda: auto_sdk.env_read("AUTO_SDK_TEST"))
        with auto_sdk.replay(self.path, complete=True):
            self.assertEqual(auto_sdk.env_read("AUTO_SDK_TEST"), "one")
        os.environ["AUTO_SDK_TEST"] = "two"
        with auto_sdk.replay(self.path):
            with self.assertRaises(auto_sdk.DivergenceError):
                auto_sdk.env_read("AUTO_SDK_TEST")

    def test_equal_calls_in_different_spans_are_not_mixed_up(self):
        counter = iter(range(1000))

        @auto_sdk.model_call("m")
        async def ask():
            return next(counter)

        async def worker(n, wait):
            with auto_sdk.span("worker", {"n": n}):
                await asyncio.sleep(wait)
                return [await ask(), await ask()]

        async def agent(waits):
            return await asyncio.gather(*(worker(n, wait) for n, wait in enumerate(waits)))

        recorded = self.record(lambda: asyncio.run(agent([0, 0.02, 0.04])))
        with auto_sdk.replay(self.path, complete=True):
            self.assertEqual(asyncio.run(agent([0.04, 0.02, 0])), recorded)

    def test_threads_replay_in_any_order(self):
        @auto_sdk.tool_call("double")
        def double(n):
            return 2 * n

        def agent(order):
            results = {}
            threads = [threading.Thread(target=lambda n=n: results.update({n: [double(n) for _ in range(5)]})) for n in order]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return results

        recorded = self.record(agent, range(16))
        for _ in range(5):
            with auto_sdk.replay(self.path, complete=True):
                self.assertEqual(agent(reversed(range(16))), recorded)

    def test_what_is_no_trace_is_told(self):
        for text in ("", "{", "[]", '{"v":1,"t":"trace","task":"t"}', '{"v":0,"t":"span"}'):
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(text)
            with self.assertRaisesRegex(auto_sdk.RecordingError, "run.jsonl"):
                with auto_sdk.replay(self.path):
                    pass
        with self.assertRaises(auto_sdk.RecordingError):
            with auto_sdk.replay(self.path + ".absent"):
                pass


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Answers with the last message in capitals, in JSON where asked."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, self.headers.get("Authorization"), request))
        text = request["messages"][-1]["content"]
        message = {"role": "assistant", "content": text.upper()}
        if text == "call":
            call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"b": 1}'}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        if text == "json":
            message["content"] = '{"ok": true}'
        body = {"choices": [{"message": message}], "usage": {"total_tokens": 9}}
        status = 500 if text == "fail" else 200
        data = json.dumps({} if text == "empty" else body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments):
        pass


class Chat(Case):
    def setUp(self):
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        self.server.seen = []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/"
        os.environ.pop("OPENAI_API_KEY", None)

    def ask(self, text, **options):
        return auto_sdk.openai_chat(self.url, "m-1", [{"role": "user", "content": text}], **options)

    def test_an_answer_is_a_model_call(self):
        price = {"cost_usd_micros": lambda usage: 2 * usage["total_tokens"]}
        with auto_sdk.trace("toy", path=self.path):
            self.assertEqual(self.ask("hi", temperature=0, api_key="sk-hidden", **price), "HI")
            self.assertEqual(self.ask("json", input={"doc": 1}, json_output=True), {"ok": True})
            called = {"content": None, "tool_calls": [{"name": "f", "arguments": {"b": 1}}]}
            self.assertEqual(self.ask("call"), called)
        first, second, third = self.spans()
        self.assertEqual((first["kind"], first["name"], first["output"]), ("model_call", "m-1", "HI"))
        self.assertEqual(first["input"], {"messages": [{"role": "user", "content": "hi"}], "temperature": 0})
        self.assertEqual((first["attrs"]["tokens"], first["attrs"]["cost_usd_micros"]), ("9", "18"))
        self.assertEqual((second["input"], second["output"], third["output"]), ({"doc": 1}, {"ok": True}, called))
        path, key, request = self.server.seen[0]
        self.assertEqual((path, key), ("/v1/chat/completions", "Bearer sk-hidden"))
        self.assertEqual((request["model"], request["temperature"]), ("m-1", 0))
        with open(self.path, encoding="utf-8") as file:
            self.assertNotIn("sk-hidden", file.read())
        with auto_sdk.replay(self.path):
            self.assertEqual(self.ask("hi", temperature=0), "HI")
        self.assertEqual(len(self.server.seen), 3)

    def test_failures_are_recorded_errors(self):
        with auto_sdk.trace("toy", path=self.path):
            for text, word, options in (("fail", "500", {}), ("empty", "no message", {}), ("x", "JSON", {"json_output": True})):
                with self.assertRaisesRegex(auto_sdk.ModelError, word):
                    self.ask(text, **options)
            for url in ("file:///etc/passwd", "http://127.0.0.1:9"):
                with self.assertRaises(auto_sdk.ModelError):
                    auto_sdk.openai_chat(url, "m", [])
        self.assertTrue(all(span["error"].startswith("ModelError: ") for span in self.spans()))


if __name__ == "__main__":
    unittest.main()
