"""Fails one system call of the daemon at a time, in each phase of its life, and checks what follows.

A run is a phase (start, load, request, teach, rollout, reload, drain), a call, an error that the call's manual page names, and its number
in a thread since the phase began: strace injects it. Rules for every run:

- The daemon is not ended by a signal, and its log has no fatal error. If it ends, it says why.
- No answer is wrong. An error has a code and a message. A connection may break only if a call on sockets failed.
- After the fault the next requests are answered correctly, unless the daemon has ended.
- After SIGKILL and a start without faults, all models are ready, and what was acknowledged is there.

usage: faults.py [--phase NAME]... [--call NAME]... [--runs N] [--seed N] [--all] [--deepest N] [--ledger FILE]

--all runs everything that was counted, up to the number --deepest of each call in each thread (nightly); else --runs of it are drawn by the
seed, which is printed.
"""

import argparse
import collections
import json
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
import wire

# The errors of each call, from its manual page. Left out: EBADF, EINVAL, EFAULT and the like, which are mistakes of the caller; calls on
# memory and futexes, whose failure ends any program in the C library or the Swift runtime (mmap, mprotect, brk, munmap, madvise, futex);
# EAGAIN where nothing could be waited for.
ERRORS = {
    "openat": ["EMFILE", "ENFILE", "ENOENT", "EACCES", "EIO"],
    "newfstatat": ["EACCES", "EIO"],
    "fstat": ["EIO"],
    "statx": ["EACCES", "EIO"],
    "read": ["EIO", "EINTR"],
    "pread64": ["EIO", "EINTR"],
    "readlink": ["EACCES", "EIO"],
    "getdents64": ["EIO"],
    "write": ["ENOSPC", "EIO", "EINTR", "EDQUOT"],
    "pwrite64": ["ENOSPC", "EIO", "EINTR"],
    "fsync": ["EIO", "EINTR", "ENOSPC"],
    "fallocate": ["ENOSPC", "EINTR", "EIO"],
    "ftruncate": ["EIO", "EINTR"],
    "rename": ["EACCES", "ENOSPC", "EIO"],
    "renameat2": ["EACCES", "ENOSPC", "EIO"],
    "unlink": ["EACCES", "EIO"],
    "mkdir": ["EACCES", "ENOSPC"],
    "flock": ["EINTR", "ENOLCK"],
    "socket": ["EMFILE", "ENOBUFS"],
    "bind": ["EADDRINUSE", "EACCES"],
    "listen": ["EADDRINUSE"],
    "setsockopt": ["ENOMEM"],
    "getsockname": ["ENOBUFS"],
    "accept4": ["EMFILE", "ENFILE", "ECONNABORTED", "EINTR", "ENOMEM", "EPROTO"],
    "recvfrom": ["ECONNRESET", "EINTR", "ENOMEM"],
    "sendto": ["EPIPE", "ECONNRESET", "EINTR", "ENOBUFS"],
    "sendmsg": ["EPIPE", "ECONNRESET", "EINTR", "ENOBUFS"],
    "epoll_create1": ["EMFILE", "ENOMEM"],
    "epoll_ctl": ["ENOMEM", "ENOSPC"],
    "epoll_wait": ["EINTR"],
    "epoll_pwait2": ["EINTR"],
    "eventfd2": ["EMFILE", "ENOMEM"],
    "timerfd_create": ["EMFILE", "ENOMEM"],
    "signalfd4": ["EMFILE", "ENOMEM"],
    "pipe2": ["EMFILE"],
    "inotify_init1": ["EMFILE"],
    "inotify_add_watch": ["ENOSPC"],
    "memfd_create": ["EMFILE", "ENOMEM"],
    "clone3": ["EAGAIN", "ENOMEM"],
    "clone": ["EAGAIN", "ENOMEM"],
    "execve": ["EACCES", "ENOMEM"],
    "wait4": ["EINTR"],
    "poll": ["EINTR", "ENOMEM"],
    "prlimit64": ["EPERM"],
    "sched_getaffinity": ["EPERM"],
    "getrandom": ["EINTR"],
}
ON_SOCKETS = {"accept4", "recvfrom", "sendto", "sendmsg", "epoll_ctl", "read", "write", "setsockopt", "eventfd2", "getsockname"}
PHASES = ["start", "load", "request", "teach", "rollout", "reload", "drain"]
# libdispatch ends a process with SIGILL that gets no descriptor for its own events. The daemon opens and closes enough descriptors before it
# starts libdispatch, and says so if it cannot (`ulimit -n` from 5 to 27); a fault of this single call cannot be seen before.
KNOWN = {("start", "epoll_create1", 1), ("start", "timerfd_create", 1), ("start", "timerfd_create", 2)}
FATAL = re.compile(r"Fatal error|Illegal instruction|\*\*\* (?:Signal|Program crashed)|Crash: ")

