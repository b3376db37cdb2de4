"""What stands between clients and pods: a Kubernetes Service, or one of the shipped proxies with the pods' addresses in it.

The proxies know every address that a pod may have, and find out themselves who answers. A Service learns of endpoints late: who
deletes a pod and who sends it requests learn of it at different times.
"""

import pathlib
import random
import re
import shutil
import subprocess
import threading
import time

import daemon
import kubelet
import proxies

LATE = 3.0  # seconds in which a deleted pod still gets new connections


class Service:
    """Every connection goes to one of the endpoints at random, as kube-proxy has it; a deleted pod is chosen for `LATE` seconds more."""

    name = "Service"

    def __init__(self, folder):
        self.deployment, self.seen, self.lock = None, {}, threading.Lock()

    def start(self, deployment):
        self.deployment = deployment

    def target(self):
        now = time.monotonic()
        with self.lock:
            for address in self.deployment.endpoints():
                self.seen[address] = now
            chosen = random.choice([address for address, last in self.seen.items() if now - last < LATE])
        return chosen, self.deployment.port

    def stop(self):
        pass


class Proxy:
    """A proxy with its shipped configuration; ports and addresses are others."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / self.name
        self.folder.mkdir()
        self.port = daemon.free_port()
        self.process = None

    def start(self, deployment):
        text = self.configuration([f"{address}:{deployment.port}" for address in deployment.addresses])
        file = self.folder / self.file
        file.write_text(text)
        self.log = (self.folder / "log").open("w")
        self.process = subprocess.Popen(
            self.command(str(file)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log, env=proxies.environment())
        # Until it has looked at all of them.
        time.sleep(3)
        if self.process.poll() is not None:
            raise SystemExit(f"{self.name} ended:\n{(self.folder / 'log').read_text()[-1000:]}")

    def target(self):
        return "127.0.0.1", self.port

    def stop(self):
        if self.process:
            daemon.end(self.process, 10)


class HAProxy(Proxy):
    name, file = "haproxy", "haproxy.cfg"

    def configuration(self, pods):
        text = (daemon.ROOT / "config/haproxy.cfg").read_text().replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")
        servers = re.findall(r"^    server .*\n", text, re.MULTILINE)
        mine = "".join(f"    server pod{i} {pod}\n" for i, pod in enumerate(pods))
        return text.replace("".join(servers), mine)

    def command(self, file):
        return ["haproxy", "-db", "-f", file]


class Nginx(Proxy):
    name, file = "nginx", "nginx.conf"

    def configuration(self, pods):
        text = (daemon.ROOT / "config/nginx.conf").read_text().replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")
        servers = re.findall(r"^        server 127\.0\.0\.1:.*\n", text, re.MULTILINE)
        text = text.replace("".join(servers), "".join(f"        server {pod} max_fails=0;\n" for pod in pods))
        paths = "".join(f"{kind}_temp_path {self.folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"pid {self.folder}/nginx.pid;\ndaemon off;\n" + text.replace("http {", f"http {{\naccess_log off;\n{paths}", 1)

    def command(self, file):
        return ["nginx", "-p", str(self.folder), "-e", "stderr", "-c", file]


def envoy_binary():
    """Envoy of the packages of `make setup-tests`, or an installed one."""
    beside = daemon.ROOT / ".build/deployment/bin/envoy"
    return str(beside) if beside.exists() else shutil.which("envoy")


class Envoy(Proxy):
    name, file = "envoy", "envoy.yaml"

    def configuration(self, pods):
        import yaml
        document = yaml.safe_load((daemon.ROOT / "deploy/envoy.yaml").read_text())
        resources = document["static_resources"]
        resources["listeners"][0]["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": self.port}
        (cluster,) = resources["clusters"]
        cluster["type"] = "STATIC"
        del cluster["dns_refresh_rate"]
        cluster["load_assignment"]["endpoints"] = [{"lb_endpoints": [
            {"endpoint": {"address": {"socket_address": {"address": host, "port_value": int(port)}}}}
            for host, port in (pod.split(":") for pod in pods)]}]
        return yaml.safe_dump(document)

    def command(self, file):
        return [envoy_binary(), "-c", file, "--log-level", "warn", "--concurrency", "1", "--use-dynamic-base-id"]


FRONTS = {front.name: front for front in (Service, HAProxy, Nginx, Envoy)}


def absence(name):
    """Why one cannot be tried; None where it can."""
    if name in ("haproxy", "nginx") and not proxies.installed(name):
        return f"{name} is not installed"
    if name == "envoy" and not envoy_binary():
        return "Envoy is not installed"
    return None
