"""A kubelet for this machine: starts the pods that the manifests under deploy/ describe, as processes, and treats them as Kubernetes does.

Each pod gets an address of 127.0.0.0/8, the volumes of its manifest (image, ConfigMap and emptyDir volumes as folders), its arguments and
variables, a read-only root and an unprivileged user (bubblewrap). It is probed as the manifest says: no traffic before the startup
probe, none while the readiness probe fails, a restart where the liveness probe fails. A pod that is deleted gets SIGTERM, and SIGKILL at
the end of its grace. A Deployment is rolled as its strategy says, and scaled.

A pod's control group is a folder with made-up files of version 2, in which the daemon reads its limits; a resize in place writes others.
Not enforced: resources, network policies, topology. Ports are others: the manifests' would be taken twice on one machine.
"""

import functools
import http.client
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy/checks"))

import daemon  # noqa: E402

PYTHON = daemon.ROOT / ".build/deployment/bin/python"
try:
    import yaml  # noqa: F401
except ImportError:
    # The packages that `make setup-tests` installs; without them this is skipped.
    if not PYTHON.exists() or pathlib.Path(sys.executable) == PYTHON:
        print("skipped: PyYAML is not installed (make setup-tests)")
        sys.exit(77)
    os.execv(PYTHON, [str(PYTHON), *sys.argv])

import files  # noqa: E402
import kustomize  # noqa: E402
import rootfs  # noqa: E402

USER = 65532  # of the image, where the manifest names none


def deployment(overlay):
    """The Deployment of an overlay of deploy/kubernetes, with the replicas that its autoscaler begins with."""
    resources = {found["kind"]: found for found in kustomize.build(files.DEPLOY / "kubernetes" / overlay, files.Files())}
    found = resources["Deployment"]
    if scaler := resources.get("HorizontalPodAutoscaler"):
        found["spec"].setdefault("replicas", scaler["spec"]["minReplicas"])
    return found


def inference_service():
    """What KServe makes of deploy/kserve: (the PodSpec of the predictor, the name of the service).

    `{{.Name}}` is replaced everywhere in the container, the model is mounted at /mnt/models, and the grace is the service's.
    """
    texts = files.Files()
    (runtime,) = texts.documents(files.DEPLOY / "kserve/clusterservingruntime.yaml")
    (service,) = texts.documents(files.DEPLOY / "kserve/inferenceservice.yaml")
    name = service["metadata"]["name"]
    spec = _expand({key: runtime["spec"][key] for key in ("containers", "volumes")}, name)
    spec["terminationGracePeriodSeconds"] = service["spec"]["predictor"]["terminationGracePeriodSeconds"]
    (container,) = spec["containers"]
    container["volumeMounts"].append({"name": "kserve-provision-location", "mountPath": "/mnt/models", "readOnly": True})
    spec["volumes"].append({"name": "kserve-provision-location", "emptyDir": {}})
    return spec, name


def _expand(value, name):
    if isinstance(value, dict):
        return {key: _expand(entry, name) for key, entry in value.items()}
    if isinstance(value, list):
        return [_expand(entry, name) for entry in value]
    return value.replace("{{.Name}}", name) if isinstance(value, str) else value


class ConfigMap:
    """A mounted ConfigMap: `KEY` is a link to `..data/KEY`, `..data` one to a folder with a date, which is swapped for a change."""

    def __init__(self, folder, source):
        self.folder, self.count = pathlib.Path(folder), 0
        self.folder.mkdir(parents=True)
        self.update(source)

    def update(self, source):
        """What the kubelet's atomic writer does: the new folder beside the old, one rename, then the links and the old folder."""
        source = pathlib.Path(source)
        self.count += 1
        new = self.folder / f"..2026_11_22_00_00_00.{self.count:09}"
        shutil.copytree(source, new)
        old = os.readlink(self.folder / "..data") if (self.folder / "..data").is_symlink() else None
        (self.folder / "..data_tmp").symlink_to(new.name)
        os.rename(self.folder / "..data_tmp", self.folder / "..data")
        for path in new.iterdir():
            if not (self.folder / path.name).is_symlink():
                (self.folder / path.name).symlink_to(f"..data/{path.name}")
        if old:
            shutil.rmtree(self.folder / old)


