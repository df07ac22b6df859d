"""An agent that knows nothing of Auto: the official OpenAI client, a tool, streamed or whole."""

import os
import sys

from openai import OpenAI

client = OpenAI(api_key="sk-proj-" + "c0ffee" * 8)
ORDERS = ["A-17", "B-4", "C-9", "D-23", "E-5", "F-71"]
TOOLS = [{"type": "function", "function": {"name": "lookup", "parameters": {"type": "object", "properties": {"order": {"type": "string"}}}}}]


def ask(messages, stream):
    answer = client.chat.completions.create(model="m", messages=messages, tools=TOOLS, temperature=0, stream=stream)
    if not stream:
        return answer.choices[0].message.model_dump(exclude_none=True)
    text, calls = "", []
    for chunk in answer:
        delta = chunk.choices[0].delta
        text += delta.content or ""
        for call in delta.tool_calls or []:
            if call.index == len(calls):
                calls.append({"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": ""}})
            calls[call.index]["function"]["arguments"] += call.function.arguments or ""
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


for number in range(int(sys.argv[1])):
    order = ORDERS[number % 6]
    messages = [{"role": "system", "content": f"Day {number}."}, {"role": "user", "content": f"Where is {order}?"}]
    message = ask(messages, number < 6)
    call = message["tool_calls"][0]
    messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": "in hall " + order[0]}]
    print(ask(messages, number >= 6)["content"])
