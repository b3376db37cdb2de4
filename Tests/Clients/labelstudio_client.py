"""Label Studio itself, with Ocelli as its machine-learning back end.

Starts Label Studio on the loopback interface with a database in a temporary folder, makes a project of ten pictures of
two kinds, connects Ocelli's taught model, annotates six pictures while a webhook teaches it, and retrieves predictions
for all. Then changes an annotation, deletes one and skips a task.

    python labelstudio_client.py LABEL_STUDIO OCELLI_URL MODEL FOLDER [TOKEN]

LABEL_STUDIO is the program, MODEL the name of a taught model without examples, FOLDER the one of labelstudio_files:
half of the pictures are written there, the others are data: URIs. Prints one line of JSON with what was seen.
"""

import base64
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zlib

LABELS = ["Across", "Down"]
LABEL_STUDIO_TOKEN = "0123456789abcdef0123456789abcdef01234567"


def png(kind, number, side=24):
    """A small picture of stripes: across or down, with noise by its number."""
    noise = random.Random(kind * 1000 + number)
    rows = b""
    for y in range(side):
        rows += b"\0"
        for x in range(side):
            light = (y if kind == 0 else x) // 2 % 2 == 0
            base = (220, 90, 90) if light and kind == 0 else (90, 220, 90) if light else (30, 30, 30)
            rows += bytes(channel + noise.randrange(30) for channel in base)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Service:
    """A JSON interface with an Authorization field."""

    def __init__(self, url, authorization=None):
        self.url = url
        self.authorization = authorization

    def ask(self, method, path, body=None, timeout=60):
        request = urllib.request.Request(self.url + path, method=method)
        if self.authorization:
            request.add_header("Authorization", self.authorization)
        data = None
        if body is not None:
            request.add_header("Content-Type", "application/json")
            data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, data, timeout=timeout) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read()[:2000].decode(errors='replace')}")
        return json.loads(text) if text.strip() else None


class LabelStudio:
    """A Label Studio of its own, until the block ends."""

    def __init__(self, program, files):
        self.folder = tempfile.TemporaryDirectory(prefix="label-studio-")
        self.port = free_port()
        environment = dict(os.environ)
        environment.update(
            LABEL_STUDIO_BASE_DATA_DIR=self.folder.name,
            LABEL_STUDIO_USERNAME="tester@localhost",
            LABEL_STUDIO_PASSWORD="a-password-of-tests",
            LABEL_STUDIO_USER_TOKEN=LABEL_STUDIO_TOKEN,
            LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN="true",
            LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED="true",
            LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT=files,
            # Ocelli is on this machine, which Label Studio refuses otherwise.
            ML_BLOCK_LOCAL_IP="false",
            SSRF_PROTECTION_ENABLED="false",
            WEBHOOK_TIMEOUT="60",
            LATEST_VERSION_CHECK="false",
            COLLECT_ANALYTICS="false",
            SENTRY_DSN="",
            FRONTEND_SENTRY_DSN="",
        )
        self.log = open(os.path.join(self.folder.name, "log"), "wb")
        self.process = subprocess.Popen(
            [program, "start", "--no-browser", "--port", str(self.port), "--internal-host", "127.0.0.1"],
            env=environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, cwd=self.folder.name)
        self.service = Service(f"http://127.0.0.1:{self.port}", f"Token {LABEL_STUDIO_TOKEN}")

    def words(self):
        with open(self.log.name, "rb") as log:
            return log.read()[-6000:].decode(errors="replace")

    def __enter__(self):
        end = time.monotonic() + 1200
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise SystemExit(f"Label Studio ended with {self.process.returncode}:\n{self.words()}")
            try:
                with urllib.request.urlopen(self.service.url + "/health", timeout=5):
                    return self.service
            except (OSError, urllib.error.URLError):
                time.sleep(1)
        raise SystemExit(f"Label Studio does not answer:\n{self.words()}")

    def __exit__(self, kind, error, trace):
        if kind is not None:
            print(self.words(), file=sys.stderr)
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()


