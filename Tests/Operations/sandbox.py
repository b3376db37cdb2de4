"""systemd/ocelli.service's sandbox, as far as possible without systemd, round the real daemon: it must start, classify,
decode pictures in processes of their own, and reload there, on each engine that is installed.

bubblewrap gives the namespaces and mounts, libseccomp the unit's SystemCallFilter=, setpriv the user and capabilities:

    ProtectSystem=strict, ProtectHome=, PrivateTmp=, PrivateDevices=    everything read-only but the cache; no /home, /root;
                                                                        a /tmp and a /dev of its own
    PrivateUsers=, DynamicUser=, PrivateIPC=, ProtectHostname=          namespaces; uid and gid 61184, no other group
    NoNewPrivileges=, CapabilityBoundingSet=                            set, and empty
    SystemCallFilter=, SystemCallArchitectures=, SystemCallErrorNumber= from the unit, by `systemd-analyze syscall-filter`
    RestrictAddressFamilies=, RestrictNamespaces=, RestrictRealtime=,   as filters of arguments, as systemd makes them
    RestrictSUIDSGID=, MemoryDenyWriteExecute= (when asked for)
    LimitNOFILE=, UMask=                                                set
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import daemon
import wire

UNIT = daemon.ROOT / "systemd/ocelli.service"
USER = 61184  # the first of systemd's dynamic users
NAMESPACES = 0x7E020000  # CLONE_NEW*: cgroup, ipc, net, mount, pid, user, uts (and time below)
FILTER_FD = 10


def settings():
    """The unit's [Service] section: name to values, in order."""
    found = {}
    for line in UNIT.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith(("#", "[")):
            found.setdefault(name, []).append(value)
    return found


def members(name):
    """The system calls of one of systemd's groups, and of those in it."""
    text = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True).stdout
    calls = set()
    for line in text.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            calls |= members(word)
        elif word and not word.startswith("#"):
            calls.add(word)
    return calls


def allowed(values):
    """What the lines of SystemCallFilter= leave: as systemd.exec(5) says, later lines add to or take from earlier ones."""
    calls = set()
    for value in values:
        removes = value.startswith("~")
        for word in value.lstrip("~").split():
            group = members(word) if word.startswith("@") else {word}
            calls = calls - group if removes else calls | group
    # systemd always allows these: without them nothing could begin or end.
    return calls | members("@default") | {"execve"}


def program(unit, deny_write_execute):
    """A BPF program of the unit's filters, as bytes that bubblewrap takes; and how many calls it allows."""
    import seccomp  # Debian: python3-seccomp

    filters = seccomp.SyscallFilter(defaction=seccomp.ERRNO(1))  # SystemCallErrorNumber=EPERM
    calls = allowed(unit["SystemCallFilter"])
    special = {"socket", "clone", "clone3", "unshare", "setns", "sched_setscheduler", "mmap", "mprotect", "pkey_mprotect", "shmat"}
    count = 0
    for call in sorted(calls - special):
        try:
            filters.add_rule(seccomp.ALLOW, call)
            count += 1
        except (RuntimeError, ValueError, OSError):
            pass  # not a call of this architecture
    # RestrictAddressFamilies=
    import socket
    for family in unit["RestrictAddressFamilies"][0].split():
        filters.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, getattr(socket, family)))
    # RestrictNamespaces=yes: threads, but no namespaces; clone3's flags are out of a filter's reach, so that glibc has to
    # use clone.
    filters.add_rule(seccomp.ALLOW, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, NAMESPACES, 0))
    filters.add_rule(seccomp.ERRNO(38), "clone3")
    # RestrictRealtime=yes: SCHED_OTHER, BATCH and IDLE.
    for policy in (0, 3, 5):
        filters.add_rule(seccomp.ALLOW, "sched_setscheduler", seccomp.Arg(1, seccomp.EQ, policy))
    if deny_write_execute:
        # MemoryDenyWriteExecute=yes: no memory that is both written and run, and none that becomes runnable.
        filters.add_rule(seccomp.ALLOW, "mmap", seccomp.Arg(2, seccomp.MASKED_EQ, 4, 0))
        filters.add_rule(seccomp.ALLOW, "mmap", seccomp.Arg(2, seccomp.MASKED_EQ, 6, 4))
        for call in ("mprotect", "pkey_mprotect"):
            filters.add_rule(seccomp.ALLOW, call, seccomp.Arg(2, seccomp.MASKED_EQ, 4, 0))
    else:
        for call in ("mmap", "mprotect", "pkey_mprotect", "shmat"):
            filters.add_rule(seccomp.ALLOW, call)
    with tempfile.TemporaryFile() as file:
        filters.export_bpf(file)
        file.seek(0)
        return file.read(), count


