"""Hostile scheduling: the real daemon is stopped, starved and pinned while clients of every manner ask. Each request that was
not aborted must have its answer, the right one, in a bounded time after the daemon is let alone; afterwards nothing may be in
flight, nothing waiting and no descriptor lost, and the next request must be answered."""

import argparse
import collections
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import behaviours
import daemon
import torment
import visits
import wire

CLIENTS = 6
MODELS = ("digits", "second", "batched")
# A request that has waited for this long has the daemon let alone; if it still has none this much later, its answer is lost.
CALM_AFTER, LOST_AFTER = 5, 15


class Client(threading.Thread):
    def __init__(self, index, port, seed, watch, end, wrong, done):
        super().__init__(daemon=True)
        self.asker = visits.Asker(port, random.Random(f"{seed}-{index}"), watch)
        self.end, self.wrong, self.done = end, wrong, done

    def run(self):
        kinds, weights = zip(*visits.WEIGHTS.items())
        while time.monotonic() < self.end and len(self.wrong) < 50:
            visit = self.asker.random.choices(kinds, weights)[0]
            try:
                visit(self.asker)
            except (visits.Wrong, wire.Lost, OSError, ValueError, KeyError, IndexError) as error:
                self.asker.close()
                self.wrong.append(f"{visit.__name__}: {type(error).__name__}: {error}")
            self.done[visit.__name__] += 1
        self.asker.close()


class Operator(threading.Thread):
    """Reloads from time to time."""

    def __init__(self, process, config, rng, end):
        super().__init__(daemon=True)
        self.process, self.config, self.random, self.end, self.count = process, config, rng, end, 0

    def run(self):
        while time.monotonic() < self.end:
            time.sleep(self.random.uniform(0.2, 4))
            self.config.write_text(f"{{ top: {self.random.randint(1, 10)} }}")
            self.process.signal(signal.SIGHUP)
            self.count += 1


class Bench(threading.Thread):
    """`ocelli load` against the tormented daemon, closed and open loop in turn: it must end, and account for each request."""

    def __init__(self, port, rng, end, wrong):
        super().__init__(daemon=True)
        self.port, self.random, self.end, self.wrong, self.runs = port, rng, end, wrong, 0

    def run(self):
        picture = str(daemon.EXAMPLES / "seven.png")
        target = f"unix:{self.port}" if isinstance(self.port, str) else f"127.0.0.1:{self.port}"
        while time.monotonic() < self.end:
            loop = self.random.choice([["--connections", "8"], ["--rate", str(self.random.choice([20, 200]))]])
            command = [daemon.binary(), "load", target, picture, *loop, "--seconds", "2", "--warm-up", "0", "--json"]
            try:
                ended = subprocess.run(command, capture_output=True, timeout=90, text=True)
                step = json.loads(ended.stdout)["steps"][0]
            except (subprocess.TimeoutExpired, ValueError, KeyError, IndexError) as error:
                self.wrong.append(f"bench {loop}: {type(error).__name__}: {error}")
                continue
            self.runs += 1
            reported = sum(step["statuses"].values()) + sum(step["failures"].values())
            # Those that were never sent, for a connection became free too late: a stopped server keeps them all.
            unsent = {"unanswered": step["due"] - step["sent"]} if step["due"] > step["sent"] else {}
            if reported != step["due"] or step["failures"] != unsent or set(step["statuses"]) != {"200"}:
                self.wrong.append(f"bench {loop}: {json.dumps(step)[:600]}")


def oversee(process, tormentor, watch, end, clients, wrong):
    """Watches the waits until the clients have gone home; lets the daemon alone when one grows long."""
    while any(client.is_alive() for client in clients):
        time.sleep(0.1)
        if not process.is_running():
            wrong.append("the daemon has ended")
            return
        if watch.oldest()[0] < CALM_AFTER:
            continue
        with tormentor.turn:
            tormentor.release()
            since = time.monotonic()
            while watch.oldest()[0] >= CALM_AFTER:
                time.sleep(0.1)
                if time.monotonic() - since > LOST_AFTER:
                    seconds, what = watch.oldest()
                    wrong.append(f"no answer after {seconds:.1f} s, {LOST_AFTER} of them in peace: {what}")
                    diagnose(process)
                    return
        watch.calmed += 1


def diagnose(process):
    """What the daemon is doing, for who has to find out why."""
    print("threads:", collections.Counter(process.threads()), flush=True)
    if shutil.which("gdb"):
        command = ["gdb", "-p", str(process.pid), "-batch", "-ex", "thread apply all bt 12"]
        print(subprocess.run(command, capture_output=True, text=True, timeout=120).stdout[-30_000:], flush=True)


def samples(port):
    connection = wire.Connection(port)
    try:
        page = connection.ask(wire.request("GET", "/metrics", fields=[("Connection", "close")])).body.decode()
    finally:
        connection.close()
    return {n: float(v) for n, v in (line.rsplit(" ", 1) for line in page.splitlines() if line and line[0] != "#")}


