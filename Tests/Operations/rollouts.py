"""The shipped Deployment under load: rolled, held by goldens, scaled, resized, and with a replica that dies, refuses or
stands still. What clients see.

The manifests of deploy/kubernetes are read as they are (kubelet.py), and clients ask through a Service, HAProxy, nginx and Envoy with
their shipped configurations (fronts.py). No request may be lost in a rollout, nor by scaling.

usage: rollouts.py [FRONT...] [--rollouts N] [--resize] [--faults] [--seed N]
"""

import argparse
import collections
import http.server
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

import daemon
import fronts
import images
import kubelet
import proxies
import wire

CLIENTS = 6
FAULT_SECONDS = 12.0
# As docs/rollout.md has it: what the log of a pod says whose goldens differ.
DIFFERS = (
    r"could not be loaded: bundle \"digits\" cannot be served: 1 of 1 golden differs: seven.png: expected 7 1.00, got 5 0.98")


class Clients:
    """Ask all the time, keep their connections, and count what they get in each phase."""

    def __init__(self, front, seed, path="/v1/classify"):
        self.front, self.path, self.phase = front, path, "steady"
        self.counts = collections.defaultdict(collections.Counter)
        self.times = collections.defaultdict(list)
        self.samples = []
        self.lock, self.over = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self._work, args=(random.Random(f"{seed}-{i}"),), daemon=True) for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def _work(self, rng):
        connection = None
        choice = proxies.pictures()
        while not self.over.is_set():
            data, digit, kind = rng.choice(choice)
            # A request that was under way when something happened belongs to what happened.
            before, begin = self.phase, time.monotonic()
            try:
                if connection is None:
                    host, port = self.front.target()
                    connection = wire.Connection(port, timeout=90, host=host)
                answer = connection.ask(wire.request("POST", self.path, data))
                right = answer.status == 200 and answer.json["classifications"][0]["label"] == digit
                what = "answered" if right else str(answer.status)
                sample = "" if right else answer.body[:200].decode(errors="replace")
                # Now and then a new connection, as pools of clients make them: to a Service that is another choice.
                if not answer.keeps or rng.random() < 0.03:
                    connection.close()
                    connection = None
            except (wire.Lost, OSError) as error:
                what, sample = "lost", str(error)
                if connection:
                    connection.close()
                connection = None
            phase = self.phase if before == "steady" else before
            with self.lock:
                self.counts[phase][what] += 1
                self.times[phase].append(time.monotonic() - begin)
                if what != "answered" and len(self.samples) < 8:
                    self.samples.append(f"{phase}: {kind}: {what}: {sample}")
            # Load, not overload: a rollout has one replica's work to spare, as a cluster that is sized for it has.
            time.sleep(rng.uniform(0, 0.1))

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(100)

    def row(self, phase):
        """(asked, what else than answers, seconds of the median, of the 99th percentile, the longest)."""
        with self.lock:
            counts, times = dict(self.counts[phase]), sorted(self.times[phase])
        total = sum(counts.values())
        answered = counts.pop("answered", 0)
        at = lambda share: times[min(len(times) - 1, int(share * len(times)))] if times else 0.0
        return total, answered, counts, at(0.5), at(0.99), times[-1] if times else 0.0


def resized(pod):
    """Whether a pod follows a resize in place, which nothing tells it of: it looks every minute."""
    mark = pod.process.mark()
    pod.resize(cpu="1", memory="768Mi")
    return all(
        pod.process.wait_for_log(f"limits: {name} changed from ", seconds=100, since=mark) for name in ("processors", "threads", "memory"))


def spoiled(bundle):
    """The digits with two labels exchanged, and a golden that knows better."""
    shutil.copytree(daemon.MODELS / "digits", bundle)
    labels = bundle / "labels.txt"
    labels.write_text(labels.read_text().translate(str.maketrans("57", "75")))
    (bundle / "golden").mkdir()
    shutil.copy(daemon.EXAMPLES / "seven.png", bundle / "golden")
    (bundle / "golden/expected.jsonl").write_text('{"file": "seven.png", "label": "7"}\n')