def confined(unit, bpf, folder):
    """The command before the daemon's own, and the descriptors that it needs."""
    with open(folder / "filter", "wb") as file:
        file.write(bpf)
    source = os.open(folder / "filter", os.O_RDONLY)
    os.dup2(source, FILTER_FD)
    os.close(source)
    command = [
        "bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
        "--tmpfs", "/home", "--tmpfs", "/root", "--tmpfs", "/run", "--tmpfs", "/tmp",
        # What the installation would have in /usr: the binary, its libraries and models.
        "--ro-bind", str(folder / "tree"), str(folder / "tree"),
        "--bind", str(folder / "cache"), str(folder / "cache"), "--bind", str(folder / "etc"), str(folder / "etc"),
        "--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-pid", "--die-with-parent", "--new-session",
        "--uid", str(USER), "--gid", str(USER), "--cap-drop", "ALL", "--chdir", "/",
        "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "CACHE_DIRECTORY", str(folder / "cache"),
        "--seccomp", str(FILTER_FD), "--",
    ]
    return command


def facts(pid):
    """What the kernel says of the process: that the sandbox is there."""
    found = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    return {name: found[name].strip() for name in ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd", "Uid")}


def find(pid):
    """The daemon under bubblewrap: the last of the line of children."""
    while True:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not children:
            return pid
        pid = int(children[0])


def copy(folder):
    """An installation in a folder that everybody may read, as /usr is: scripts/install makes it."""
    (folder / "cache").mkdir()
    (folder / "etc").mkdir()
    subprocess.run(
        [str(daemon.ROOT / "scripts/install"), str(folder / "tree")], check=True, capture_output=True,
        env=os.environ | {"OCELLI_BINARY": daemon.binary()})
    config = folder / "etc/ocelli.json5"
    shutil.copy(daemon.ROOT / "config/ocelli.json5", config)
    for path in (folder, folder / "cache", folder / "etc"):
        path.chmod(0o777)  # the namespace's user is another number outside
    config.chmod(0o666)
    return config


def confined_pictures():
    """A picture of each format that is decoded in a separate process: a BMP, and those of the shared data, if they are there."""
    bmp = struct.pack("<2sIIIIiiHHIIiiII", b"BM", 58, 0, 54, 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0) + bytes(4)
    shared = daemon.ROOT.parent / "shared/data/pictures"
    names = ("heic/grid_iphone.heic", "avif/grid_irot90.avif", "tiff/tiles_deflate.tif", "gif/87a.gif", "jxl/lossless.jxl")
    return {"a BMP": bmp} | {name: (shared / name).read_bytes() for name in names if (shared / name).exists()}


def engines():
    """The engines that scripts/install finds."""
    libraries = {"onnxruntime": "libonnxruntime.so.1", "litert": "libLiteRt.so"}
    return ["openvino"] + [name for name, library in libraries.items() if (daemon.ROOT / ".deps" / name / "lib" / library).exists()]


def model(engine, folder):
    """A model that the engine runs: the daemon's options, its name, a picture, and the picture's label."""
    if engine != "litert":
        return [], "digits", *daemon.pictures()[0]
    exports = daemon.ROOT / "Tests/Fixtures/exports"
    shutil.copytree(exports / "yolo_classify_tflite", folder / "models/animals")
    label = json.loads((exports / "expected.json").read_text())["yolo_classify_tflite"]["top"][0]
    return ["--models", str(folder / "models")], "animals", (exports / "picture.png").read_bytes(), label


def trial(engine, deny_write_execute):
    """The daemon in the sandbox: what went wrong, and what is known of it."""
    unit = settings()
    if unit.get("MemoryDenyWriteExecute") == ["yes"]:
        deny_write_execute = True
    bpf, count = program(unit, deny_write_execute)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ocelli-sandbox-", dir="/var/tmp"))
    problems = []
    process = None
    outside = daemon.binary()
    try:
        config = copy(folder)
        options, served, picture, label = model(engine, folder)
        command = confined(unit, bpf, folder)
        limit = unit["LimitNOFILE"][0]
        binary = str(folder / "tree/bin/ocelli")
        os.environ["TEST_BINARY"] = binary
        process = daemon.Daemon(
            ["--config", str(config), "--listen", "127.0.0.1:0", "--engine", engine, *options], pass_fds=(FILTER_FD,), ready=None,
            command=["sh", "-c", f'umask {unit["UMask"][0]}; ulimit -n {limit}; exec "$@"', "sh"] + command)
        if not process.wait_for_log("ready after", 60):
            return [f"it did not start:\n{process.log}"], count
        inner = find(process.pid)
        known = facts(inner)
        for name, expected in (("NoNewPrivs", "1"), ("Seccomp", "2"), ("CapEff", "0" * 16), ("CapBnd", "0" * 16)):
            if known[name] != expected:
                problems.append(f"{name} is {known[name]}, not {expected}: this is not a sandbox")
        runs_on = wire.Connection(process.port).ask(wire.request("GET", f"/v1/models/{served}")).json.get("engine", {}).get("name")
        if runs_on != engine:
            problems.append(f"the model runs on {runs_on}, not on {engine}")
        for turn in range(2):
            connection = wire.Connection(process.port)
            for _ in range(20):
                answer = connection.ask(wire.request("POST", "/v1/classify?top=1", picture))
                if answer.status != 200 or answer.json["classifications"][0]["label"] != label:
                    problems.append(f"{answer.status}: {answer.body[:200]!r}")
                    break
            # Each in a process that confines itself further.
            for path, file in confined_pictures().items():
                answer = connection.ask(wire.request("POST", "/v1/classify?top=1", file))
                if answer.status != 200 and not (answer.status == 415 and b"the package" in answer.body):
                    problems.append(f"{path}: {answer.status}: {answer.body[:200]!r}")
            connection.close()
            if turn == 0:
                os.kill(inner, signal.SIGHUP)
                if not process.wait_for_log("reload: done", 30):
                    problems.append("the reload did not end")
        # The other engines compile nothing into files.
        if engine == "openvino" and not any(path.suffix == ".blob" for path in (folder / "cache").rglob("*")):
            problems.append("no compiled model was kept in the cache")
        # Only what is of weight: a picture of any other kind would be the same code.
        refused = [line for line in process.notable if "cannot" in line or "Operation not permitted" in line]
        problems += refused
        os.kill(inner, signal.SIGTERM)
        status = process.process.wait(30)
        if status != 0:
            problems.append(f"it ended with {status}:\n{process.log[-1000:]}")
        return problems, count
    finally:
        if process:
            process.kill()
        os.environ["TEST_BINARY"] = outside
        shutil.rmtree(folder, ignore_errors=True)


def absence():
    """What is missing to try this; None where nothing is."""
    for name in ("bwrap", "systemd-analyze"):
        if not shutil.which(name):
            return f"{name} is not installed"
    try:
        import seccomp  # noqa: F401
    except ImportError:
        return f"{sys.executable} has no seccomp module (Debian: python3-seccomp, for /usr/bin/python3)"
    works = subprocess.run(["bwrap", "--ro-bind", "/", "/", "--unshare-user", "true"], capture_output=True, text=True)
    return f"bubblewrap does not work here: {works.stderr.strip()}" if works.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deny-write-execute", action="store_true", help="MemoryDenyWriteExecute=yes, whatever the unit says")
    arguments = parser.parse_args()
    missing = absence()
    if missing:
        print(f"skipped: {missing}")
        return 77
    failed = False
    for engine in engines():
        problems, count = trial(engine, arguments.deny_write_execute)
        print(f"sandbox, {engine}: {count} system calls allowed" + (", no memory both written and run" if arguments.deny_write_execute else ""))
        print("PASS" if not problems else "FAIL: " + "\n      ".join(problems))
        failed = failed or bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
