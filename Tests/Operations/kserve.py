"""Ocelli as KServe and the kubelet treat it, with the shipped manifests: models that come late, change and go while clients ask.

- The ClusterServingRuntime's pod with an empty /mnt/models that a link fills 5 s later, as a modelcar's; as a random user without a home.
- The overlay configmap-model, whose ConfigMap is swapped (`..data`) again and again under load.
- KServe's agent: it downloads a model and loads it by name; it deletes a folder, then unloads the model. Requests for the others go on.

No request may fail. usage: kserve.py [--swaps N] [--seed N]
"""

import argparse
import collections
import http.client
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time

import daemon
import images
import kubelet
import wire

RANDOM_USER = 1000770000  # as OpenShift gives them, in group 0
DIGITS = daemon.MODELS / "digits"


class Clients:
    """Ask one model all the time; what they got, by label or status."""

    def __init__(self, address, port, path):
        self.address, self.port, self.path = address, port, path
        self.counts, self.samples = collections.Counter(), []
        self.over, self.lock = threading.Event(), threading.Lock()
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(4)]
        for thread in self.threads:
            thread.start()

    def _work(self):
        connection = None
        picture, _ = next((data, digit) for data, digit in daemon.pictures() if digit == "7")
        while not self.over.is_set():
            try:
                connection = connection or wire.Connection(self.port, timeout=60, host=self.address)
                answer = connection.ask(wire.request("POST", self.path, picture))
                what = answer.json["classifications"][0]["label"] if answer.status == 200 else f"status {answer.status}"
                if not answer.keeps:
                    connection.close()
                    connection = None
            except (wire.Lost, OSError) as error:
                what, connection = f"lost: {error}", None
            with self.lock:
                self.counts[what] += 1
                if what.startswith(("status", "lost")) and len(self.samples) < 3:
                    self.samples.append(what if what.startswith("lost") else f"{what}: {answer.body[:200]!r}")
            time.sleep(0.01)

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(60)


