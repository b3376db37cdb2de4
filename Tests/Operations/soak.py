"""A soak: mixed clients, reloads and scrapes against the real daemon, and a verdict on memory, descriptors and threads.

The run is cut into rounds. In each, clients work as hard as they can; then all of them go home, and when the daemon has no
connection left it is looked at: what it still has then, it keeps. So the counts can be compared exactly, and memory
without the noise of what happens to be under way.
"""

import argparse
import collections
import os
import pathlib
import platform
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
import verdict
import wire

CLIENTS = 6
# Part of the run before which nothing is judged: caches, pools and the allocator's arenas fill up.
WARM_UP = 0.25


class Crowd:
    """The clients of one round."""

    def __init__(self, port, seed, end):
        self.port, self.seed, self.end = port, seed, end
        self.done, self.wrong = collections.Counter(), []
        self.lock = threading.Lock()

    def work(self, index):
        rng = random.Random(f"{self.seed}-{index}")
        client = behaviours.Client(self.port, rng)
        kinds, weights = zip(*behaviours.WEIGHTS.items())
        while time.monotonic() < self.end:
            kind = rng.choices(kinds, weights)[0]
            problem = None
            try:
                kind(client)
            except (behaviours.Wrong, wire.Lost, OSError, ValueError, KeyError) as error:
                problem = f"{kind.__name__}: {type(error).__name__}: {error}"
            with self.lock:
                self.done[kind.__name__] += 1
                if problem and len(self.wrong) < 100:
                    self.wrong.append(problem)
        client.close()

    def run(self):
        threads = [threading.Thread(target=self.work, args=(i,)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        if any(thread.is_alive() for thread in threads):
            self.wrong.append("a client is stuck")


class Operator(threading.Thread):
    """Reloads, with good and bad configurations, and scrapes."""

    def __init__(self, process, config, seed, every):
        super().__init__(daemon=True)
        self.process, self.config, self.every = process, config, every
        self.random = random.Random(f"{seed}-operator")
        # Held while it does something: the daemon is not at rest then.
        self.busy = threading.Lock()
        self.over = threading.Event()
        self.reloads, self.refused, self.scrapes, self.wrong = 0, 0, 0, []

    def run(self):
        turn = 0
        while not self.over.wait(self.every):
            with self.busy:
                turn += 1
                self.scrape()
                self.reload(bad=turn % 4 == 0)

    def scrape(self):
        try:
            text = scrape(self.process.port)
            self.scrapes += 1
            if "ocelli_pictures_total" not in text:
                self.wrong.append("a scrape without ocelli_pictures_total")
        except (wire.Lost, OSError) as error:
            self.wrong.append(f"scrape: {error}")

    def reload(self, bad):
        self.config.write_text("{ top: nonsense }" if bad else configuration(self.random))
        words = "nothing has changed" if bad else "reload: done"
        mark = self.process.mark()
        self.process.signal(signal.SIGHUP)
        if not self.process.wait_for_log(words, 60, mark):
            self.wrong.append(f"a reload did not end: {words}")
        self.reloads += not bad
        self.refused += bad


def scrape(port):
    connection = wire.Connection(port)
    try:
        return connection.ask(wire.request("GET", "/metrics", fields=[("Connection", "close")])).body.decode()
    finally:
        connection.close()


def samples(port):
    """The page of metrics as a dictionary."""
    lines = (line.rsplit(" ", 1) for line in scrape(port).splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def configuration(rng):
    """A configuration whose live settings change from reload to reload."""
    return (
        f"{{ top: {rng.randint(1, 10)}, max_in_flight: {rng.randint(2, 6)}, queue_length: {rng.randint(16, 64)},"
        f" log_top_label: {rng.choice(['true', 'false'])}, max_deadline: '{rng.randint(60, 120)}s' }}")


def rest(process):
    """Waits until the daemon has nothing to do: no connection but the one that asks. Every model is loaded then, whatever
    the last client left unloaded: the same state each time."""
    connection = wire.Connection(process.port)
    connection.ask(wire.request("POST", "/v2/repository/models/second/load", b"{}", fields=[("Connection", "close")]))
    connection.close()
    for _ in range(300):
        page = samples(process.port)
        if page["ocelli_connections_open"] <= 1 and page["ocelli_handlers_running"] <= 1:
            # Models that a reload has replaced go with their last request, and what they held a little later.
            before = None
            for _ in range(20):
                time.sleep(0.75)
                if process.files() == before:
                    break
                before = process.files()
            return page
        time.sleep(0.1)
    raise SystemExit(f"the daemon does not come to rest: {page['ocelli_connections_open']} connections are open")


def main():
    parser = argparse.ArgumentParser(prog="Tests/Operations/soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("minutes", type=float, help="how long to run")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="what the clients do; printed")
    parser.add_argument("--report", metavar="FILE", help="write the table there as Markdown, too")
    arguments = parser.parse_args()
    print(f"soak: {arguments.minutes} minutes, seed {arguments.seed}", flush=True)

    folder = pathlib.Path(tempfile.mkdtemp(prefix="ocelli-soak-"))
    process = None
    try:
        for name in ("digits", "second"):
            shutil.copytree(daemon.MODELS / "digits", folder / "models" / name)
        manifest = folder / "models/second/model.json"
        manifest.write_text(manifest.read_text().replace('"id": "digits"', '"id": "second"'))
        config = folder / "ocelli.json5"
        config.write_text(configuration(random.Random(arguments.seed)))
        process = daemon.Daemon(
            ["--config", str(config), "--listen", "127.0.0.1:0", "--models", str(folder / "models"),
             "--default-model", "digits", "--header-timeout", "2s", "--body-grace", "2s", "--idle-timeout", "3s",
             "--max-connections", "64", "--write-timeout", "2s", "--cache-dir", str(folder / "cache")])
        return run(process, config, arguments)
    finally:
        if process:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def ended(process, error):
    """Tells of a daemon that does not answer any more."""
    try:
        how = f"has ended with {process.process.wait(5)}"
    except subprocess.TimeoutExpired:
        how = "runs, and takes no connection"
    print(process.log[-5000:])
    print(f"FAIL: {error}: the daemon {how}")
    return 1


def run(process, config, arguments):
    start = time.monotonic()
    seconds = arguments.minutes * 60
    # Enough rounds to fit a line through them, each long enough for something to happen.
    length = max(6.0, min(30.0, seconds / 14))
    rows, done, wrong = [], collections.Counter(), []
    operator = Operator(process, config, arguments.seed, every=length / 4)
    operator.start()
    while time.monotonic() < start + seconds:
        crowd = Crowd(process.port, f"{arguments.seed}-{len(rows)}", time.monotonic() + length)
        crowd.run()
        done.update(crowd.done)
        wrong += crowd.wrong
        with operator.busy:
            try:
                page = rest(process)
            except (wire.Lost, OSError) as error:
                return ended(process, error)
            rows.append(
                verdict.Row(
                    seconds=time.monotonic() - start, visits=sum(done.values()), resident=process.resident(),
                    files=process.files(), threads=process.threads(),
                    internal=sum(v for k, v in page.items() if k.startswith("ocelli_errors_total{code=\"internal\""))))
        print(rows[-1].text, flush=True)
    operator.over.set()
    operator.join(60)
    status = process.stop()
    wrong += operator.wrong
    warm_up = int(len(rows) * WARM_UP)
    problems = verdict.judge(rows, warm_up)
    if wrong:
        problems.append(f"{len(wrong)} answers were wrong, e.g. " + "; ".join(wrong[:5]))
    if status != 0:
        problems.append(f"the daemon ended with status {status}")
    if not operator.reloads or not operator.refused:
        problems.append("no reload came about")
    visits = ", ".join(f"{name} {n}" for name, n in sorted(done.items()))
    summary = (
        f"{sum(done.values())} visits ({visits}); {operator.reloads} reloads, {operator.refused} refused ones, "
        f"{operator.scrapes} scrapes; {process.lines} lines of log")
    print(summary)
    for line in verdict.explain(rows, warm_up):
        print(line)
    print("PASS" if not problems else "FAIL: " + "\n      ".join(problems))
    if arguments.report:
        machine = f"{platform.machine()}, {os.cpu_count()} processors, Linux {platform.release()}"
        verdict.report(arguments, rows, warm_up, summary, problems, machine)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
