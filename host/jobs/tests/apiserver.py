"""As much of a Kubernetes API server, over HTTP on loopback, as the real `kubectl` needs to create, get
and delete jobs; behind it is the cluster of `kubectl.py`. Prints its port.

    apiserver.py STATE VOLUME
"""

import http.server
import json
import subprocess
import sys
import urllib.parse
from pathlib import Path

CLUSTER = [sys.executable, str(Path(__file__).with_name("kubectl.py")), sys.argv[1], sys.argv[2]]
JOBS, PODS = "/apis/batch/v1/namespaces/lab/jobs", "/api/v1/namespaces/lab/pods"

BATCH = {"groupVersion": "batch/v1", "version": "v1"}
KIND = {"group": "batch", "version": "v1", "kind": "Job"}
VALIDATION = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
PATCH = {"x-kubernetes-group-version-kind": KIND, "parameters": [VALIDATION], "responses": {}}
VERBS = ["create", "delete", "get", "list"]


def resource(name, kind, singular):
    return {"name": name, "singularName": singular, "namespaced": True, "kind": kind, "verbs": VERBS}


FIXED = {
    "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [{"name": "batch", "versions": [BATCH], "preferredVersion": BATCH}],
    },
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource("pods", "Pod", "pod")]},
    "/apis/batch/v1": {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "batch/v1",
        "resources": [resource("jobs", "Job", "job")],
    },
    "/openapi/v3": {"paths": {"apis/batch/v1": {"serverRelativeURL": "/openapi/v3/apis/batch/v1?hash=1"}}},
    "/openapi/v3/apis/batch/v1": {
        "openapi": "3.0.0",
        "info": {"title": "stand-in", "version": "1"},
        "paths": {"/apis/batch/v1/namespaces/{namespace}/jobs/{name}": {"patch": PATCH}},
    },
}


def asked(*words, text=""):
    return subprocess.run([*CLUSTER, *words], input=text, capture_output=True, text=True)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, code, value):
        text = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, code, reason, message):
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
        self.answer(code, status | {"reason": reason, "message": message})

    def do_GET(self):
        place = urllib.parse.urlsplit(self.path)
        if place.path in FIXED:
            return self.answer(200, FIXED[place.path])
        if place.path == PODS:
            selector = urllib.parse.parse_qs(place.query)["labelSelector"][0]
            pods = json.loads(asked("get", "pods", f"--selector={selector}").stdout)["items"]
            pods = [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "pod"}} | pod for pod in pods]
            return self.answer(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods})
        name = place.path.removeprefix(JOBS + "/")
        job = asked("get", "job", name, "--ignore-not-found").stdout
        if job:
            return self.answer(200, {"apiVersion": "batch/v1"} | json.loads(job))
        self.refuse(404, "NotFound", f'jobs.batch "{name}" not found')

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        assert self.path.startswith(JOBS) and "fieldValidation=Strict" in self.path, self.path
        made = asked("create", text=text)
        if made.returncode == 0:
            return self.answer(201, json.loads(text))
        reason, code = ("AlreadyExists", 409) if "AlreadyExists" in made.stderr else ("Forbidden", 403)
        self.refuse(code, reason, made.stderr.strip().split(": ", 1)[1])

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked("delete", "job", self.path.split("?")[0].removeprefix(JOBS + "/"), "--ignore-not-found")
        self.answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
