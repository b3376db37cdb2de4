"""Pictures classified by Ray or Spark on three simulated machines, while workers, daemons and drivers are killed at
random times: each picture must be answered once in the result, with its digit, and none may be missing.

A machine is a namespace of network, processes and mounts: it has an address of its own on a bridge, its own processes,
and a daemon of its own (its /tmp/ocelli-UID). The pictures, models and answers lie in a folder that all see, like a
network file system. Ray runs as its `ray start` does; Spark as a standalone cluster. The driver is that of docs/bulk.md
("After a kill"), started again when it dies, as a Job or a systemd unit would. Pictures are let through at a steady
pace until the last kill, so that each kill hits work.

usage: bulk_cluster.py [--engine ray|spark] [--kills N] [--pictures N] [--seed N]
Run it as root with the Python of Tests/Clients/requirements-bulk.txt (.build/bulk-clients/bin/python). Exits with 77
where it cannot run.
"""

import argparse
import collections
import ctypes
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import daemon

DOCUMENT = (daemon.ROOT / "docs/bulk.md").read_text()
ADDRESSES = ["10.77.0.1", "10.77.0.2", "10.77.0.3"]
# Pictures a second that are let through until the last kill.
PACE = 60
BROKEN = "broken"


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def end_with_parent():
    """The kernel kills this process when the one that started it is gone."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Machine:
    """A simulated machine. All its processes end with it, and it ends with this program, however that ends."""

    def __init__(self, number, own, hosts):
        """`own`: folders that only it sees. `hosts`: its /etc/hosts."""
        self.number, self.address = number, ADDRESSES[number]
        mounts = " && ".join([*(f"mount -t tmpfs -o mode=0700 tmpfs {folder}" for folder in own), f"mount --bind {hosts} /etc/hosts"])
        self.process = subprocess.Popen(
            ["unshare", "--net", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
             f"hostname machine{number + 1} && ip link set lo up && {mounts} && echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=end_with_parent)
        if self.process.stdout.readline() != "ready\n":
            skip(f"no namespaces: {self.process.stderr.read()}")
        self.pid = int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])
        self.space = os.readlink(f"/proc/{self.pid}/ns/pid")

    def network(self, *command):
        subprocess.run(["nsenter", "-t", str(self.pid), "-n", *command], check=True)

    def connect(self, first):
        """A cable to the bridge, which is in the first machine."""
        if self is first:
            first.network("ip", "link", "add", "bridge", "type", "bridge")
            first.network("ip", "addr", "add", f"{self.address}/24", "dev", "bridge")
            first.network("ip", "link", "set", "bridge", "up")
            return
        port = f"port{self.number + 1}"
        first.network("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(self.pid))
        first.network("ip", "link", "set", port, "master", "bridge", "up")
        self.network("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.network("ip", "link", "set", "eth0", "up")

    def start(self, command, environment, log):
        with open(log, "ab") as file:
            return subprocess.Popen(
                ["nsenter", "-t", str(self.pid), "-n", "-m", "-p", "-u", *map(str, command)], stdin=subprocess.DEVNULL, stdout=file,
                stderr=file, env={**environment, "SPARK_LOCAL_IP": self.address})

    def processes(self):
        """(process, words of its command line), as the machine that runs this sees them."""
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(path / "ns/pid") == self.space:
                    yield int(path.name), (path / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
            except OSError:
                pass

    def stop(self):
        self.process.kill()
        self.process.wait()


def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


class Ray:
    """`ray start` on each machine."""

    name = "ray"

    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment
        self.temporary = folder / "ray"
        self.own = [self.temporary]

    def start(self, machines):
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--num-cpus=2", "--object-store-memory=200000000", "--block"]
        for machine in machines:
            place = [f"--node-ip-address={machine.address}"]
            if machine.number == 0:
                place += ["--head", "--port=6379", "--include-dashboard=false", f"--temp-dir={self.temporary}"]
            else:
                place += [f"--address={ADDRESSES[0]}:6379"]
            machine.start(ray + place, self.environment, self.folder / f"log-{machine.number}")
            if machine.number == 0:
                time.sleep(5)

    def driver(self):
        code = next(code for code in re.findall(r"```python\n(.*?)```", DOCUMENT, re.S) if "CheckpointConfig" in code)
        # The pace, before the model; and the cluster.
        code = code.replace("import ocelli, ray", f"import ocelli, ray\nray.init(address='{ADDRESSES[0]}:6379', log_to_driver=False)", 1)
        code = code.replace('{"num_cpus": 0.5})', '{"num_cpus": 0.5}, override_num_blocks=BLOCKS).map_batches(GATE, num_cpus=0.1)', 1)
        return code.replace("concurrency=2", "concurrency=3")

    def is_worker(self, pid, words):
        return words[0].startswith("ray::") and any(name in words[0] for name in ("Classify", "Write", "Read"))

    def result(self, answers):
        import pyarrow.dataset

        return pyarrow.dataset.dataset(answers, format="parquet").to_table().to_pylist()


class Spark:
    """A standalone cluster: a worker on each machine, the master on the first."""

    name = "spark"

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = {**environment, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_DIRS": str(folder / "spark")}
        self.own = [folder / "spark"]

    def start(self, machines):
        import pyspark

        program = pathlib.Path(pyspark.__file__).parent / "bin/spark-class"
        for machine in machines:
            if machine.number == 0:
                machine.start([program, "org.apache.spark.deploy.master.Master", "--host", machine.address, "--port", "7077"],
                              self.environment, self.folder / "log-master")
                time.sleep(4)
            machine.start(
                [program, "org.apache.spark.deploy.worker.Worker", "--host", machine.address, "--cores", "1", "--memory", "1g", "--work-dir",
                 self.folder / f"work-{machine.number}", f"spark://{ADDRESSES[0]}:7077"], self.environment, self.folder / f"log-{machine.number}")

    def driver(self):
        code = next(code for code in re.findall(r"```python\n(.*?)```", DOCUMENT, re.S) if "checkpointLocation" in code)
        configured = "".join(f".config('{name}', '{value}')" for name, value in {
            "spark.driver.host": ADDRESSES[0], "spark.driver.bindAddress": ADDRESSES[0], "spark.ui.enabled": "false",
            "spark.executor.memory": "512m", "spark.deploy.maxExecutorRetries": "-1", "spark.task.maxFailures": "100",
            "spark.log.level": "WARN"}.items())
        code = code.replace("SparkSession.builder", f"SparkSession.builder.master('spark://{ADDRESSES[0]}:7077'){configured}", 1)
        code = code.replace("photos.mapInArrow(", "photos.mapInArrow(GATES, photos.schema).mapInArrow(", 1)
        return code.replace('"maxFilesPerTrigger", 10000', '"maxFilesPerTrigger", BLOCK * 15')

    def is_worker(self, pid, words):
        line = " ".join(words)
        # An executor, or one of its Python processes.
        return "CoarseGrainedExecutorBackend" in line or "pyspark.daemon" in line and "pyspark.daemon" in pathlib.Path(
            f"/proc/{parent(pid)}/cmdline").read_bytes().decode()

    def result(self, answers):
        from pyspark.sql import SparkSession

        # The log of the sink says which files count.
        spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
                 .config("spark.driver.bindAddress", "127.0.0.1").config("spark.log.level", "ERROR").getOrCreate())
        try:
            return spark.read.parquet(str(answers)).toArrow().to_pylist()
        finally:
            spark.stop()


GATE = '''
import os, pathlib, re, time
BLOCK, BLOCKS, RELEASED = {block}, {blocks}, pathlib.Path({released!r})
def wait(paths):
    last = max((int(re.search(r"(\\d+)-[^/]*$", path)[1]) for path in paths), default=-1)
    while last >= int(RELEASED.read_text()):
        time.sleep(0.05)
def GATE(batch):
    wait(batch["path"])
    return batch
def GATES(batches):
    for batch in batches:
        wait(batch.column("path").to_pylist())
        yield batch
'''


class Trial:
    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.rng = random.Random(given.seed)
        self.photos, self.answers = folder / "photos", folder / "answers"
        self.released = folder / "released"
        self.let, self.kills = 0.0, collections.Counter()
        # Who dies: each kind a third of the times.
        kinds = ["worker", "daemon", "driver"]
        self.victims = [kinds[number % 3] for number in range(given.kills)]
        self.rng.shuffle(self.victims)
        self.daemons = collections.defaultdict(set)
        self.problems = []

    def fill(self):
        self.photos.mkdir()
        examples = sorted(path for path in daemon.EXAMPLES.glob("*.*"))
        self.wanted = {}
        for number in range(self.given.pictures):
            example = self.rng.choice(examples)
            target = self.photos / f"{number:06}-{example.name}"
            shutil.copy(example, target)
            self.wanted[target.name] = str(daemon.DIGITS.index(example.name.split("-")[0].split(".")[0]))
            # Spark takes the oldest first.
            os.utime(target, (1.7e9 + number, 1.7e9 + number))
        broken = self.photos / f"{self.given.pictures // 2:06}-{BROKEN}.png"
        broken.write_bytes(b"no picture")
        self.wanted[broken.name] = None

    def release(self, count):
        self.let = min(count, self.given.pictures)
        new = self.released.with_suffix(".new")
        new.write_text(str(int(self.let)))
        new.rename(self.released)

    def run(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("OCELLI", "TEST_"))}
        environment.update(
            OCELLI=daemon.binary(), PYTHONPATH=f"{daemon.ROOT}/clients/python/src", PYSPARK_PYTHON=sys.executable, RAY_AUTH_MODE="disabled",
            RAY_USAGE_STATS_ENABLED="0", XDG_CACHE_HOME=str(self.folder / "cache"), PYTHONUNBUFFERED="1")
        engine = {"ray": Ray, "spark": Spark}[self.given.engine](self.folder, environment)
        local = pathlib.Path(f"/tmp/ocelli-{os.getuid()}")
        for folder in [local, *engine.own]:
            folder.mkdir(mode=0o700, exist_ok=True)
        self.fill()
        self.release(0)
        shutil.copytree(daemon.ROOT / "models", self.folder / "models")
        block = 20
        code = GATE.format(block=block, blocks=max(3, self.given.pictures // block), released=str(self.released)) + engine.driver()
        for name, place in {"/data/photos": self.photos, "/srv/models": self.folder / "models", "/data/answers-ray": self.answers,
                            "/data/answers-spark": self.answers}.items():
            code = code.replace(name, str(place))
        program = self.folder / "driver.py"
        program.write_text(code)
        machines = []
        try:
            hosts = self.folder / "hosts"
            hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} machine{number}\n" for number, address in enumerate(ADDRESSES, 1)))
            machines = [Machine(number, [local, *engine.own], hosts) for number in range(len(ADDRESSES))]
            for machine in machines:
                machine.connect(machines[0])
            engine.start(machines)
            time.sleep(8)
            ended = self.drive(engine, machines, program, environment)
        finally:
            # `timeout` sends its signal twice.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for machine in reversed(machines):
                machine.stop()
        if ended:
            self.judge(engine.result(self.answers))
        else:
            for log in sorted(self.folder.glob("log-*")):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}")

    def drive(self, engine, machines, program, environment):
        """Starts the driver until it has done everything, and kills meanwhile. False where it gave up."""
        starts, failures = 0, 0
        end = time.monotonic() + 900 + 60 * self.given.kills
        until = None
        driver = None
        last = time.monotonic()
        while time.monotonic() < end:
            now = time.monotonic()
            if driver is None:
                starts += 1
                driver = machines[0].start([sys.executable, program], environment, self.folder / "log-driver")
            elif driver.poll() is not None:
                if driver.returncode == 0:
                    print(f"{self.given.engine}: {sum(self.kills.values())} kills ({dict(self.kills)}), {starts} drivers, of which {failures} failed "
                          f"without being killed")
                    if sum(self.kills.values()) < self.given.kills:
                        self.problems.append("the work ended before the last kill")
                    return True
                failures += driver.returncode > 0
                if failures > 5 + self.given.kills // 2:
                    self.problems.append(f"{failures} drivers failed without being killed")
                    return False
                driver = None
                continue
            running = self.look(machines)
            done = sum(self.kills.values())
            if done == self.given.kills:
                if self.let < self.given.pictures:
                    self.release(self.given.pictures)
            elif running:
                # Never more than leaves work for the kills that are to come.
                most = self.given.pictures * (done + 1) // (self.given.kills + 1)
                self.release(max(self.let, min(most, self.let + PACE * (now - last))))
                if until is None:
                    until = now + self.rng.uniform(0.5, 7)
                elif now >= until and self.kill(engine, machines, self.victims[done]):
                    until = None
            last = now
            time.sleep(0.1)
        self.problems.append("it did not end in time")
        return False

    def look(self, machines):
        """Which machines have a daemon. More than one of the same models is a mistake."""
        count = 0
        for machine in machines:
            there = [pid for pid, words in machine.processes() if self.is_daemon(words)]
            self.daemons[machine.number].update(there)
            count += bool(there)
            if len(there) > 1:
                self.problems.append(f"machine {machine.number + 1} has {len(there)} daemons")
        return count

    def is_daemon(self, words):
        return "serve" in words[1:2] and words[0].endswith("ocelli")

    def kill(self, engine, machines, kind):
        """Kills one of a kind. False where there is none."""
        found = []
        for machine in machines:
            for pid, words in machine.processes():
                try:
                    if kind == "daemon" and self.is_daemon(words) or kind == "worker" and engine.is_worker(pid, words) or (
                            kind == "driver" and words[1:2] == [str(self.folder / "driver.py")]):
                        found.append((machine, pid, words))
                except OSError:
                    pass
        if not found:
            return False
        machine, pid, words = self.rng.choice(found)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.kills[kind] += 1
        print(f"  {int(self.let):6} let through: {kind} of machine {machine.number + 1} ({' '.join(words)[:60]})", flush=True)
        return True

    def judge(self, rows):
        counts = collections.Counter(pathlib.PurePath(row["path"]).name for row in rows)
        missing = self.wanted.keys() - counts.keys()
        double = [name for name, count in counts.items() if count > 1]
        wrong = []
        for row in rows:
            wanted = self.wanted.get(pathlib.PurePath(row["path"]).name)
            label = row["classifications"][0]["label"] if row["classifications"] else None
            if label != wanted or (row["error"] is None) != (wanted is not None):
                wrong.append((row["path"], label, row["error"]))
        print(f"{len(rows):,} answers for {len(self.wanted):,} pictures; daemons by machine: "
              f"{[len(self.daemons[number]) for number in range(len(ADDRESSES))]}")
        for what, found in (("missing", sorted(missing)), ("answered more than once", double), ("wrong", wrong)):
            if found:
                self.problems.append(f"{len(found)} {what}, such as {found[0]}")
        # An engine may give a machine that starts late on a busy host nothing to do.
        if sum(bool(self.daemons[number]) for number in range(len(ADDRESSES))) < 2:
            self.problems.append("fewer than two machines have done anything")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["ray", "spark"], default="ray")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pictures", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--keep", action="store_true", help="leave the folder with logs and answers")
    given = parser.parse_args()
    given.pictures = given.pictures or 600 + 270 * given.kills
    if os.getuid() != 0 or not all(shutil.which(name) for name in ("unshare", "nsenter", "ip")):
        skip("it needs root, unshare, nsenter and ip")
    try:
        __import__(given.engine if given.engine == "ray" else "pyspark")
    except ImportError:
        skip("run it with .build/bulk-clients/bin/python (make setup-tests)")
    print(f"bulk_cluster: seed {given.seed}, {given.engine}, {given.pictures:,} pictures, {given.kills} kills", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="obc-", dir="/var/tmp"))
    trial = Trial(given, folder)
    try:
        trial.run()
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print("PASS" if not trial.problems else "FAIL: " + "\n      ".join(dict.fromkeys(trial.problems)))
    return 1 if trial.problems else 0


if __name__ == "__main__":
    sys.exit(main())
