"""The process that keeps a local daemon: starts it, starts it again when it dies, and ends it after its last user.

Run as a program by `LocalDaemon`: ``python _keeper.py FOLDER LINGER COMMAND...``. It imports only the standard library, and no other module
of the package, so that it starts at once. Three locks in FOLDER show which processes exist; the kernel releases each when its holder ends:

- ``start``: held briefly by a process that starts a keeper, and by a keeper that decides to end;
- ``users``: shared by all users;
- ``keeper``: held by the keeper.
"""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time

# How long users may be away before the daemon is ended, how long it may take to end, and how often both are looked at: together less
# than the 15 seconds that are promised.
TICK, GRACE = 0.5, 4.0
# A daemon that ends this soon after its start, this often in a row, is not started again.
SHORT, TRIES = 5.0, 5
MOST_LOG = 4 << 20
PR_SET_PDEATHSIG = 1


def _dies_with_keeper() -> None:
    # If the keeper is killed, the daemon must end too: the next user starts both.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _lock(path: str, how: int) -> "int | None":
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


def _write(path: str, text: str) -> None:
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


def _ended(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(folder: str, linger: float, command: "list[str]") -> int:
    # Nobody's child: what ends its starter's children (Ray does, with a worker) must not end what others use.
    if os.fork():
        os._exit(0)
    # Users come and go; signals to them are not meant. A handler, for what is ignored would be ignored by the daemon too.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    # Its starter holds `start` until this is held. Who looks whether it is held, holds it for a moment.
    for _ in range(2000):
        keeper = _lock(os.path.join(folder, "keeper"), fcntl.LOCK_EX)
        if keeper is not None:
            break
        time.sleep(0.005)
    else:
        return 1
    log = os.open(os.path.join(folder, "log"), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    libc_is_there = hasattr(ctypes.CDLL(None), "prctl")
    failures = 0
    unused = 0.0
    process = None
    started = 0.0
    while True:
        if process is None:
            try:
                os.unlink(os.path.join(folder, "socket"))
            except FileNotFoundError:
                pass
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, cwd="/",
                preexec_fn=_dies_with_keeper if libc_is_there else None, restore_signals=True)
            started = time.monotonic()
            _write(os.path.join(folder, "pid"), f"{process.pid}\n")
        time.sleep(TICK)
        if os.fstat(log).st_size > MOST_LOG:
            os.ftruncate(log, 0)
        if process.poll() is not None:
            failures = failures + 1 if time.monotonic() - started < SHORT else 0
            # A wrong command line is not right the next time.
            if failures >= TRIES or process.returncode == 2:
                return 1
            process = None
            time.sleep(TICK * failures)
            continue
        start = _lock(os.path.join(folder, "start"), fcntl.LOCK_EX)
        if start is None:
            unused = 0.0
            continue
        users = _lock(os.path.join(folder, "users"), fcntl.LOCK_EX)
        if users is None:
            unused = 0.0
        else:
            unused += TICK
            if unused >= linger:
                # Nobody can come while `start` is held.
                _ended(process)
                for name in ("socket", "pid"):
                    try:
                        os.unlink(os.path.join(folder, name))
                    except FileNotFoundError:
                        pass
                # In this order: who gets `start` must not find a keeper.
                os.close(keeper)
                return 0
            os.close(users)
        os.close(start)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]), sys.argv[3:]))
