"""OCI images as `make image` writes them: read back, unpacked, and started as a container would be, by bubblewrap.

The root is read-only, the user is not root, there are no capabilities and no new privileges; /tmp and the cache are writable.
"""

import gzip
import hashlib
import io
import json
import pathlib
import shutil
import subprocess
import tarfile


class Image:
    """An OCI layout, checked blob by blob."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        version = json.loads((self.folder / "oci-layout").read_text())
        if version != {"imageLayoutVersion": "1.0.0"}:
            raise SystemExit(f"{folder}: oci-layout says {version}")
        (entry,) = json.loads((self.folder / "index.json").read_text())["manifests"]
        self.digest = entry["digest"]
        self.platform = entry["platform"]
        self.manifest = json.loads(self.blob(entry))
        description = json.loads(self.blob(self.manifest["config"]))
        self.config = description["config"]
        self.layers = [gzip.decompress(self.blob(layer)) for layer in self.manifest["layers"]]
        stated = description["rootfs"]["diff_ids"]
        found = ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in self.layers]
        if stated != found:
            raise SystemExit(f"{folder}: diff_ids are {stated}, the layers are {found}")

    def blob(self, descriptor):
        kind, _, name = descriptor["digest"].partition(":")
        data = (self.folder / "blobs" / kind / name).read_bytes()
        if hashlib.sha256(data).hexdigest() != name or len(data) != descriptor["size"]:
            raise SystemExit(f"{self.folder}: the blob {name} is not what its descriptor says")
        return data

    def entries(self):
        """All entries of all layers."""
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                yield from archive

    def unpack(self, target):
        """As a runtime does; owners are left out, which only root could set. Returns the bytes of its files."""
        size = 0
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                for entry in archive:
                    size += entry.size if entry.isreg() else 0
                    entry.uid = entry.gid = None
                    archive.extract(entry, target, set_attrs=False)
                    if not entry.issym():
                        (pathlib.Path(target) / entry.name).chmod(entry.mode)
        return size

    def environment(self):
        return dict(entry.split("=", 1) for entry in self.config.get("Env", []))


def container(root, image, arguments, user=65532, group=65532, volumes=(), environment=None, entrypoint=True, writable_cache=True):
    """The command that starts the image as a container; `volumes` are (source, target, writable)."""
    command = [
        "bwrap", "--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
        "--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-pid", "--die-with-parent", "--new-session",
        "--uid", str(user), "--gid", str(group), "--cap-drop", "ALL", "--chdir", image.config.get("WorkingDir", "/"), "--clearenv"]
    if writable_cache and (pathlib.Path(root) / "var/cache/ocelli").is_dir():
        command += ["--tmpfs", "/var/cache/ocelli"]
    for source, target, writable in volumes:
        # Runtimes make the folders that they mount on.
        (pathlib.Path(root) / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
        command += ["--bind" if writable else "--ro-bind", str(source), target]
    for name, value in (image.environment() | (environment or {})).items():
        command += ["--setenv", name, value]
    return [*command, "--", *(image.config["Entrypoint"] if entrypoint else []), *arguments]


def absence():
    """What is missing to start containers; None where nothing is."""
    if not shutil.which("bwrap"):
        return "bwrap is not installed"
    works = subprocess.run(["bwrap", "--ro-bind", "/", "/", "--unshare-user", "true"], capture_output=True, text=True)
    return f"bubblewrap does not work here: {works.stderr.strip()}" if works.returncode else None