def rest(process, port, files, wrong):
    """The daemon at rest: nothing in flight, nothing waiting, no descriptor more than before, and it answers."""
    end = time.monotonic() + 30
    while True:
        page = samples(port)
        busy = {n: v for n, v in page.items() if v and n.startswith(("ocelli_in_flight{", "ocelli_queue_depth"))}
        busy |= {n: page[n] for n in ("ocelli_connections_open", "ocelli_handlers_running") if page[n] > 1}
        if not busy and process.files() <= files + 1:
            break
        if time.monotonic() > end:
            wrong.append(f"not at rest: {busy}, {process.files()} descriptors of {files}")
            diagnose(process)
            break
        time.sleep(0.2)
    internal = {n: v for n, v in page.items() if v and n.startswith('ocelli_errors_total{code="internal"')}
    if internal:
        wrong.append(f"{internal}")
    ask_once(port, "/v1/classify")


def ask_once(port, path):
    data, digit = behaviours.PICTURES[0]
    connection = wire.Connection(port)
    try:
        visits.right(connection.ask(wire.request("POST", path, data)), digit)
    finally:
        connection.close()


def models(folder):
    """The embedded model three times: one comes and goes, one runs batches."""
    for name in MODELS:
        shutil.copytree(daemon.MODELS / "digits", folder / name)
        manifest = json.loads((folder / name / "model.json").read_text()) | {"id": name}
        if name == "batched":
            manifest["runtime"] = {"batch": 4}
        (folder / name / "model.json").write_text(json.dumps(manifest))


def run(arguments, folder):
    rng = random.Random(arguments.seed)
    models(folder / "models")
    config = folder / "ocelli.json5"
    config.write_text("{}")
    listen = f"unix:{folder}/socket" if arguments.unix else "127.0.0.1:0"
    process = daemon.Daemon(
        ["--config", str(config), "--listen", listen, "--models", str(folder / "models"), "--default-model", "digits",
         "--idle-timeout", f"{visits.IDLE_SECONDS}s", "--cache-dir", str(folder / "cache"),
         # Slots that were held for seconds of a stop let long waits be expected: no request is to be refused for that.
         "--queue-length", "4096", "--queue-wait", "1h", "--deadline", "1h", "--max-deadline", "1h", *arguments.settings])
    port = f"{folder}/socket" if arguments.unix else process.port
    wrong, done, watch = [], collections.Counter(), visits.Watch()
    tormentor = torment.Tormentor(process.pid, random.Random(rng.random()))
    try:
        samples(port)
        # A model keeps its compiled file open from its first use on.
        for name in MODELS:
            ask_once(port, f"/v1/models/{name}/classify")
        time.sleep(0.5)
        files = process.files()
        end = time.monotonic() + arguments.seconds
        clients = [Client(i, port, arguments.seed, watch, end, wrong, done) for i in range(CLIENTS)]
        operator = Operator(process, config, random.Random(rng.random()), end)
        bench = Bench(port, random.Random(rng.random()), end, wrong)
        for thread in [*clients, operator, tormentor] + ([] if arguments.no_bench else [bench]):
            thread.start()
        oversee(process, tormentor, watch, end, clients, wrong)
        tormentor.end()
        operator.join(30)
        if not arguments.no_bench:
            bench.join(120)
        if process.is_running():
            rest(process, port, files, wrong)
    finally:
        if tormentor.is_alive():
            tormentor.end()
        for hog in tormentor.hogs:
            hog.kill()
        status = process.stop()
    if status != 0:
        wrong.append(f"the daemon ended with status {status}: {process.log[-2000:]}")
    if watch.asked != watch.answered and not wrong:
        wrong.append(f"{watch.asked} asked, {watch.answered} answered")
    tormented = ", ".join(f"{count} {what}" for what, count in tormentor.done.items())
    print(
        f"{watch.asked} asked, {watch.answered} answered, {watch.aborted} aborted ("
        + ", ".join(f"{name} {count}" for name, count in sorted(done.items()))
        + f"); {operator.count} reloads, {bench.runs} bench runs; {tormented}, stopped for {tormentor.stopped:.0f} s, "
        f"let alone {watch.calmed} times")
    print("PASS" if not wrong else "FAIL: " + "\n      ".join(wrong[:20]))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(
        prog="Tests/Operations/chaos", usage="%(prog)s SECONDS [OPTIONS] [-- SETTINGS OF THE DAEMON]", description=__doc__)
    parser.add_argument("seconds", type=float, help="how long the clients ask")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="what everybody does; printed")
    parser.add_argument("--unix", action="store_true", help="through a Unix-domain socket")
    parser.add_argument("--no-bench", action="store_true", help="without ocelli bench beside the clients")
    words, settings = sys.argv[1:], []
    if "--" in words:
        words, settings = words[: words.index("--")], words[words.index("--") + 1 :]
    arguments = parser.parse_args(words, argparse.Namespace(settings=settings))
    print(f"chaos: {arguments.seconds:g} s, seed {arguments.seed} {' '.join(arguments.settings)}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ocelli-chaos-"))
    try:
        return run(arguments, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
