"""A stand-in for `kubectl` and the cluster behind it, which keeps its state in a folder and runs pods
as processes here. It can lose a job, run it twice, begin late, say early that it is over, get stuck,
and kill it for its memory: by turns, as the file `tricks` in its folder says.

    kubectl.py STATE VOLUME [--namespace=N] create --filename=- | get job NAME … | get pods … | delete job NAME …
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

STATE, VOLUME = Path(sys.argv[1]), Path(sys.argv[2])
WORDS = [word for word in sys.argv[3:] if not word.startswith("--")]
FLAGS = [word for word in sys.argv[3:] if word.startswith("--")]


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)


def create():
    manifest = json.load(sys.stdin)
    name = manifest["metadata"]["name"]
    job = STATE / "jobs" / name
    if job.exists():
        fail(f'Error from server (AlreadyExists): jobs.batch "{name}" already exists')
    (STATE / "manifests").mkdir(parents=True, exist_ok=True)
    count = len(list((STATE / "manifests").iterdir()))
    (STATE / "manifests" / f"{count}-{name}.json").write_text(json.dumps(manifest))
    tricks = (STATE / "tricks").read_text().split()
    trick = tricks[count % len(tricks)]
    print(f"job.batch/{name} created")
    if trick == "refuse":
        fail("Error from server (Forbidden): exceeded quota")
    if trick == "lose":
        return
    job.mkdir(parents=True)
    (job / "manifest.json").write_text(json.dumps(manifest))
    (job / "trick").write_text(trick)
    for pod in range(2 if trick == "twice" else 1):
        own = [sys.executable, __file__, str(STATE), str(VOLUME), "pod", name, str(pod), trick]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(own, start_new_session=True, **quiet)
        (job / f"pid-{pod}").write_text(str(process.pid))


def pod(name, number, trick):
    """A pod: it has the container's environment alone, and the volume where it is here."""
    job = STATE / "jobs" / name
    container = json.loads((job / "manifest.json").read_text())["spec"]["template"]["spec"]["containers"][0]
    if trick in ("late", "early"):
        time.sleep(2)
    (job / "begun").touch()
    code = 137
    while trick == "stuck":
        time.sleep(1)
    if trick != "memory":
        mount = container["volumeMounts"][0]["mountPath"]
        folder = VOLUME / os.path.relpath(container["workingDir"], mount)
        environment = {"PATH": os.environ["PATH"], "HOSTNAME": name}
        for variable in container["env"]:
            key = variable["valueFrom"]["secretKeyRef"]
            environment[variable["name"]] = (STATE / "secrets" / key["name"] / key["key"]).read_text()
        if folder.exists():
            code = subprocess.run(container["command"], cwd=folder, env=environment).returncode
    if job.exists():
        (job / f"done-{number}").write_text(str(code))


def get_job(name):
    job = STATE / "jobs" / name
    if not job.exists():
        assert "--ignore-not-found" in FLAGS
        return
    done = [int(file.read_text() or 0) for file in job.glob("done-*")]
    status = {"active": 1, "ready": int((job / "begun").exists())}
    if len(done) == len(list(job.glob("pid-*"))) or (job / "trick").read_text() == "early":
        kind = "Failed" if any(done) else "Complete"
        status = {"conditions": [{"type": kind, "status": "True", "reason": "BackoffLimitExceeded"}]}
    print(json.dumps({"kind": "Job", "metadata": {"name": name}, "status": status}))


def get_pods():
    name = next(flag for flag in FLAGS if flag.startswith("--selector=job-name=")).rsplit("=", 1)[1]
    killed = (STATE / "jobs" / name / "trick").read_text() == "memory"
    reason = {"reason": "OOMKilled" if killed else "Error", "exitCode": 137}
    print(json.dumps({"items": [{"status": {"containerStatuses": [{"state": {"terminated": reason}}]}}]}))


def delete(name):
    job = STATE / "jobs" / name
    assert "--ignore-not-found" in FLAGS
    for pid in job.glob("pid-*"):
        try:
            os.killpg(int(pid.read_text()), signal.SIGKILL)
        except ProcessLookupError:
            pass
    shutil.rmtree(job, ignore_errors=True)


match WORDS:
    case ["create"]:
        create()
    case ["pod", name, number, trick]:
        pod(name, number, trick)
    case ["get", "job", name]:
        get_job(name)
    case ["get", "pods"]:
        get_pods()
    case ["delete", "job", name]:
        delete(name)
    case _:
        fail(f"error: unknown command {WORDS}")
