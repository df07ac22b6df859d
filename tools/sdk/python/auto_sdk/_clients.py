"""The official clients of OpenAI and Anthropic, recorded.

Their calls go through as they are. Each is a model call named by its model, whose input is the
request and whose output is what was said: a text, or ``{"content", "tool_calls"}`` without the
random ids.
"""

from __future__ import annotations

import inspect
import json
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, TypeVar

from ._operations import model_call
from ._session import Call, current, open_call

Client = TypeVar("Client")

# What of a request is no part of the question.
_HOW = ("stream", "stream_options", "user", "metadata", "store", "extra_headers", "timeout")


class _Method(NamedTuple):
    """How to read a reply, join a stream of events, make a reply out of a recording, and make
    events of a reply. Replies and events are plain values here."""

    said: Callable[[Any], Any]
    joined: Callable[[List[Any]], Any]
    made: Callable[[Any, str], Any]
    told: Callable[[Any], List[Any]]


def openai(client: Client) -> Client:
    """The client of the package ``openai``, or its asynchronous one, recording
    ``chat.completions.create`` and ``responses.create``, streamed or not."""
    methods = {
        "chat.completions.create": _Method(_chat_said, _joined_chat, _made_chat, _chat_events),
        "responses.create": _Method(_response_said, _joined_response, _made_response, _response_events),
    }
    return _Recorded(client, methods, "")  # type: ignore[return-value]


def anthropic(client: Client) -> Client:
    """The client of the package ``anthropic``, or its asynchronous one, recording
    ``messages.create``, streamed or not."""
    methods = {"messages.create": _Method(_message_said, _joined_message, _made_message, _message_events)}
    return _Recorded(client, methods, "")  # type: ignore[return-value]


class _Recorded:
    """An object with some of its methods, named by their path, recorded."""

    def __init__(self, target: Any, methods: Dict[str, _Method], path: str) -> None:
        self._target, self._methods, self._path = target, methods, path

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        place = self._path + name
        if place in self._methods:
            return _wrapped(value, self._methods[place])
        inside = any(method.startswith(place + ".") for method in self._methods)
        return _Recorded(value, self._methods, place + ".") if inside else value


def _wrapped(create: Callable[..., Any], method: _Method) -> Callable[..., Any]:
    def question(request: Dict[str, Any]) -> Any:
        return {key: _plain(value) for key, value in request.items() if key != "model" and key not in _HOW}

    def call_client(**request: Any) -> Any:
        if request.get("stream"):
            return _streamed(create, method, request, question(request))
        with model_call(request["model"], question(request)) as call:
            if call.replayed:
                return _Reply(method.made(call.output, request["model"]))
            reply = create(**request)
            _keep(call, method, _plain(reply))
            return reply

    async def await_client(**request: Any) -> Any:
        if request.get("stream"):
            return await _streamed_async(create, method, request, question(request))
        with model_call(request["model"], question(request)) as call:
            if call.replayed:
                return _Reply(method.made(call.output, request["model"]))
            reply = await create(**request)
            _keep(call, method, _plain(reply))
            return reply

    return await_client if inspect.iscoroutinefunction(inspect.unwrap(create)) else call_client