class Pod:
    """A pod with one container, and who looks after it."""

    def __init__(self, name, spec, address, ports, folder, sources, user=USER, group=USER):
        """`ports`: what stands for each of the manifest's ports. `sources`: what fills a volume, by its name: a folder, or a ConfigMap."""
        self.name, self.spec, self.address, self.ports = name, spec, address, ports
        (self.container,) = spec["containers"]
        # Where clients ask: the first.
        self.port = ports[self.container["ports"][0]["containerPort"]]
        self.grace = spec.get("terminationGracePeriodSeconds", 30)
        self.user, self.group = user, group
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o755)
        self.volumes = {volume["name"]: self._volume(volume, sources.get(volume["name"])) for volume in spec.get("volumes", [])}
        self.control_group = self.folder / "control-group"
        self.control_group.mkdir()
        self.resize(**self.container["resources"]["limits"])
        self.started = self.ready = self.deleted = False
        self.restarts = 0
        self.ended = threading.Event()
        self.changed = threading.Condition()
        self.statuses = []
        self.killed_at_grace = False
        self._start()
        self.threads = [threading.Thread(target=self._probes, daemon=True)]
        for thread in self.threads:
            thread.start()

    def _volume(self, volume, source):
        if isinstance(source, ConfigMap):
            return source.folder
        if source is not None:
            return pathlib.Path(source)
        if "emptyDir" not in volume:
            raise SystemExit(f"{self.name}: nothing fills the volume {volume['name']}")
        path = self.folder / volume["name"]
        path.mkdir()
        path.chmod(0o777)
        return path

    def resize(self, cpu=None, memory=None):
        """Other limits for the running container, as the API server's resize does; the container is not notified."""
        if cpu:
            (self.control_group / "cpu.max").write_text(f"{int(quantity(cpu) * 100_000)} 100000\n")
        if memory:
            (self.control_group / "memory.max").write_text(f"{int(quantity(memory))}\n")

    def command(self):
        """The container as a process: its own root, which is read-only, with the manifest's mounts."""
        command = ["bwrap"]
        for entry in sorted(os.listdir("/")):
            path = f"/{entry}"
            if entry in ("usr", "etc") and not os.path.islink(path):
                command += ["--ro-bind", path, path]
            elif os.path.islink(path):
                command += ["--symlink", os.readlink(path), path]
        command += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", str(self.control_group), "/sys/fs/cgroup"]
        for mount in self.container.get("volumeMounts", []):
            how = "--ro-bind" if mount.get("readOnly") else "--bind"
            command += [how, str(self.volumes[mount["name"]]), mount["mountPath"]]
        # The program and its libraries, wherever they lie; last, for that may be under a volume's path.
        program = pathlib.Path(daemon.binary()).resolve()
        for place in sorted({str(daemon.ROOT), *libraries(str(program))}):
            real = os.path.realpath(place)
            command += ["--ro-bind", real, real]
            # Where the way there is a link: also by that, unless the link itself is in the project, which is there already.
            if real != place and not place.startswith(f"{daemon.ROOT}/"):
                command += ["--ro-bind", real, place]
        command += [
            "--remount-ro", "/", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session",
            "--uid", str(self.user), "--gid", str(self.group), "--cap-drop", "ALL", "--chdir", "/", "--clearenv",
            "--setenv", "PATH", "/usr/bin:/bin"]
        if "LD_LIBRARY_PATH" in os.environ:
            command += ["--setenv", "LD_LIBRARY_PATH", os.environ["LD_LIBRARY_PATH"]]
        for entry in self.container.get("env", []):
            command += ["--setenv", entry["name"], entry["value"]]
        arguments = [
            re.sub(r"^--listen=:(\d+)", lambda match: f"--listen={self.address}:{self.ports[int(match[1])]}", word)
            for word in self.container["args"]]
        return [*command, "--", str(program), *arguments]

    def _start(self):
        self.process = daemon.Daemon([], command=self.command(), ready=None, plain=True)

    def pid(self):
        """The daemon's own process, under bubblewrap; None where it has ended."""
        pid = self.process.pid
        try:
            while children := pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                pid = int(children[0])
        except OSError:
            return None
        return pid if pid != self.process.pid else None

    def signal(self, number):
        pid = self.pid()
        if pid:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def _set(self, **values):
        with self.changed:
            for name, value in values.items():
                setattr(self, name, value)
            self.changed.notify_all()

    def wait(self, name, value, seconds):
        """Whether it becomes so in time."""
        with self.changed:
            return self.changed.wait_for(lambda: getattr(self, name) == value, seconds)

    # Probes.

    def ask(self, probe):
        """Whether a probe succeeds: a status from 200 to 399 in time."""
        what = probe["httpGet"]
        named = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        port = self.ports[named.get(what["port"], what["port"])]
        connection = http.client.HTTPConnection(self.address, port, timeout=probe.get("timeoutSeconds", 1))
        try:
            connection.request("GET", what["path"])
            return 200 <= connection.getresponse().status < 400
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _probes(self):
        """One loop for all probes, each in its period."""
        startup, readiness, liveness = (self.container[name] for name in ("startupProbe", "readinessProbe", "livenessProbe"))
        while not self.deleted:
            failures = {"startup": 0, "readiness": 0, "liveness": 0}
            while not self.deleted and not self.started:
                if not self.process.is_running():
                    self._restart("ended")
                elif self.ask(startup):
                    self._set(started=True)
                else:
                    failures["startup"] += 1
                    if failures["startup"] >= startup.get("failureThreshold", 3):
                        self._restart("startup probe")
                    self._sleep(startup.get("periodSeconds", 10))
            due = {"readiness": 0, "liveness": time.monotonic() + liveness.get("periodSeconds", 10)}
            while not self.deleted and self.started:
                now = time.monotonic()
                if not self.process.is_running():
                    self._restart("ended")
                    break
                if now >= due["readiness"]:
                    due["readiness"] = now + readiness.get("periodSeconds", 10)
                    good = self.ask(readiness)
                    failures["readiness"] = 0 if good else failures["readiness"] + 1
                    if good or failures["readiness"] >= readiness.get("failureThreshold", 3):
                        self._set(ready=good)
                if now >= due["liveness"]:
                    due["liveness"] = now + liveness.get("periodSeconds", 10)
                    failures["liveness"] = 0 if self.ask(liveness) else failures["liveness"] + 1
                    if failures["liveness"] >= liveness.get("failureThreshold", 3):
                        self._restart("liveness probe")
                        break
                self._sleep(0.1)

    def _sleep(self, seconds):
        with self.changed:
            self.changed.wait_for(lambda: self.deleted, seconds)

    def _restart(self, reason):
        """The container again, in the same pod: the volumes stay."""
        if self.deleted:
            return
        self._set(started=False, ready=False)
        self._end(signal.SIGTERM)
        self.statuses.append((reason, self.process.process.returncode))
        self.restarts += 1
        # The first again is at once; later ones wait, as the kubelet's do.
        self._sleep(min(30, 2 * (self.restarts - 1)))
        if not self.deleted:
            self._start()

    def _end(self, number):
        self.signal(number)
        try:
            self.process.process.wait(self.grace)
        except subprocess.TimeoutExpired:
            self.killed_at_grace = True
            self.signal(signal.SIGKILL)
            self.process.process.wait(10)

    def delete(self):
        """SIGTERM, and SIGKILL at the end of the grace; waits. Returns the exit status."""
        self._set(deleted=True, ready=False)
        for thread in self.threads:
            thread.join(self.grace + 30)
        self._end(signal.SIGTERM)
        self.ended.set()
        return self.process.process.returncode

    def kill(self):
        self._set(deleted=True, ready=False)
        self.process.kill()
        self.ended.set()


