"""nginx and HAProxy, with the configurations of config/, before two daemons: what clients see while daemons come and go.

Clients ask through the proxy all the time. First one daemon is drained (SIGTERM) and restarted, then the other is killed
(SIGKILL) and restarted, and all that clients get is counted.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import struct
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import daemon
import wire

CLIENTS = 8


class Proxy:
    """One of the two, with its example configuration; only the ports and the paths of its own files are others."""

    def __init__(self, name, port, backends, folder):
        self.name = name
        text = (daemon.ROOT / "config" / f"{name}.cfg" if name == "haproxy" else daemon.ROOT / "config/nginx.conf").read_text()
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{port}")
        for given, mine in zip(("127.0.0.1:8081", "127.0.0.1:8082"), backends):
            if given not in text:
                raise SystemExit(f"the example of {name} has no {given}")
            text = text.replace(given, f"127.0.0.1:{mine}")
        file = folder / name
        if name == "nginx":
            paths = "".join(
                f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            text = f"pid {folder}/nginx.pid;\ndaemon off;\n" + text.replace("http {", f"http {{\naccess_log off;\n{paths}", 1)
            command = ["nginx", "-p", str(folder), "-e", "stderr", "-c", str(file)]
        else:
            command = ["haproxy", "-db", "-f", str(file)]
        file.write_text(text)
        check = subprocess.run(
            command + (["-t"] if name == "nginx" else ["-c"]), capture_output=True, text=True, env=environment())
        if check.returncode:
            raise SystemExit(f"{name} does not take its configuration:\n{check.stderr}")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=(folder / f"{name}.log").open("w"), env=environment())

    def stop(self):
        daemon.end(self.process, 10)


def environment():
    """Debian keeps both in sbin."""
    return os.environ | {"PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}


def installed(name):
    return shutil.which(name, path=environment()["PATH"]) is not None


def padded(picture, size):
    """A PNG made as large as a photograph, by a chunk of text that no decoder reads."""
    text = b"tEXt" + b"Comment\0" + b"x" * size
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    return picture[:33] + chunk + picture[33:]


def pictures():
    """(bytes, digit, kind): pictures that fit into HAProxy's buffer, and those that do not."""
    small = [(data, digit, "small") for data, digit in daemon.pictures()]
    png, digit = next((data, digit) for data, digit in daemon.pictures() if data.startswith(b"\x89PNG"))
    return small + [(padded(png, 400_000), digit, "small")] * 3 + [(padded(png, 700_000), digit, "large")] * 3


class Clients:
    """Ask all the time; keep their connections to the proxy as browsers do."""

    def __init__(self, port, seed):
        self.port, self.seed = port, seed
        self.phase = "steady"
        self.counts = collections.defaultdict(collections.Counter)
        self.samples = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(i,), daemon=True) for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def work(self, index):
        rng = random.Random(f"{self.seed}-{index}")
        connection, fresh = None, True
        choice = pictures()
        while not self.over.is_set():
            data, digit, kind = rng.choice(choice)
            before = self.phase
            try:
                fresh = connection is None
                connection = connection or wire.Connection(self.port, timeout=90)
                answer = connection.ask(wire.request("POST", "/v1/classify", data))
                right = answer.status == 200 and answer.json["classifications"][0]["label"] == digit
                what = "answered" if right else str(answer.status)
                sample = "" if right else answer.body[:200].decode(errors="replace")
                if not answer.keeps:
                    connection.close()
                    connection = None
            except (wire.Lost, OSError) as error:
                what, sample = ("lost" if fresh else "lost (kept connection)"), str(error)
                if connection:
                    connection.close()
                connection = None
            # A request that was under way when something happened belongs to what happened.
            phase = self.phase if before == "steady" else before
            with self.lock:
                self.counts[phase, kind][what] += 1
                if what != "answered" and len(self.samples) < 5:
                    self.samples.append(f"{phase}: {kind}: {what}: {sample}")

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(100)


def trial(name, seed, rounds):
    """One proxy: what clients got in each phase, and what they must not have got."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ocelli-proxies-"))
    front, *backends = (daemon.free_port() for _ in range(3))
    daemons, proxy, clients = [None, None], None, None

    def start(index):
        # As config/haproxy.cfg and config/nginx.conf say: with a delay in which the proxy notices.
        daemons[index] = daemon.Daemon(["--listen", f"127.0.0.1:{backends[index]}", "--drain-delay", "2s"])

    try:
        start(0)
        start(1)
        proxy = Proxy(name, front, backends, folder)
        for _ in range(100):
            try:
                connection = wire.Connection(front)
                ready = connection.ask(wire.request("GET", "/readyz")).status == 200
                connection.close()
                if ready:
                    break
            except (OSError, wire.Lost):
                pass
            time.sleep(0.1)
        clients = Clients(front, seed)
        statuses = []
        time.sleep(0.5)
        for turn in range(rounds):
            for phase, number in (("drain", signal.SIGTERM), ("kill", signal.SIGKILL)):
                index = turn % 2 if phase == "drain" else (turn + 1) % 2
                clients.phase = phase
                daemons[index].signal(number)
                statuses.append((phase, daemons[index].process.wait(60)))
                time.sleep(0.5)
                start(index)
                # Both proxies look at a daemon that was away again within a second.
                time.sleep(1.2)
                clients.phase = "steady"
                time.sleep(0.2)
        clients.stop()
        return clients, statuses
    finally:
        if clients:
            clients.over.set()
        if proxy:
            proxy.stop()
        for one in daemons:
            if one:
                one.kill()
        shutil.rmtree(folder, ignore_errors=True)


def judge(name, clients, statuses, rounds):
    """What must not have been: its problems, after printing what was."""
    problems = []
    for phase in ("steady", "drain", "kill"):
        for kind in ("small", "large"):
            counts = clients.counts[phase, kind]
            got = ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
            print(f"{name:8} {phase:7} {kind:6} {got}")
            bad = sum(counts.values()) - counts["answered"]
            if not counts["answered"]:
                problems.append(f"{name}: no {kind} picture was answered in the phase {phase}")
            # HAProxy sends again what is in its buffer; of larger bodies a killed daemon loses those that it had.
            may_lose = CLIENTS * rounds if (name, phase, kind) == ("haproxy", "kill", "large") else 0
            if bad > may_lose:
                problems.append(f"{name}: {bad} requests of {kind} pictures failed in the phase {phase}: {clients.samples}")
    for phase, status in statuses:
        if phase == "drain" and status != 0:
            problems.append(f"{name}: a drained daemon ended with {status}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("proxies", nargs="*", default=["nginx", "haproxy"])
    parser.add_argument("--rounds", type=int, default=1, help="drains and kills of each")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    print(f"proxies: seed {arguments.seed}, {arguments.rounds} drains and kills each", flush=True)
    names = [name for name in arguments.proxies if installed(name)]
    for name in set(arguments.proxies) - set(names):
        print(f"{name} is not installed: skipped")
    if not names:
        return 77  # nothing could be tried
    problems = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        trials = {name: pool.submit(trial, name, arguments.seed, arguments.rounds) for name in names}
        for name, one in trials.items():
            problems += judge(name, *one.result(), arguments.rounds)
    print("PASS" if not problems else "FAIL: " + "\n      ".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