SEVEN = (daemon.EXAMPLES / "seven.png").read_bytes()
THREE = (daemon.EXAMPLES / "three.png").read_bytes()


class Broken(Exception):
    """A rule that does not hold."""


class World:
    """The folders of one run: digits in two versions, a copy that is loaded by hand, an embedder, and state of its own."""

    def __init__(self, work, call=""):
        self.work = pathlib.Path(work)
        self.call = call
        # Told, not asked for: a failed write may be that of the log's line with the port.
        self.port = daemon.free_port()
        models = self.work / "models"
        for version in ("1", "2"):
            shutil.copytree(daemon.ROOT / "models/digits", models / "digits" / version)
        shutil.copytree(daemon.ROOT / "models/digits", models / "spare")
        shutil.copytree(daemon.ROOT / "Tests/Fixtures/observations/embedder", models / "embedder")
        (self.work / "state").mkdir()
        self.taught = {}
        self.rollout = None
        self.configure(3)

    def configure(self, top):
        (self.work / "ocelli.json").write_text(json.dumps({
            "listen": f"127.0.0.1:{self.port}", "models": [str(self.work / "models")], "default_model": "digits", "top": top,
            "taught_dir": str(self.work / "taught"), "state_dir": str(self.work / "state"), "cache_dir": str(self.work / "cache"),
            "load_trial": False}))

    def serve(self, command=(), ready="ready after"):
        server = daemon.Daemon(["--config", str(self.work / "ocelli.json")], command=list(command), ready=ready)
        server.told_port = self.port
        return server


def ask(server, method, path, body=b"", timeout=30):
    connection = wire.Connection(server.told_port, timeout=timeout)
    try:
        return connection.ask(wire.request(method, path, body))
    finally:
        connection.close()


def classify(server, picture=SEVEN, label="7", path="/v1/classify"):
    """A status; an answer with another label breaks a rule."""
    answer = ask(server, "POST", path, picture)
    checked(answer)
    if answer.status == 200 and answer.json["classifications"][0]["label"] != label:
        raise Broken(f"{path} answered {answer.json['classifications'][0]} for a {label}")
    return answer.status


def checked(answer):
    if answer.status >= 400:
        error = answer.json
        if not error.get("code") or not error.get("error"):
            raise Broken(f"{answer.status} without code and message: {answer.body[:200]}")
    return answer


# The phases: what a client or operator does. Each returns a text for the ledger.

def phase_load(server, world):
    answer = checked(ask(server, "POST", "/v2/repository/models/spare/unload"))
    loaded = checked(ask(server, "POST", "/v2/repository/models/spare/load"))
    return f"unload {answer.status}, load {loaded.status}, {classify(server, path='/v1/models/spare/classify') if loaded.status == 200 else '-'}"


def phase_request(server, world):
    return f"{classify(server)} {classify(server, THREE, '3')} {checked(ask(server, 'GET', '/v1/models')).status} " \
        f"{checked(ask(server, 'GET', '/metrics')).status}"


def phase_teach(server, world):
    said = []
    answer = checked(ask(server, "PUT", "/v1/taught/things", b'{"embedder": "embedder"}'))
    said.append(answer.status)
    if answer.status >= 300:
        return str(said)
    world.taught.setdefault("things", set())
    for label, picture in (("a", SEVEN), ("b", THREE), ("a", SEVEN + b"1"), ("b", THREE + b"1")):
        answer = checked(ask(server, "POST", f"/v1/taught/things/examples?label={label}", picture))
        said.append(answer.status)
        if answer.status < 300:
            world.taught["things"] |= {(one["id"], label) for one in answer.json["added"]}
    return str(said)


def phase_rollout(server, world):
    answer = checked(ask(server, "PUT", "/v1/models/digits/rollout", b'{"serve": "1"}'))
    if answer.status < 300:
        world.rollout = "1"
    return f"{answer.status} {classify(server)}"


def phase_reload(server, world):
    world.configure(2)
    since = server.mark()
    server.signal(signal.SIGHUP)
    said = server.wait_for_log(["reload: ", "nothing has changed"], 20, since)
    # A failed write may be that of the line.
    if not said and world.call != "write" and server.is_running():
        raise Broken(f"the log says nothing of the reload: {server.log[-400:]}")
    return f"{classify(server)}"