def config(model):
    choices = "".join(f'<Choice value="{label}"/>' for label in LABELS)
    return (
        '<View><Image name="image" value="$image"/>'
        f'<Choices name="kind" toName="image" model_path="{model}">{choices}</Choices></View>'
    )


def tasks(folder):
    """Ten pictures, the kinds in turn: the first half as data: URIs, the others as files."""
    result = []
    for number in range(10):
        picture = png(number % 2, number)
        if number < 5:
            image = "data:image/png;base64," + base64.b64encode(picture).decode()
        else:
            name = f"picture {number}.png"
            with open(os.path.join(folder, name), "wb") as file:
                file.write(picture)
            image = f"/data/local-files/?d=picture%20{number}.png"
        result.append({"data": {"image": image, "kind": LABELS[number % 2]}})
    return result


def choice(label):
    return [{"from_name": "kind", "to_name": "image", "type": "choices", "value": {"choices": [label]}}]


def predicted(studio, project):
    """The choices and versions of the tasks' newest predictions, in the order of the tasks."""
    found = []
    for task in sorted(studio.ask("GET", f"/api/tasks?project={project}&fields=all&page_size=100")["tasks"], key=lambda one: one["id"]):
        whole = studio.ask("GET", f"/api/tasks/{task['id']}")
        newest = max(whole["predictions"], key=lambda one: one["id"], default=None)
        result = newest["result"] if newest else []
        found.append({
            "kind": whole["data"]["kind"],
            "choice": result[0]["value"]["choices"][0] if result else None,
            "version": newest["model_version"] if newest else None,
        })
    return found


def main():
    program, url, model, folder = sys.argv[1:5]
    token = sys.argv[5] if len(sys.argv) > 5 else None
    ocelli = Service(url, f"Bearer {token}" if token else None)

    def classes():
        return {one["label"]: one["examples"] for one in ocelli.ask("GET", f"/v1/taught/{model}")["classes"]}

    seen = {}
    with LabelStudio(program, folder) as studio:
        project = studio.ask("POST", "/api/projects", {"title": "stripes", "label_config": config(model)})["id"]
        studio.ask("POST", f"/api/projects/{project}/import", tasks(folder))
        ids = sorted(one["id"] for one in studio.ask("GET", f"/api/tasks?project={project}&page_size=100")["tasks"])
        backend = {"url": url, "project": project, "title": "Ocelli"}
        headers = {}
        if token:
            backend |= {"auth_method": "BASIC_AUTH", "basic_auth_user": "ocelli", "basic_auth_pass": token}
            headers = {"Authorization": f"Bearer {token}"}
        connected = studio.ask("POST", "/api/ml", backend)
        seen["state"], seen["version"] = connected["state"], connected["model_version"]
        versions = studio.ask("GET", f"/api/ml/{connected['id']}/versions")
        seen["versions"] = versions.get("versions")
        studio.ask("POST", "/api/webhooks", {
            "url": url + "/webhook", "project": project, "send_payload": True, "send_for_all_actions": True,
            "headers": headers, "is_active": True})
        retrieve = f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}"
        everything = {"selectedItems": {"all": True, "excluded": []}, "project": project}
        studio.ask("POST", retrieve, everything, timeout=300)
        seen["before"] = predicted(studio, project)

        annotations = []
        for number in (0, 1, 2, 5, 6, 7):
            made = studio.ask("POST", f"/api/tasks/{ids[number]}/annotations/", {"result": choice(LABELS[number % 2])})
            annotations.append(made["id"])
        studio.ask("POST", f"/api/tasks/{ids[9]}/annotations/", {"result": choice(LABELS[0]), "was_cancelled": True})
        seen["taught"] = classes()
        studio.ask("POST", retrieve, everything, timeout=300)
        seen["after"] = predicted(studio, project)

        studio.ask("PATCH", f"/api/annotations/{annotations[0]}/", {"result": choice("Down")})
        seen["changed"] = classes()
        studio.ask("PATCH", f"/api/annotations/{annotations[0]}/", {"result": choice("Across")})
        studio.ask("DELETE", f"/api/annotations/{annotations[1]}/")
        seen["deleted"] = classes()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
