"""A fresh Debian 12 with systemd, in a tree below .build, booted in a container that has only its own loopback."""

import os
import pathlib
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / ".build/debian-12"
# What the documents' readers have, or are told to install.
PACKAGES = ["systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd", "ca-certificates", "sudo", "curl", "jq", "procps", "iproute2",
            "python3", "python3-pil", "python3-numpy", "python3-hnswlib", "python3-requests", "libheif1", "libcurl4"]
MIRROR = "http://deb.debian.org/debian"


class Unavailable(Exception):
    """This machine cannot make or boot such a system."""


def fetch(*command):
    """Runs a command that needs Debian's mirror."""
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        raise Unavailable(f"{command[0]}: {run.stderr.strip()[-500:] or 'failed'}; is {MIRROR} reachable?")


def absence():
    """Why no such system can be made here; nothing if it can."""
    if os.getuid() != 0:
        return "it needs root"
    for program, package in (("debootstrap", "debootstrap"), ("systemd-nspawn", "systemd-container"), ("dpkg-deb", "dpkg")):
        if not shutil.which(program):
            return f"{program} is not installed (apt install {package})"
    return ""


def base():
    """The tree as debootstrap makes it, made once."""
    made = TREE / "base"
    listed = TREE / "packages"
    if not listed.exists() or listed.read_text() != " ".join(PACKAGES):
        shutil.rmtree(TREE, ignore_errors=True)
        TREE.mkdir(parents=True)
        fetch("debootstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES), "bookworm", str(made), MIRROR)
        listed.write_text(" ".join(PACKAGES))
    return made


class System:
    """A copy of the tree, booted. The machine's network is not reachable from it, nor it from there."""

    def __init__(self, folder, prepare):
        """`prepare` gets the root folder before it boots, while programs in it may still use the network."""
        self.root = pathlib.Path(folder) / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", str(base()), str(self.root)], check=True)
        (self.root / "etc/resolv.conf").unlink(missing_ok=True)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        (self.root / "etc/hostname").write_text("debian\n")
        (self.root / "etc/hosts").write_text("127.0.0.1 localhost debian\n::1 localhost\n")
        # No progress bars.
        (self.root / "root/.curlrc").write_text("silent\nshow-error\n")
        (self.root / "root/strict").mkdir()
        (self.root / "root/strict/.curlrc").write_text("silent\nshow-error\nfail-with-body\n")
        prepare(self.root)
        self.log = open(pathlib.Path(folder) / "boot.log", "wb")
        self.process = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--directory", str(self.root), "--private-network", "--hostname=debian", "--register=no", "--keep-unit", "--boot",
             "--resolv-conf=off", "--console=pipe"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.leader = None
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.3)
            self.leader = self.leader or self._leader()
            if self.leader and self.run("systemctl is-system-running").stdout.strip() in ("running", "degraded"):
                return
        self.close()
        raise Unavailable("the container did not boot: " + (pathlib.Path(folder) / "boot.log").read_text(errors="replace")[-2000:])

    def _leader(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return children[0] if children else None

    def run(self, script, timeout=60):
        """Runs a script of bash in it, as root."""
        command = ["nsenter", "-t", self.leader, "-m", "-u", "-i", "-n", "-p", "-r", "-w", "env", "-i", "HOME=/root", "USER=root", "LANG=C.UTF-8",
                   "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "timeout", "-k", "5", str(timeout), "bash", "-c", script]
        # A daemon that the script leaves behind would hold a pipe open.
        with open(self.log.name + ".output", "w+b") as output:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT).returncode
            output.seek(0)
            return subprocess.CompletedProcess(script, status, output.read().decode(errors="replace"), "")

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                # The second signal ends it at once.
                self.process.terminate()
                self.process.wait(20)
        self.log.close()
