"""One call of an OpenAI-style chat endpoint, recorded as a model call."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, List, Optional

from ._operations import _absent, model_call


class ModelError(Exception):
    """The endpoint did not answer as it should."""


def openai_chat(
    base_url: str,
    model: str,
    messages: List[Dict[str, Any]],
    *,
    input: Any = _absent,
    json_output: bool = False,
    api_key: Optional[str] = None,
    timeout: float = 60.0,
    cost_usd_micros: Optional[Callable[[Dict[str, Any]], int]] = None,
    **parameters: Any,
) -> Any:
    """Posts to ``base_url`` + ``/chat/completions`` and returns the answer.

    The answer is the message's text; parsed, with ``json_output``; or, where the model
    calls tools, ``{"content", "tool_calls": [{"name", "arguments"}]}`` with parsed
    arguments and without the random call ids.

    Recorded is a model call named ``model``. Its input is ``input``, what the decision
    depends on, or else the messages and parameters. ``tokens`` comes from the endpoint's
    usage, the cost from ``cost_usd_micros(usage)``. The key is ``api_key`` or
    ``$OPENAI_API_KEY`` and is never recorded.
    """
    if input is _absent:
        input = {"messages": messages, **parameters}
    with model_call(model, input) as call:
        if call.replayed:
            return call.output
        request = {"model": model, "messages": messages, **parameters}
        reply = _post(base_url.rstrip("/") + "/chat/completions", request, api_key, timeout)
        usage = reply.get("usage") or {}
        if isinstance(usage.get("total_tokens"), int):
            call.tokens = usage["total_tokens"]
        if cost_usd_micros is not None:
            call.cost_usd_micros = cost_usd_micros(usage)
        call.output = _answer(reply, json_output)
        return call.output


def _post(url: str, body: Dict[str, Any], api_key: Optional[str], timeout: float) -> Dict[str, Any]:
    if not url.startswith(("http://", "https://")):
        raise ModelError(f"{url} is no http or https address")
    headers = {"Content-Type": "application/json"}
    key = api_key or os.environ.get("OPENAI_API_KEY")
    if key:
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(url, json.dumps(body).encode("utf-8"), headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            reply = json.loads(response.read())
    except urllib.error.HTTPError as error:
        told = error.read(500).decode("utf-8", "replace")
        raise ModelError(f"{url} answered {error.code}: {told}") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{url} did not answer: {error}") from error
    if not isinstance(reply, dict):
        raise ModelError(f"{url} did not answer with an object")
    return reply


def _answer(reply: Dict[str, Any], json_output: bool) -> Any:
    try:
        message = reply["choices"][0]["message"]
        calls = message.get("tool_calls")
        if calls:
            return {"content": message.get("content"), "tool_calls": [_tool_call(call["function"]) for call in calls]}
        content = message["content"]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ModelError(f"the reply has no message: {json.dumps(reply)[:300]}") from error
    if not json_output:
        return content
    try:
        return json.loads(content)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the model was to answer in JSON and said {content!r:.300}") from error


def _tool_call(function: Dict[str, Any]) -> Dict[str, Any]:
    arguments = function.get("arguments")
    try:
        # Models do write arguments that are no JSON; then the text is what they called with.
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        pass
    return {"name": function["name"], "arguments": arguments}
