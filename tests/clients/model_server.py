"""A model on this machine that speaks OpenAI's and Anthropic's interfaces: asks for a tool, and
sorts a ticket by the order in it. Whole and streamed. Prints its port."""

import http.server
import json
import re
import sys


def decide(messages):
    """What the model says to the last message: a call of a tool, or text."""
    last = messages[-1]
    if last["role"] == "tool":
        return {"role": "assistant", "content": "The order is " + last["content"] + "."}, "stop"
    text = last["content"]
    order = re.search(r"[A-Z]-\d+", text).group(0)
    call = {"name": "lookup", "arguments": json.dumps({"order": order})}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{id(call)}", "type": "function", "function": call}]}, "tool_calls"


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"data": [{"id": "m"}], "path": self.path, "header": self.headers.get("X-Own")}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Model.asked += 1
        message, finish = decide(request["messages"])
        head = {"id": f"chatcmpl-{Model.asked}", "created": 1749209493, "model": request["model"]}
        usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        self.send_response(200)
        if request.get("stream"):
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in self.events(head, message, finish):
                self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
            return
        choice = {"index": 0, "message": message, "finish_reason": finish}
        body = json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self, head, message, finish):
        deltas = [{"role": "assistant", "content": None if message.get("tool_calls") else ""}]
        for call in message.get("tool_calls", []):
            name = {"name": call["function"]["name"], "arguments": ""}
            deltas.append({"tool_calls": [{"index": 0, "id": call["id"], "type": "function", "function": name}]})
            deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in call["function"]["arguments"]]
        deltas += [{"content": piece} for piece in message["content"] or ""]
        for delta, reason in [*((delta, None) for delta in deltas), ({}, finish)]:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            yield f"data: {json.dumps({**head, 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n".encode()
        yield b"data: [DONE]\n\n"


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


server = Server(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
sys.stdin.close()
server.serve_forever()