class Deployment:
    """The pods of a Deployment, rolled and scaled. Each has one of `slots` addresses, of which a proxy knows all."""

    def __init__(self, spec, folder, sources, replicas=None, slots=None, on_change=lambda: None):
        self.spec = spec["template"]["spec"]
        self.replicas = replicas or spec["replicas"]
        self.surge = spec["strategy"]["rollingUpdate"]["maxSurge"]
        if spec["strategy"]["rollingUpdate"]["maxUnavailable"] != 0:
            raise SystemExit("the manifest lets pods be missing during a rollout: this expects maxUnavailable 0")
        self.folder, self.sources, self.on_change = folder, sources, on_change
        number = os.getpid() % 60_000
        self.addresses = [f"127.{64 + number // 250 % 128}.{number % 250 + 1}.{i + 1}" for i in range(slots or self.replicas + self.surge)]
        self.ports = free_ports(self.spec)
        self.port = self.ports[self.spec["containers"][0]["ports"][0]["containerPort"]]
        self.pods, self.going, self.count = [], [], 0
        self.problems = []
        self.lock = threading.Lock()
        self.scale(self.replicas)

    def endpoints(self):
        """Addresses that get traffic: of pods that are ready, and not deleted."""
        with self.lock:
            return [pod.address for pod in self.pods if pod.ready]

    def _free(self):
        """A slot; where none is free, the next that becomes so."""
        while True:
            with self.lock:
                self.going = [pod for pod in self.going if not pod.ended.is_set()]
                taken = {pod.address for pod in self.pods + self.going}
                free = [address for address in self.addresses if address not in taken]
                waiting = list(self.going)
            if free:
                return free[0]
            if not waiting:
                raise SystemExit("there are fewer addresses than pods")
            waiting[0].ended.wait(1)

    def add(self):
        address = self._free()
        self.count += 1
        pod = Pod(f"ocelli-{self.count}", self.spec, address, self.ports, self.folder, self.sources)
        with self.lock:
            self.pods.append(pod)
        return pod

    def remove(self, pod):
        """In the background, as a pod ends while the rollout goes on."""
        with self.lock:
            self.pods.remove(pod)
            self.going.append(pod)
        thread = threading.Thread(target=self._remove, args=(pod,), daemon=True)
        thread.start()
        self.on_change()

    def _remove(self, pod):
        status = pod.delete()
        if status != 0 or pod.killed_at_grace:
            self.problems.append(f"{pod.name} ended with {status}" + (", killed at its grace" if pod.killed_at_grace else ""))

    def scale(self, replicas):
        """To this many; waits until they are ready."""
        self.replicas = replicas
        new = [self.add() for _ in range(replicas - len(self.pods))]
        for pod in list(self.pods)[replicas:]:
            self.remove(pod)
        for pod in new:
            self.until_ready(pod)
        self.on_change()

    def until_ready(self, pod):
        end = time.monotonic() + 300
        while not pod.wait("ready", True, 1):
            if time.monotonic() > end or pod.restarts > 3:
                raise SystemExit(f"{pod.name} did not become ready: {pod.statuses}\n{pod.process.log[-2000:]}")
        self.on_change()

    def roll(self):
        """Every pod by a new one: the new one is ready before an old one ends."""
        for old in list(self.pods):
            self.until_ready(self.add())
            self.remove(old)

    def restarts(self):
        return sum(pod.restarts for pod in self.pods)

    def stop(self):
        """Ends what is left."""
        for pod in self.pods + self.going:
            pod.kill()


def quantity(text):
    """A quantity of Kubernetes, of those that are used for processors and memory."""
    for suffix, factor in (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("m", 0.001)):
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * factor
    return float(text)


@functools.lru_cache
def libraries(program):
    """The folders of a program and of what it links, but for those of the system."""
    found = {os.path.dirname(program), *(str(path.parent) for path in rootfs.closure([program], os.environ.get("LD_LIBRARY_PATH", "")))}
    return frozenset(path for path in found if not path.startswith(("/usr/", "/lib/", "/lib64")))


def free_ports(spec):
    """A port of this machine for each of a PodSpec's."""
    return {port["containerPort"]: daemon.free_port() for container in spec["containers"] for port in container["ports"]}


def models_volume(folder, models):
    """What an image of models is when it is mounted."""
    folder = pathlib.Path(folder)
    shutil.copytree(models, folder / "models")
    return folder