def _keep(call: Call, method: _Method, reply: Any) -> None:
    usage = reply.get("usage") or {}
    total = usage.get("total_tokens")
    if total is None and usage:
        total = (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
    if isinstance(total, int):
        call.tokens = total
    call.output = method.said(reply)


class _Stream:
    """Events handed on one by one, recorded once they have ended. A stream that the agent leaves
    early is recorded as an error: what was said is not known."""

    def __init__(self, stream: Any, call: Call, method: _Method) -> None:
        self._stream, self._call, self._method = stream, call, method
        self._seen: List[Any] = []
        self._ended = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _end(self, error: Optional[BaseException]) -> None:
        if not self._ended:
            self._ended = True
            self._call.session.end(self._call, error)

    def _left(self) -> None:
        self._end(RuntimeError("the agent left the stream before its end"))

    def _whole(self) -> None:
        _keep(self._call, self._method, self._method.joined(self._seen))
        self._end(None)

    def __iter__(self) -> Any:
        try:
            for event in self._stream:
                self._seen.append(_plain(event))
                yield event
            self._whole()
        except Exception as error:
            self._end(error)
            raise
        finally:
            self._left()

    async def __aiter__(self) -> Any:
        try:
            async for event in self._stream:
                self._seen.append(_plain(event))
                yield event
            self._whole()
        except Exception as error:
            self._end(error)
            raise
        finally:
            self._left()

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self._left()
        self._stream.close()

    async def __aenter__(self) -> "_Stream":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._left()
        await self._stream.close()


class _Events:
    """A recorded stream, as one piece."""

    def __init__(self, events: Iterable[Any]) -> None:
        self._events = [_Reply(event) for event in events]

    def __iter__(self) -> Any:
        return iter(self._events)

    async def __aiter__(self) -> Any:
        for event in self._events:
            yield event

    def __enter__(self) -> "_Events":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    async def __aenter__(self) -> "_Events":
        return self

    async def __aexit__(self, *_: Any) -> None:
        pass


def _begun(method: _Method, request: Dict[str, Any], question: Any) -> Any:
    """An open model call, or the events of a recorded one."""
    call = current().begin("model_call", request["model"], question)
    if not call.replayed:
        return call
    call.session.end(call, None)
    return _Events(method.told(method.made(call.output, request["model"])))


def _streamed(create: Callable[..., Any], method: _Method, request: Dict[str, Any], question: Any) -> Any:
    call = _begun(method, request, question)
    if isinstance(call, _Events):
        return call
    token = open_call.set(call)
    try:
        return _Stream(create(**request), call, method)
    except BaseException as error:
        call.session.end(call, error)
        raise
    finally:
        open_call.reset(token)


async def _streamed_async(create: Callable[..., Any], method: _Method, request: Dict[str, Any], question: Any) -> Any:
    call = _begun(method, request, question)
    if isinstance(call, _Events):
        return call
    token = open_call.set(call)
    try:
        return _Stream(await create(**request), call, method)
    except BaseException as error:
        call.session.end(call, error)
        raise
    finally:
        open_call.reset(token)


def _plain(value: Any) -> Any:
    """A client's object as a plain value, without what is not there."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", exclude_none=True, warnings=False)
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


class _Reply:
    """A plain value with its members as attributes, as the objects of the clients have them."""

    def __init__(self, value: Dict[str, Any]) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _reply(self._value.get(name))

    def __getitem__(self, name: str) -> Any:
        return _reply(self._value[name])

    def __repr__(self) -> str:
        return f"replayed {self._value!r}"

    def model_dump(self, **_: Any) -> Any:
        """The plain value."""
        return self._value


def _reply(value: Any) -> Any:
    if isinstance(value, dict):
        return _Reply(value)
    return [_reply(item) for item in value] if isinstance(value, list) else value


def _said(content: Optional[str], calls: List[Dict[str, Any]]) -> Any:
    return {"content": content, "tool_calls": calls} if calls else content


def _parts(output: Any) -> Any:
    if isinstance(output, dict):
        return output.get("content"), output.get("tool_calls") or []
    return output, []


def _parsed(text: Any) -> Any:
    """Arguments as values; models do write some that are no JSON, which then are the text."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _chat_said(reply: Any) -> Any:
    message = reply["choices"][0]["message"]
    functions = [call["function"] for call in message.get("tool_calls") or []]
    calls = [{"name": function["name"], "arguments": _parsed(function.get("arguments"))} for function in functions]
    return _said(message.get("content"), calls)


def _joined_chat(events: List[Any]) -> Any:
    content: Optional[str] = None
    functions: Dict[int, Dict[str, str]] = {}
    usage = None
    for event in events:
        usage = event.get("usage") or usage
        delta = (event.get("choices") or [{}])[0].get("delta") or {}
        if isinstance(delta.get("content"), str):
            content = (content or "") + delta["content"]
        for part in delta.get("tool_calls") or []:
            function = functions.setdefault(part["index"], {"name": "", "arguments": ""})
            for key in function:
                function[key] += (part.get("function") or {}).get(key) or ""
    calls = [{"function": functions[at]} for at in sorted(functions)]
    return {"choices": [{"message": {"content": content, "tool_calls": calls}}], "usage": usage}


def _made_chat(output: Any, model: str) -> Any:
    content, calls = _parts(output)
    made = [
        {
            "id": f"replayed_{at}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for at, call in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop"}
    return {"id": "replayed", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}


def _chat_events(reply: Any) -> List[Any]:
    choice = reply["choices"][0]
    message = choice["message"]
    delta = {"role": "assistant", "content": message["content"]}
    if "tool_calls" in message:
        delta["tool_calls"] = [{"index": at, **call} for at, call in enumerate(message["tool_calls"])]

    def chunk(delta: Any, reason: Any) -> Any:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return {**reply, "object": "chat.completion.chunk", "choices": choices}

    return [chunk(delta, None), chunk({}, choice["finish_reason"])]


def _response_said(reply: Any) -> Any:
    items = reply.get("output") or []
    texts = [
        part["text"]
        for item in items
        if item.get("type") == "message"
        for part in item.get("content") or []
        if part.get("type") == "output_text"
    ]
    calls = [
        {"name": item["name"], "arguments": _parsed(item.get("arguments"))}
        for item in items
        if item.get("type") == "function_call"
    ]
    return _said("".join(texts) if texts else None, calls)


def _joined_response(events: List[Any]) -> Any:
    for event in events:
        if event.get("type") == "response.completed":
            return event["response"]
    raise ValueError("the stream of a response ended before it was completed")


def _made_response(output: Any, model: str) -> Any:
    content, calls = _parts(output)
    items: List[Any] = [
        {
            "type": "function_call",
            "call_id": f"replayed_{at}",
            "name": call["name"],
            "arguments": json.dumps(call["arguments"]),
        }
        for at, call in enumerate(calls)
    ]
    if content is not None:
        text = {"type": "output_text", "text": content, "annotations": []}
        items.insert(0, {"type": "message", "role": "assistant", "content": [text]})
    return {
        "id": "replayed",
        "object": "response",
        "model": model,
        "status": "completed",
        "output": items,
        "output_text": content or "",
    }


def _response_events(reply: Any) -> List[Any]:
    text = [{"type": "response.output_text.delta", "delta": reply["output_text"]}] if reply["output_text"] else []
    return [*text, {"type": "response.completed", "response": reply}]


def _message_said(reply: Any) -> Any:
    texts = [part["text"] for part in reply["content"] if part.get("type") == "text"]
    calls = [
        {"name": part["name"], "arguments": part.get("input")}
        for part in reply["content"]
        if part.get("type") == "tool_use"
    ]
    return _said("".join(texts) if texts else None, calls)


def _joined_message(events: List[Any]) -> Any:
    blocks: Dict[int, Dict[str, Any]] = {}
    written: Dict[int, str] = {}
    usage: Dict[str, Any] = {}
    for event in events:
        kind = event.get("type")
        if kind == "message_start":
            usage.update(event["message"].get("usage") or {})
        elif kind == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            delta = event["delta"]
            if delta.get("type") == "text_delta":
                blocks[event["index"]]["text"] = blocks[event["index"]].get("text", "") + delta["text"]
            elif delta.get("type") == "input_json_delta":
                written[event["index"]] = written.get(event["index"], "") + delta["partial_json"]
        elif kind == "message_delta":
            usage.update(event.get("usage") or {})
    for at, text in written.items():
        if text:
            blocks[at]["input"] = _parsed(text)
    return {"content": [blocks[at] for at in sorted(blocks)], "usage": usage}


def _made_message(output: Any, model: str) -> Any:
    content, calls = _parts(output)
    blocks: List[Any] = [
        {"type": "tool_use", "id": f"replayed_{at}", "name": call["name"], "input": call["arguments"]}
        for at, call in enumerate(calls)
    ]
    if content is not None:
        blocks.insert(0, {"type": "text", "text": content})
    reason = "tool_use" if calls else "end_turn"
    return {
        "id": "replayed",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": reason,
    }


def _message_events(reply: Any) -> List[Any]:
    events: List[Any] = [{"type": "message_start", "message": {**reply, "content": [], "stop_reason": None}}]
    for index, block in enumerate(reply["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            written = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": written}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": reply["stop_reason"]}, "usage": {}})
    return [*events, {"type": "message_stop"}]
