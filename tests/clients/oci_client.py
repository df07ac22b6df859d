"""A client of OCI registries that knows the specifications and nothing of ours: it reads a tag, its layers
and what refers to it, and holds every byte against its digest. Prints the manifest as one line of JSON.

Usage: oci_client.py BASE REPOSITORY TAG FOLDER [USER PASSWORD]
"""

import base64
import hashlib
import json
import pathlib
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


class Registry:
    def __init__(self, base, repository, user=None, password=None):
        self.base, self.repository, self.token = base, repository, None
        self.user = (user, password) if user else None

    def get(self, path):
        """Headers and body; answers a challenge once (distribution: token authentication)."""
        for attempt in range(2):
            headers = {"Accept": f"{MANIFEST}, {INDEX}"}
            if self.token:
                headers["Authorization"] = f"Bearer {self.token}"
            request = urllib.request.Request(f"{self.base}/v2/{self.repository}/{path}", headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.headers, answer.read()
            except urllib.error.HTTPError as error:
                if error.code != 401 or attempt or not self.user:
                    raise
                self.authenticate(error.headers["WWW-Authenticate"])

    def authenticate(self, challenge):
        scheme, _, rest = challenge.partition(" ")
        assert scheme.lower() == "bearer", challenge
        asked = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        query = {key: asked[key] for key in ("service", "scope") if key in asked}
        name = base64.b64encode(":".join(self.user).encode()).decode()
        request = urllib.request.Request(
            f"{asked['realm']}?{urllib.parse.urlencode(query)}", headers={"Authorization": f"Basic {name}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            said = json.load(answer)
        self.token = said.get("token") or said["access_token"]

    def manifest(self, reference):
        headers, body = self.get(f"manifests/{reference}")
        manifest = json.loads(body)
        digest = "sha256:" + hashlib.sha256(body).hexdigest()
        assert headers["Docker-Content-Digest"] == digest, (headers, digest)
        assert headers["Content-Type"] == manifest["mediaType"] and manifest["schemaVersion"] == 2
        return digest, manifest

    def blob(self, descriptor):
        body = self.get(f"blobs/{descriptor['digest']}")[1]
        assert len(body) == descriptor["size"]
        assert "sha256:" + hashlib.sha256(body).hexdigest() == descriptor["digest"]
        return body

    def referrers(self, digest):
        try:
            return json.loads(self.get(f"referrers/{digest}")[1])["manifests"]
        except urllib.error.HTTPError as error:
            assert error.code == 404
        # "Referrers Tag Schema"
        return self.manifest(digest.replace(":", "-"))[1]["manifests"]


def main(base, repository, tag, folder, *user):
    registry = Registry(base, repository, *user)
    folder = pathlib.Path(folder)
    folder.mkdir()
    assert tag in json.loads(registry.get("tags/list")[1])["tags"]
    digest, manifest = registry.manifest(tag)
    assert registry.manifest(digest) == (digest, manifest)
    # The layout that the CNCF gives WebAssembly: one layer, and a configuration that names it.
    (layer,) = manifest["layers"]
    config = json.loads(registry.blob(manifest["config"]))
    assert layer["mediaType"] == "application/wasm"
    assert manifest["config"]["mediaType"] == "application/vnd.wasm.config.v0+json"
    assert config["layerDigests"] == [layer["digest"]] and config["architecture"] == "wasm"
    wasm = registry.blob(layer)
    assert wasm[:4] == b"\0asm"
    (folder / "artifact.wasm").write_bytes(wasm)
    (referrer,) = registry.referrers(digest)
    found, signed = registry.manifest(referrer["digest"])
    assert found == referrer["digest"] and signed["artifactType"] == referrer["artifactType"]
    assert signed["subject"]["digest"] == digest and registry.blob(signed["config"]) == b"{}"
    for layer in signed["layers"]:
        body = registry.blob(layer)
        for line in body.decode().splitlines():
            assert json.loads(line)["payloadType"] == "application/vnd.in-toto+json"
        if "statements" in layer["mediaType"]:
            (folder / "statements.jsonl").write_bytes(body)
    print(json.dumps(manifest))


main(*sys.argv[1:])
