"""The real binary under test: started, watched through /proc, and ended by its pid."""

import atexit
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
# The examples' file names begin with the digit that they show.
DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

# SIGTERM ends a script as Ctrl-C does, with nothing left behind; by itself it would end here and now. Programs whose threads block
# it, as Swift's tests do, hand that on to what they start.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


RESERVED = []


def free_port():
    """A port for a program that is told its port. A socket that is bound and does not listen holds it until this process ends, so
    that no other program is given it; servers set SO_REUSEADDR and can listen on it meanwhile."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    RESERVED.append(holder)
    return holder.getsockname()[1]


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


class Daemon:
    """A running `ocelli serve`; its log is read all the time, so that it never waits for who reads it."""

    def __init__(self, arguments, environment=None, command=None, pass_fds=(), ready="ready after", plain=False):
        """`command` comes before the daemon's own; where `plain`, it is all there is."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith("OCELLI_")}
        # A cache of the tests' own: nothing of the user's is touched.
        variables["XDG_CACHE_HOME"] = f"{tempfile.gettempdir()}/ocelli-test-cache-{os.getuid()}"
        if os.environ.get("TEST_ENGINE"):
            variables["OCELLI_ENGINE"] = os.environ["TEST_ENGINE"]
        variables.update(environment or {})
        self.process = subprocess.Popen(
            command if plain else (command or []) + [binary(), "serve"] + arguments, env=variables, pass_fds=pass_fds,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        atexit.register(self.kill)
        self.pid = self.process.pid
        self.lines = 0
        self.notable = []
        self._port = 0
        self._changed = threading.Condition()
        self._seen, self._total = "", 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if ready and not self.wait_for_log(ready):
            self.kill()
            raise SystemExit(f"the daemon did not start:\n{self._seen}")

    def _read(self):
        for raw in self.process.stderr:
            line = raw.decode(errors="replace")
            with self._changed:
                self.lines += 1
                # Access lines are counted only; the rest is kept, bounded.
                if " id=" not in line:
                    self._seen = (self._seen + line)[-200_000:]
                    self._total += len(line)
                    if re.match(r"(\S+Z )?(error|warning):", line) and len(self.notable) < 1000:
                        self.notable.append(line.rstrip())
                self._changed.notify_all()

    @property
    def log(self):
        with self._changed:
            return self._seen

    def mark(self):
        """Where the log is now: for `wait_for_log`."""
        with self._changed:
            return self._total

    def wait_for_log(self, words, seconds=60, since=0):
        """Waits, bounded, until the log has these words after a mark."""
        end = time.monotonic() + seconds
        with self._changed:
            while words not in self._seen[max(0, len(self._seen) - (self._total - since)) :]:
                if time.monotonic() > end or (self.process.poll() is not None and not self._reader.is_alive()):
                    return False
                self._changed.wait(0.1)
        return True

    @property
    def port(self):
        """The port of the first TCP address that it listens on; kept, for the log that tells it is bounded."""
        if not self._port:
            found = re.search(r"listening on [^\n]*?:(\d+)", self.log)
            self._port = int(found.group(1)) if found else 0
        return self._port

    def signal(self, number):
        if self.process.poll() is None:
            os.kill(self.pid, number)

    def stop(self, seconds=60):
        """Ends it as a service manager does; its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return -1

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def is_running(self):
        return self.process.poll() is None

    # What the kernel says of it.

    def resident(self):
        """Resident memory in KiB."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

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