def phase_drain(server, world):
    status = classify(server)
    server.signal(signal.SIGTERM)
    try:
        server.process.wait(30)
    except subprocess.TimeoutExpired:
        raise Broken("the daemon does not end after SIGTERM") from None
    return f"{status}, ends with {server.process.returncode}"


def attached(server, arguments):
    """strace on all threads of the daemon, from now on."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(server.pid), "-o", "/dev/null", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True)
    # One line for each thread, of which the first comes when all were attached.
    line = tracer.stderr.readline()
    if "attached" not in line:
        tracer.wait()
        raise SystemExit(f"strace: {line.strip()}: may this user trace processes?")
    return tracer


def detach(tracer):
    tracer.send_signal(signal.SIGINT)
    try:
        tracer.wait(20)
    except subprocess.TimeoutExpired:
        tracer.kill()
        tracer.wait()
    tracer.stderr.close()


def recover(server):
    """Requests after the fault: the last one must be right, within some seconds. A model whose file could not be read stays failed until a
    reload, which the operator asks for."""
    begun, said, has_reloaded = time.monotonic(), "nothing", False
    while time.monotonic() < begun + 25 and server.is_running():
        if said == 503 and not has_reloaded and time.monotonic() > begun + 3:
            has_reloaded = True
            server.signal(signal.SIGHUP)
        try:
            said = classify(server)
            if said == 200:
                return
        except (OSError, wire.Lost) as error:
            said = error
        time.sleep(0.1)
    if server.is_running():
        raise Broken(f"after the fault no request is answered: {said}: {server.log[-600:]}")


def release(server):
    """Ends the strace that traces a daemon from its start. It is no child of this program: with -D, the daemon is."""
    try:
        status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
        tracer = int(re.search(r"^TracerPid:\s+(\d+)", status, re.M)[1])
        if tracer:
            os.kill(tracer, signal.SIGTERM)
            end = time.monotonic() + 20
            while f"TracerPid:\t{tracer}\n" in pathlib.Path(f"/proc/{server.pid}/status").read_text():
                if time.monotonic() > end:
                    raise SystemExit("strace does not let go of the daemon")
                time.sleep(0.02)
    except OSError:
        pass  # the daemon has ended, and strace with it


def check_end(server, was_asked):
    """What the daemon leaves if it has ended."""
    code, log = server.process.returncode, server.log
    if code is not None and code < 0 and not was_asked:
        raise Broken(f"ended by signal {-code}: {log[-600:]}")
    if code is not None and code in (132, 134, 139):
        raise Broken(f"ended by signal {code - 128}: {log[-600:]}")
    if code is not None and code != 0 and not was_asked and not log.strip():
        raise Broken(f"ended with {code} and without a word")
    if FATAL.search(log):
        raise Broken(f"a fatal error: {log[-600:]}")


def check_kept(world):
    """A start without faults: what was acknowledged is there, and the next request is right."""
    with world.serve() as server:
        if classify(server) != 200:
            raise Broken("after a restart no request is answered")
        for name, examples in world.taught.items():
            found = checked(ask(server, "GET", f"/v1/taught/{name}/examples?limit=1000"))
            kept = {(one["id"], one["label"]) for one in found.json.get("examples", [])}
            if found.status != 200 or not examples <= kept:
                raise Broken(f"acknowledged examples are lost: {found.status}, {len(examples - kept)} of {len(examples)}")
        if world.rollout:
            found = checked(ask(server, "GET", "/v1/models/digits/rollout"))
            if found.status != 200 or found.json.get("serve", found.json.get("plan", {}).get("serve")) != world.rollout:
                raise Broken(f"the acknowledged rollout is lost: {found.status} {found.body[:200]}")


def act(phase, server, world, call):
    """The phase's action; a connection may break only if a call that sockets use failed."""
    try:
        return globals()["phase_" + phase](server, world)
    except (OSError, wire.Lost, ValueError) as error:
        if server.is_running() and call not in ON_SOCKETS and phase != "drain":
            raise Broken(f"a connection breaks though {call} is no call on sockets: {error!r}") from None
        return repr(error)


def traced(call, error, number):
    return ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}"]