def held(deployment, folder):
    """A rollout to models whose goldens differ: the new pod says so, and does not become ready. Its problems."""
    spoiled(folder / "models/digits")
    before, deployment.sources = deployment.sources, {"models": folder}
    pod, problems = deployment.add(), []
    if DIFFERS not in (daemon.ROOT / "docs/rollout.md").read_text():
        problems.append(f"docs/rollout.md does not say: {DIFFERS}")
    if not pod.process.wait_for_log(DIFFERS):
        problems.append(f"the new pod does not say that its goldens differ: {pod.process.log[-1500:]}")
    # Some startup probes.
    if pod.wait("ready", True, 5):
        problems.append("a pod whose goldens differ became ready")
    # The rollout is undone.
    deployment.sources = before
    deployment.remove(pod)
    return problems


def rollouts(front_name, count, seed, folder, resize=False):
    """Rolls, scales and resizes behind one front; its problems."""
    deployment = front = clients = None
    try:
        manifest = kubelet.deployment("base")
        sources = {"models": kubelet.models_volume(folder / f"image-{front_name}", daemon.MODELS)}
        front = fronts.FRONTS[front_name](folder)
        deployment = kubelet.Deployment(manifest["spec"], folder / front_name, sources)
        front.start(deployment)
        clients = Clients(front, seed)
        time.sleep(1)
        clients.phase = "rollouts"
        for _ in range(count):
            deployment.roll()
        clients.phase = "held"
        held_problems = held(deployment, folder / f"spoiled-{front_name}")
        clients.phase = "scaling"
        # Never two addresses without a pod: nginx, which does not probe, tries two (`proxy_next_upstream_tries`).
        deployment.scale(3)
        deployment.scale(2)
        time.sleep(8)
        clients.phase = "resizing"
        unchanged = [pod.name for pod in list(deployment.pods) if resize and not resized(pod)]
        clients.phase = "after"
        restarts = deployment.restarts()
        clients.stop()
        problems = held_problems + deployment.problems
        if restarts:
            problems.append(f"{restarts} containers were restarted")
        if unchanged:
            problems.append(f"the limits of {', '.join(unchanged)} did not follow the resize")
        phases = ("steady", "rollouts", "held", "scaling", *(["resizing"] if resize else []))
        for phase, row in zip(phases, report(front_name, clients, phases, problems)):
            if row[2]:
                problems.append(f"{phase}: {row[2]}: {clients.samples}")
        return [f"{front_name}: {problem}" for problem in problems]
    finally:
        for one in (clients, front, deployment):
            if one:
                one.stop()


def volume(seed, folder):
    """The overlay of a volume: another claim, then a version moved onto the claim of pods that run; goldens hold both."""
    stoppable = []
    try:
        manifest = kubelet.deployment("overlays/volume")
        (container,) = manifest["spec"]["template"]["spec"]["containers"]
        # Looked at more often than shipped: the test is to be short.
        container["args"] = [re.sub("^--repository-poll=.*", "--repository-poll=1s", word) for word in container["args"]]
        digits = folder / "claim/models/digits"
        shutil.copytree(daemon.MODELS / "digits", digits / "1")
        deployment = kubelet.Deployment(manifest["spec"], folder / "volume", {"models": folder / "claim"})
        stoppable.append(deployment)
        front = fronts.Service(folder)
        front.start(deployment)
        clients = Clients(front, seed)
        stoppable.append(clients)
        time.sleep(1)
        clients.phase = "held"
        problems = held(deployment, folder / "another-claim")
        clients.phase = "moved"
        spoiled(folder / "claim/new")
        (folder / "claim/new").rename(digits / "2")
        for pod in deployment.pods:
            if not pod.process.wait_for_log(f"model digits version 2 {DIFFERS}"):
                problems.append(f"{pod.name} does not say that the goldens of version 2 differ: {pod.process.log[-1500:]}")
        # As long as two readiness probes that fail.
        time.sleep(7)
        if len(deployment.endpoints()) < deployment.replicas or deployment.restarts():
            problems.append(f"ready are {deployment.endpoints()} after {deployment.restarts()} restarts")
        clients.stop()
        for row in report("volume", clients, ("steady", "held", "moved"), problems):
            if row[2]:
                problems.append(f"{row[2]}: {clients.samples}")
        return [f"volume: {problem}" for problem in problems + deployment.problems]
    finally:
        for one in reversed(stoppable):
            one.stop()


