"""A server under load, with reloads, kills and tier 0: nothing that was answered may be lost.

    python3 evals/serve/soak.py AUTO_HOST SECONDS

Makes a folder of its own from tests/cli/fixtures. Four clients ask without pause, one input in ten
new to the artifact; every second another version takes the name, every ten the server is killed.
Ends with 1 where a reply is neither 200 nor cut off by a kill, or where an answer of tier 0 is not
in the store exactly once.
"""
import collections
import http.client
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

AGENT = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "ok": asked["input"]["text"].upper()}), flush=True)
"""
host, seconds = str(pathlib.Path(sys.argv[1]).resolve()), float(sys.argv[2])
fixtures = pathlib.Path(__file__).resolve().parents[2] / "tests/cli/fixtures"
folder = pathlib.Path(tempfile.mkdtemp(prefix="auto-soak-"))
for name in ["shout.jsonl", "shout.contract.toml"]:
    shutil.copy(fixtures / name, folder)
(folder / "agent.py").write_text(AGENT)
(folder / "reg").mkdir()


def tool(*args):
    subprocess.run([host, *args], cwd=folder, check=True, stdout=subprocess.DEVNULL)


COMPILE = ["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out", "shout.cbin"]
tool("import", "--store", "shout.db", "shout.jsonl")
tool(*COMPILE)
versions = [(folder / "shout.cbin").read_bytes()]
tool("run", "shout.cbin", "--input", '{"text":"zyx wvu"}', "--tier0", "python3 agent.py", "--store", "shout.db")
tool(*COMPILE)
versions.append((folder / "shout.cbin").read_bytes())


def publish(turn):
    (folder / "reg/.new").write_bytes(versions[turn % 2])
    (folder / "reg/.new").rename(folder / "reg/shout.cbin")


def serve():
    command = [host, "serve", "--registry", "reg", "--addr", "127.0.0.1:0", "--reload-ms", "50",
               "--tier0", "shout=python3 agent.py", "--store", "shout.db"]
    server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        if line.startswith("listening on http://"):
            break
    threading.Thread(target=lambda: [None for _ in server.stderr], daemon=True).start()
    return server, int(line.split(" ")[2].rsplit(":", 1)[1])


over, port, asked, told, bad = False, 0, collections.Counter(), [], []


def ask(client):
    connection, number = None, 0
    while not over:
        number += 1
        new = number % 10 == 0
        text = f"client {client} number {number}" if new else "please send the blue key"
        try:
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("POST", "/run/shout", json.dumps({"text": text}))
            reply = connection.getresponse()
            body = json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError):
            connection = None
            asked["cut off by a kill"] += 1
            time.sleep(0.05)
            continue
        asked[reply.status] += 1
        if reply.status != 200 or body["output"] != text.upper():
            bad.append(body)
        elif body["tier"] == 0:
            told.append(text)


publish(0)
server, port = serve()
clients = [threading.Thread(target=ask, args=(one,)) for one in range(4)]
for client in clients:
    client.start()
begun, turn = time.monotonic(), 0
while time.monotonic() - begun < seconds:
    time.sleep(1)
    turn += 1
    publish(turn)
    if turn % 10 == 0:
        server.kill()
        server.wait()
        server, port = serve()
over = True
for client in clients:
    client.join()
server.send_signal(signal.SIGTERM)
server.wait()
tool("import", "--store", "shout.db", "--spool") if (folder / "shout.db.spool").exists() else None
tool("store", "export", "--store", "shout.db", "--task", "shout", "--as-recorded", "--out", "all.jsonl")
spans = [json.loads(line) for line in (folder / "all.jsonl").read_text().splitlines()]
held = collections.Counter(span["input"]["text"] for span in spans if span["t"] == "span" and "client" in str(span["input"]))
lost, doubled = [text for text in told if held[text] == 0], [text for text, count in held.items() if count > 1]
print(json.dumps({"seconds": seconds, "replies": {str(k): v for k, v in asked.items()}, "kills": turn // 10,
                  "wrong": len(bad), "answered_by_tier0": len(told), "lost": len(lost), "doubled": len(doubled)}))
sys.exit(1 if bad or lost or doubled else 0)
