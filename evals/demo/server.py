"""A language model that is not one: an OpenAI chat-completions endpoint on loopback.

It answers support tickets by the policy in policy.md, which is written out in `decide`
below, so that the demo and its tests need no account and no network. It is reached over
HTTP like any model, takes THINK_SECONDS a call, and counts its calls. The compiler never
sees this file: it sees what the agent recorded.

    python3 server.py        prints {"port": N}, serves until its stdin is closed
    GET  /calls              {"calls": N}
    POST /v1/chat/completions
"""

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What a call takes, beside the HTTP. Frontier models take some hundred times as long.
THINK_SECONDS = 0.02
QUEUES = [("refund", "returns"), ("invoice", "billing"), ("password", "accounts")]
PRIORITIES = [(1000, "urgent"), (250, "high")]


def decide(ticket):
    """The policy: one ticket in, one decision out."""
    subject = ticket["subject"].lower()
    numbers = re.findall(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)+", ticket["body"])
    reference = next((number for number in numbers if re.search(r"[0-9]", number)), "")
    return {
        "priority": next((name for least, name in PRIORITIES if ticket["amount"] >= least), "normal"),
        "queue": next((queue for word, queue in QUEUES if word in subject), "support"),
        "reference": reference,
        "reply": f"Dear {ticket['customer']}, we are looking into {reference} and will write to you soon.",
    }


def complete(request):
    """A chat-completions response to a chat-completions request."""
    question = request["messages"][-1]["content"]
    answer = json.dumps(decide(json.loads(question)), ensure_ascii=False)
    prompt = sum(len(message["content"]) for message in request["messages"]) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": len(answer) // 4}
    usage["total_tokens"] = sum(usage.values())
    message = {"role": "assistant", "content": answer}
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.get("model", "policy"),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
    }


class Handler(BaseHTTPRequestHandler):
    """The two routes."""

    protocol_version = "HTTP/1.1"
    calls = 0
    lock = threading.Lock()

    def do_GET(self):
        if self.path == "/calls":
            self.reply(200, {"calls": Handler.calls})
        else:
            self.reply(404, {"error": {"message": f"no such route: {self.path}"}})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/v1/chat/completions":
            self.reply(404, {"error": {"message": f"no such route: {self.path}"}})
            return
        try:
            response = complete(json.loads(body))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.reply(400, {"error": {"message": f"not a ticket: {error}", "type": "invalid_request_error"}})
            return
        with Handler.lock:
            Handler.calls += 1
        time.sleep(THINK_SECONDS)
        self.reply(200, response)

    def reply(self, status, value):
        body = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *arguments):
        """Quiet: the demo narrates."""


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": server.server_port}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
