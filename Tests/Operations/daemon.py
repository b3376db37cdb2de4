"""The real binary under test or measured: started, asked over HTTP, watched through /proc, and ended by its pid. Programs of
Tests/Operations, Tests/Parity, Benchmarks and deploy/checks share it. Only Python's own library."""

import atexit
import os
import pathlib
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
# TEST_ENGINE: the engine of the daemons, which then serve the digits in a format that it runs.
ENGINE = os.environ.get("TEST_ENGINE")


def models(engine=ENGINE):
    """The folder of models that has the digits classifier in a format that the engine runs."""
    return ROOT / ("Tests/Fixtures/litert" if engine == "litert" else "models")


MODELS = models()


# The side of the digits classifier's input.
SIDE = 64


def digits_shape(count=1):
    """The shape of a tensor of so many pictures, as the digits classifier takes it."""
    return [count, SIDE, SIDE, 1] if ENGINE == "litert" else [count, 1, SIDE, SIDE]


# The examples' file names begin with the digit that they show.
DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

# SIGTERM ends a script as Ctrl-C does, with nothing left behind; by itself it would end here and now. Programs whose threads block
# it, as Swift's tests do, hand that on to what they start.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


RESERVED = []


def free_port():
    """A port for a program that is told its port. A socket that is bound and does not listen holds it until this process ends, so
    that no other program is given it; servers set SO_REUSEADDR or SO_REUSEPORT and can listen on it meanwhile."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind(("127.0.0.1", 0))
    RESERVED.append(holder)
    return holder.getsockname()[1]


def wait_for(url, process, seconds=60):
    """Waits until a server answers at a URL; ends the program if the server has ended, or takes longer."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing answers at {url}")


def end(process, seconds=60):
    """Ends a process as a service manager does; its exit status, -1 if it had to be killed."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return -1


def processor_name():
    """The model of the processor, as the kernel names it."""
    found = re.search(r"^model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found[1] if found else platform.machine()


def processor_seconds(pid, children=False):
    """User and system time of a process in seconds, in steps of the kernel's tick: with that of threads that have ended, and of
    `children` that it has waited for."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15 if children else 13])) / os.sysconf("SC_CLK_TCK")


def memory(pid, field="VmRSS"):
    """MiB of a process by the kernel's name: VmRSS, VmHWM, RssAnon, or Pss, which counts a part of each shared page. 0: no such field."""
    text = pathlib.Path(f"/proc/{pid}/{'smaps_rollup' if field == 'Pss' else 'status'}").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.M)
    return int(found[1]) / 1024 if found else 0.0


def binary():
    """The daemon's path: what TEST_BINARY names, or the release build."""
    path = pathlib.Path(os.environ.get("TEST_BINARY") or ROOT / ".build/release/ocelli")
    if not os.access(path, os.X_OK):
        raise SystemExit(f"{path} is not built: run `make build` first")
    return str(path)


def pictures():
    """The example pictures: (bytes, the digit's label)."""
    found = []
    for path in sorted(EXAMPLES.glob("*.*")):
        digit = DIGITS.index(path.name.split("-")[0].split(".")[0])
        found.append((path.read_bytes(), str(digit)))
    return found


def serve(*options, program=None, **more):
    """A daemon on a port of its own that is ready, to be measured: its log is read without being looked at. `program`: another than
    `binary()`."""
    daemon = Daemon(["--listen", "127.0.0.1:0", *map(str, options)], program=program, ready=LOADED, **more)
    if LOADED[0] not in daemon.log:
        daemon.kill()
        raise SystemExit(f"the daemon did not become ready:\n{daemon.log}")
    daemon.discard_log()
    return daemon


# What the log says when all models that are loaded at the start have been tried: all are ready, or not all.
LOADED = ("ready after", "not every model is ready")