class Refuser(http.server.BaseHTTPRequestHandler):
    """A replica that is ready, and answers every picture with 503 and Retry-After, as one under overload does."""

    protocol_version = "HTTP/1.1"

    def _answer(self, status, body):
        self.send_response(status)
        after = "Retry-After: 1\r\n" if status == 503 else ""
        # In one write: a proxy that asks another replica leaves as soon as it has read the status.
        self.wfile.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{after}\r\n".encode() + body)

    def do_GET(self):
        self._answer(200, b"{}")

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(503, b'{"error":{"code":"overloaded"}}')

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def faults(front_name, seed, folder):
    """One replica of two dies, stands still; one more refuses. What clients see is reported, and judged only where it is certain."""
    stoppable, problems, rows = [], [], []
    try:
        manifest = kubelet.deployment("base")
        sources = {"models": kubelet.models_volume(folder / f"faults-image-{front_name}", daemon.MODELS)}
        # No room for a third: a proxy that knows of an address where no pod is asks there too.
        deployment = kubelet.Deployment(manifest["spec"], folder / f"faults-{front_name}", sources, slots=2)
        stoppable.append(deployment)

        def ready():
            for pod in deployment.pods:
                deployment.until_ready(pod)
            time.sleep(2)

        def clients_of(name):
            (folder / name).mkdir()
            front = fronts.FRONTS[front_name](folder / name)
            stoppable.append(front)
            front.start(deployment)
            clients = Clients(front, seed)
            stoppable.append(clients)
            return front, clients

        front, clients = clients_of(f"two-{front_name}")
        time.sleep(2)
        # The pod stays, its container is started again.
        clients.phase = "killed"
        deployment.pods[0].signal(signal.SIGKILL)
        time.sleep(FAULT_SECONDS)
        ready()
        clients.phase = "steady"
        time.sleep(1)
        # The kubelet would restart it after a minute.
        clients.phase = "paused"
        deployment.pods[0].signal(signal.SIGSTOP)
        time.sleep(FAULT_SECONDS)
        deployment.pods[0].signal(signal.SIGCONT)
        time.sleep(1)
        clients.stop()
        front.stop()
        ready()
        rows += report(front_name, clients, ("steady", "killed", "paused"), problems)
        # A third replica that refuses everything.
        refuser = deployment.addresses[0].rpartition(".")[0] + ".99"
        server = Server((refuser, deployment.port), Refuser)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        deployment.addresses.append(refuser)
        endpoints = deployment.endpoints
        deployment.endpoints = lambda: [*endpoints(), refuser]
        front, clients = clients_of(f"three-{front_name}")
        clients.phase = "refusing"
        time.sleep(FAULT_SECONDS)
        clients.phase = "over"
        clients.stop()
        server.shutdown()
        server.server_close()
        rows += report(front_name, clients, ("refusing",), problems)
        if rows[0][2]:
            problems.append(f"without a fault: {rows[0][2]}")
        return [f"{front_name}: {problem}" for problem in problems]
    finally:
        for one in reversed(stoppable):
            one.stop()


def report(front_name, clients, phases, problems):
    """Prints a row for each phase; returns them."""
    rows = []
    for phase in phases:
        total, answered, others, median, late, longest = row = clients.row(phase)
        rows.append(row)
        print(f"{front_name:8} {phase:9} {total:6} asked, {answered:6} answered, others {others or 'none'}; "
              f"median {median * 1000:.0f} ms, p99 {late * 1000:.0f} ms, longest {longest * 1000:.0f} ms", flush=True)
        if not answered:
            problems.append(f"{phase}: nothing was answered")
    for sample in clients.samples[:4]:
        print(f"    {sample}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fronts", nargs="*", metavar="FRONT", help="default: all that are installed")
    parser.add_argument("--rollouts", type=int, default=1)
    parser.add_argument("--resize", action="store_true", help="also resizes in place: takes two minutes more for each front")
    parser.add_argument("--faults", action="store_true", help="also a replica that dies, stands still, refuses")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = parser.parse_args()
    if unknown := set(given.fronts) - set(fronts.FRONTS):
        parser.error(f"{', '.join(unknown)}: expected {', '.join(fronts.FRONTS)}")
    if missing := images.absence():
        print(f"skipped: {missing}")
        return 77
    print(f"rollouts: seed {given.seed}, {given.rollouts} rollouts behind each", flush=True)
    problems = []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ocelli-rollouts-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        for name in given.fronts or fronts.FRONTS:
            if missing := fronts.absence(name):
                print(f"{name}: skipped: {missing}")
                continue
            if given.rollouts:
                problems += rollouts(name, given.rollouts, given.seed, folder, given.resize)
            if given.rollouts and name == "Service":
                problems += volume(given.seed, folder)
            if given.faults:
                problems += faults(name, given.seed, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("PASS" if not problems else "FAIL: " + "\n      ".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