def ask(pod, method, path, body=b""):
    connection = http.client.HTTPConnection(pod.address, pod.port, timeout=60)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def eventually(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def late_model(folder):
    """KServe's runtime with a modelcar: /mnt/models is a link that appears when the other container is up."""
    spec, name = kubelet.inference_service()
    # As KServe rewrites the pod for oci://: the folder above is shared, and the link in it leads to the models' container.
    mount = next(mount for mount in spec["containers"][0]["volumeMounts"] if mount["mountPath"] == "/mnt/models")
    mount.update(mountPath="/mnt", readOnly=False)
    spec["containers"][0]["volumeMounts"].append({"name": "modelcar", "mountPath": "/modelcar", "readOnly": True})
    spec["volumes"].append({"name": "modelcar", "emptyDir": {}})
    models = folder / "modelcar"
    shutil.copytree(DIGITS, models / "models/digits")
    pod = kubelet.Pod("late", spec, "127.0.0.1", kubelet.free_ports(spec), folder, {"modelcar": models}, user=RANDOM_USER, group=0)
    problems = []
    try:
        time.sleep(5)
        if pod.started or pod.restarts or not pod.process.is_running():
            problems.append(f"without a model it started {pod.started}, with {pod.restarts} restarts: {pod.process.log[-800:]}")
        (pod.volumes["kserve-provision-location"] / "models").symlink_to("/modelcar/models")
        if not pod.wait("ready", True, 60):
            return problems + [f"the model that appeared after 5 s was not loaded: {pod.process.log[-1500:]}"]
        for picture, digit in daemon.pictures():
            status, body = ask(pod, "POST", f"/v1/models/{name}/classify?top=1", picture)
            if status != 200 or json.loads(body)["classifications"][0]["label"] != digit:
                problems.append(f"expected {digit}: {status} {body[:200]!r}")
        status, body = ask(pod, "GET", f"/v2/models/{name}")
        if status != 200 or json.loads(body)["name"] != name:
            problems.append(f"/v2/models/{name}: {status} {body[:200]!r}")
        if pod.restarts:
            problems.append(f"{pod.restarts} restarts: {pod.statuses}")
        print(f"late model: served as {name} by user {RANDOM_USER} without a home; {pod.restarts} restarts", flush=True)
        if (status := pod.delete()) != 0:
            problems.append(f"it ended with {status}")
        return problems
    finally:
        pod.kill()


def relabelled(folder, words):
    """The digits with other labels."""
    shutil.copytree(DIGITS, folder)
    labels = folder / "labels.txt"
    labels.write_text("".join(f"{words}{line}\n" for line in labels.read_text().split()))
    return folder


def swapped_config_map(folder, swaps):
    """A ConfigMap that is changed under load: each label is of one of its versions, the last wins, and no request fails."""
    versions = [relabelled(folder / f"version-{i}", f"v{i}-") for i in range(2)]
    config_map = kubelet.ConfigMap(folder / "digits-map", versions[0])
    manifest = kubelet.deployment("overlays/configmap-model")
    spec = manifest["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    # Looked at more often than shipped: twenty swaps are to be seen in a test.
    container["args"] = ["--repository-poll=1s" if word.startswith("--repository-poll=") else word for word in container["args"]]
    pod = kubelet.Pod("configmap", spec, "127.0.0.1", kubelet.free_ports(spec), folder, {"models": config_map})
    clients = None
    problems = []
    try:
        if not pod.wait("ready", True, 60):
            return [f"it did not become ready: {pod.process.log[-1500:]}"]
        clients = Clients(pod.address, pod.port, "/v1/models/digits/classify?top=1")
        for turn in range(1, swaps + 1):
            config_map.update(versions[turn % 2])
            wanted = f"v{turn % 2}-7"
            seen = clients.counts[wanted]
            # Several answers: none may come of the version before, that was not in work already.
            if not eventually(lambda: clients.counts[wanted] > seen + 20):
                problems.append(f"swap {turn}: {wanted} was not served: {dict(clients.counts)} {pod.process.log[-800:]}")
                break
        clients.stop()
        wrong = {what: count for what, count in clients.counts.items() if what not in ("v0-7", "v1-7")}
        if wrong:
            problems.append(f"under swaps: {wrong} {clients.samples}")
        print(f"..data: {swaps} swaps, {sum(clients.counts.values())} asked, failed {wrong or 'none'}", flush=True)
        if pod.restarts:
            problems.append(f"{pod.restarts} restarts")
        if (status := pod.delete()) != 0:
            problems.append(f"it ended with {status}")
        return problems
    finally:
        if clients:
            clients.stop()
        pod.kill()


def agent(folder, turns):
    """KServe's agent beside the daemon: load after a download, unload after the folder has been deleted."""
    models = folder / "agent"
    models.mkdir()
    models.chmod(0o777)
    shutil.copytree(DIGITS, models / "stays")
    process = daemon.Daemon(["--listen", "127.0.0.1:0", "--models", str(models), "--repository-control", "local"])
    pod = type("Pod", (), {"address": "127.0.0.1", "port": process.port})
    clients = Clients("127.0.0.1", process.port, "/v1/models/stays/classify?top=1")
    problems = []
    try:
        for turn in range(turns):
            shutil.copytree(DIGITS, models / "comes")
            status, body = ask(pod, "POST", "/v2/repository/models/comes/load")
            if status != 200:
                problems.append(f"load: {status} {body[:300]!r}")
            status, body = ask(pod, "POST", "/v1/models/comes/classify?top=1", daemon.pictures()[0][0])
            if status != 200:
                problems.append(f"a request of the model that was loaded: {status} {body[:300]!r}")
            # First the folder, then the model: the agent does it in this order.
            shutil.rmtree(models / "comes")
            status, body = ask(pod, "POST", "/v1/models/comes/classify?top=1", daemon.pictures()[0][0])
            if status != 200:
                problems.append(f"a request between deletion and unload: {status} {body[:300]!r}")
            status, body = ask(pod, "POST", "/v2/repository/models/comes/unload")
            if status != 200:
                problems.append(f"unload: {status} {body[:300]!r}")
            status, body = ask(pod, "POST", "/v1/models/comes/classify?top=1", daemon.pictures()[0][0])
            if status not in (404, 503):
                problems.append(f"a request of the model that was unloaded: {status} {body[:300]!r}")
        clients.stop()
        wrong = {what: count for what, count in clients.counts.items() if what != "7"}
        if wrong:
            problems.append(f"the other model: {wrong} {clients.samples}")
        print(f"agent: {turns} models loaded, deleted and unloaded; {sum(clients.counts.values())} asked of another, "
              f"failed {wrong or 'none'}", flush=True)
        if (status := process.stop()) != 0:
            problems.append(f"it ended with {status}")
        return problems
    finally:
        clients.stop()
        process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--swaps", type=int, default=5)
    given = parser.parse_args()
    if missing := images.absence():
        print(f"skipped: {missing}")
        return 77
    problems = []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ocelli-kserve-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        for trial in (lambda: agent(folder, given.swaps), lambda: swapped_config_map(folder, given.swaps), lambda: late_model(folder)):
            problems += trial()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("PASS" if not problems else "FAIL: " + "\n      ".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