class Daemon:
    """A running `ocelli serve`; its log is read all the time, so that it never waits for who reads it. As a context, it ends with it."""

    def __init__(self, arguments, environment=None, command=None, pass_fds=(), ready="ready after", plain=False, program=None, seconds=60):
        """`command` comes before the daemon's own; where `plain`, it is all there is. `ready`: what the log says within so many
        seconds, or one of several."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith("OCELLI_")}
        # A cache of the tests' own: nothing of the user's is touched.
        variables["XDG_CACHE_HOME"] = f"{tempfile.gettempdir()}/ocelli-test-cache-{os.getuid()}"
        if ENGINE:
            variables["OCELLI_ENGINE"] = ENGINE
            if not any(argument.split("=")[0] in ("--models", "--config") for argument in arguments):
                variables["OCELLI_MODELS"] = str(MODELS)
        variables.update(environment or {})
        self.process = subprocess.Popen(
            command if plain else (command or []) + [str(program or binary()), "serve"] + arguments, env=variables, pass_fds=pass_fds,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        atexit.register(self.kill)
        self.pid = self.process.pid
        self.lines = 0
        self.notable = []
        self._port = 0
        self._discards = False
        self._changed = threading.Condition()
        self._seen, self._total = "", 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if ready and not self.wait_for_log(ready, seconds):
            self.kill()
            raise SystemExit(f"the daemon did not start:\n{self._seen}")

    def _read(self):
        for raw in self.process.stderr:
            if self._discards:
                while self.process.stderr.read1(1 << 16):
                    pass
                return
            line = raw.decode(errors="replace")
            with self._changed:
                self.lines += 1
                # Access lines are counted only; the rest is kept, bounded.
                if " id=" not in line:
                    if not self._port and (found := re.search(r"listening on .*?:(\d+)", line)):
                        self._port = int(found[1])
                    self._seen = (self._seen + line)[-200_000:]
                    self._total += len(line)
                    if re.match(r"(\S+Z )?(error|warning):", line) and len(self.notable) < 1000:
                        self.notable.append(line.rstrip())
                self._changed.notify_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def log(self):
        with self._changed:
            return self._seen

    def discard_log(self):
        """Only empties the pipe from now on: lines of the access log are not read one by one, which would take processor time from what is
        measured."""
        self._discards = True

    def mark(self):
        """Where the log is now: for `wait_for_log`."""
        with self._changed:
            return self._total

    def wait_for_log(self, words, seconds=60, since=0):
        """Waits, bounded, until the log has these words, or one of several, after a mark."""
        end, alternatives = time.monotonic() + seconds, [words] if isinstance(words, str) else words
        with self._changed:
            while not any(each in self._seen[max(0, len(self._seen) - (self._total - since)) :] for each in alternatives):
                if time.monotonic() > end or (self.process.poll() is not None and not self._reader.is_alive()):
                    return False
                self._changed.wait(0.1)
        return True

    @property
    def port(self):
        """The port of the first TCP address that it listens on; 0: of none so far."""
        with self._changed:
            return self._port

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method, path, body=b"", fields=()):
        """An answer, over a connection of its own."""
        connection = wire.Connection(self.port, timeout=60)
        try:
            return connection.ask(wire.request(method, path, body, fields))
        finally:
            connection.close()

    def signal(self, number):
        if self.process.poll() is None:
            os.kill(self.pid, number)

    def stop(self, seconds=60):
        return end(self.process, seconds)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def is_running(self):
        return self.process.poll() is None

    # What the kernel says of it.

    def processor_seconds(self):
        return processor_seconds(self.pid)

    def memory(self, field="VmRSS"):
        """In MiB."""
        return memory(self.pid, field)

    def resident(self):
        """Resident memory in KiB."""
        return int(memory(self.pid) * 1024)

    def files(self):
        """Open files. Compiled models that the engine has mapped from the cache count from the ninth on: the variants for single-stream requests
        come and go, but models that are never released would add some with each reload."""
        count, mapped = 0, 0
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                target = os.readlink(f"/proc/{self.pid}/fd/{name}").removesuffix(" (deleted)")
            except OSError:
                continue  # closed meanwhile
            mapped += target.endswith(".blob")
            if not target.endswith(".blob") or mapped > 8:
                count += 1
        return count

    def threads(self):
        """Names of its threads, sorted."""
        names = []
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            try:
                names.append((task / "comm").read_text().strip())
            except OSError:
                pass  # ended meanwhile
        return sorted(names)