def run(phase, call, error, number):
    """One run; returns a text of what happened. Raises Broken."""
    with tempfile.TemporaryDirectory(prefix="ocelli-faults-") as work:
        world = World(work, call)
        if phase == "start":
            server = world.serve(["strace", "-D", "-I", "waiting", "-f", "-o", "/dev/null", *traced(call, error, number)], ready=None)
            try:
                is_up = server.wait_for_log(daemon.LOADED, 60 if call != "write" else 10) or call == "write" and server.is_running()
                if not is_up and server.is_running():
                    raise Broken(f"the start neither succeeds nor fails within a minute: {server.log[-400:]}")
                said = "up" if is_up else f"exit {server.process.wait()}"
                # A fault is counted in each thread: a thread of the next requests would have its own.
                release(server)
                if is_up:
                    recover(server)
                check_end(server, was_asked=False)
                said += ": " + ([line for line in server.log.splitlines() if re.search("error|warning", line)] or [""])[-1][:160]
            finally:
                server.kill()
        else:
            server = world.serve()
            try:
                tracer = attached(server, traced(call, error, number))
                try:
                    said = act(phase, server, world, call)
                finally:
                    detach(tracer)
                if server.is_running():
                    recover(server)
                elif phase != "drain":
                    server.process.wait()
                check_end(server, was_asked=phase == "drain")
                said += ": " + (server.notable[-1][:160] if server.notable else "")
            finally:
                server.kill()
        check_kept(world)
        return said


def counted(phase):
    """How often each call is made in a phase, at most in one thread."""
    with tempfile.TemporaryDirectory(prefix="ocelli-faults-") as work:
        world, log = World(work), pathlib.Path(work, "calls")
        names = ["-e", "trace=" + ",".join("?" + name for name in ERRORS)]
        if phase == "start":
            server = world.serve(["strace", "-D", "-I", "waiting", "-f", "-qq", "-o", str(log), *names], ready=daemon.LOADED)
            release(server)
            server.kill()
        else:
            server = world.serve()
            tracer = subprocess.Popen(
                ["strace", "-f", "-p", str(server.pid), "-o", str(log), *names], stderr=subprocess.PIPE, text=True)
            tracer.stderr.readline()
            globals()["phase_" + phase](server, world)
            detach(tracer)
            server.kill()
        most, mine = collections.Counter(), collections.Counter()
        for line in log.read_text(errors="replace").splitlines():
            if found := re.match(r"(\d+)\s+(\w+)\(", line):
                mine[found.groups()] += 1
        for (_, call), number in mine.items():
            most[call] = max(most[call], number)
        return {call: number for call, number in most.items() if call in ERRORS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phase", action="append", choices=PHASES)
    parser.add_argument("--call", action="append")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--deepest", type=int, default=8)
    parser.add_argument("--ledger")
    options = parser.parse_args()
    if not shutil.which("strace"):
        print("faults: skipped: strace is not installed (apt install strace)")
        return 0
    plan = []
    for phase in options.phase or PHASES:
        found = counted(phase)
        print(f"{phase}: " + ", ".join(f"{call} {number}" for call, number in sorted(found.items())), flush=True)
        for call, number in sorted(found.items()):
            if options.call and call not in options.call:
                continue
            plan += [
                (phase, call, error, each) for error in ERRORS[call] for each in range(1, min(number, options.deepest) + 1)
                if (phase, call, each) not in KNOWN]
    if not options.all:
        random.Random(options.seed).shuffle(plan)
        print(f"seed {options.seed}: {min(options.runs, len(plan))} of {len(plan)} runs")
        plan = plan[: options.runs]
    ledger = open(options.ledger, "a", encoding="utf-8") if options.ledger else None
    broken = []
    for index, (phase, call, error, number) in enumerate(plan):
        name = f"{phase} {call} {error} {number}"
        begun = time.monotonic()
        try:
            said, holds = run(phase, call, error, number), True
        except Broken as reason:
            said, holds = str(reason), False
            broken.append(name)
            print(f"BROKEN {name}: {said}", flush=True)
        except SystemExit as reason:
            said, holds = str(reason), False
            broken.append(name)
            print(f"BROKEN {name}: after the fault, {said}", flush=True)
        if ledger:
            ledger.write(json.dumps({"run": name, "holds": holds, "said": said, "seconds": round(time.monotonic() - begun, 1)}) + "\n")
            ledger.flush()
        if index % 50 == 49:
            print(f"{index + 1} of {len(plan)} runs, {len(broken)} broken", flush=True)
    print(f"{len(plan)} runs, {len(broken)} broken" + (": --phase, --call and --seed repeat them" if broken else ""))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
