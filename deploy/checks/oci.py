"""OCI images written with nothing but Python: layers as sorted, fixed tar files, a layout, and an archive that `podman load` and
`docker load` take. The same files make the same bytes.

Specification: github.com/opencontainers/image-spec, image-layout.md, manifest.md, config.md, layer.md.
"""

import datetime
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import stat
import tarfile

MACHINES = {"x86_64": {"architecture": "amd64"}, "aarch64": {"architecture": "arm64", "variant": "v8"}}


def machine():
    found = MACHINES.get(platform.machine())
    if not found:
        raise SystemExit(f"image: no name for images of {platform.machine()}: expected one of {', '.join(MACHINES)}")
    return found


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Layer:
    """A folder as a layer: entries sorted by name, one time, owners by the table, and no name of a user of this machine."""

    def __init__(self, folder, epoch, owners=None):
        owners = owners or {}
        plain = io.BytesIO()
        self.unpacked = 0
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted(self._walk(folder)):
                entry = archive.gettarinfo(os.path.join(folder, path), path)
                entry.uid, entry.gid = owners.get(path, (0, 0))
                entry.uname = entry.gname = ""
                entry.mtime = epoch
                # A hard link is another name to tar; here each file is its own.
                if entry.islnk():
                    entry.type, entry.linkname = tarfile.REGTYPE, ""
                    entry.size = os.path.getsize(os.path.join(folder, path))
                if entry.isreg():
                    self.unpacked += entry.size
                    with open(os.path.join(folder, path), "rb") as file:
                        archive.addfile(entry, file)
                else:
                    archive.addfile(entry)
        data = plain.getvalue()
        self.diff_id = digest(data)
        packed = io.BytesIO()
        # Neither a name nor a time in its header.
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=packed, mtime=0) as stream:
            stream.write(data)
        self.blob = packed.getvalue()

    @staticmethod
    def _walk(folder):
        for root, names, found in os.walk(folder):
            for name in names + found:
                path = os.path.relpath(os.path.join(root, name), folder)
                mode = os.lstat(os.path.join(root, name)).st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
                    raise SystemExit(f"image: {os.path.join(root, name)} is neither a file, a folder nor a link")
                yield path


def write(target, name, tag, layers, config, epoch, annotations):
    """Writes TARGET (an OCI layout) and TARGET-ARCHITECTURE.tar; returns the digest of the image's manifest."""
    blobs = {}

    def descriptor(data, media_type):
        blobs[digest(data)] = data
        return {"mediaType": media_type, "digest": digest(data), "size": len(data)}

    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    description = descriptor(
        canonical({
            "created": created, **machine(), "os": "linux", "config": config,
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
            "history": [{"created": created, "created_by": "scripts/image"} for _ in layers]}),
        "application/vnd.oci.image.config.v1+json")
    content = [descriptor(layer.blob, "application/vnd.oci.image.layer.v1.tar+gzip") for layer in layers]
    manifest = descriptor(
        canonical({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": description,
            "layers": content, "annotations": {"org.opencontainers.image.created": created, **annotations}}),
        "application/vnd.oci.image.manifest.v1+json")
    index = canonical({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            **manifest, "platform": {**machine(), "os": "linux"},
            "annotations": {
                "org.opencontainers.image.ref.name": tag, "io.containerd.image.name": f"docker.io/library/{name}:{tag}"}}]})
    path = lambda found: "blobs/sha256/" + found.partition(":")[2]
    layout = {
        "oci-layout": canonical({"imageLayoutVersion": "1.0.0"}), "index.json": index,
        **{path(found): data for found, data in blobs.items()}}
    _write_folder(target, layout)
    # docker load, and podman load, read names here.
    layout["manifest.json"] = canonical([{
        "Config": path(description["digest"]), "RepoTags": [f"{name}:{tag}", f"localhost/{name}:{tag}"],
        "Layers": [path(layer["digest"]) for layer in content]}])
    _write_archive(f"{target}-{machine()['architecture']}.tar", layout, epoch)
    return manifest["digest"]


def _write_folder(target, layout):
    """Beside, then renamed: who reads never sees half of it."""
    new = f"{target}.new"
    shutil.rmtree(new, ignore_errors=True)
    for name, data in layout.items():
        os.makedirs(os.path.dirname(os.path.join(new, name)), exist_ok=True)
        with open(os.path.join(new, name), "wb") as file:
            file.write(data)
    shutil.rmtree(target, ignore_errors=True)
    os.rename(new, target)


def _write_archive(target, layout, epoch):
    with tarfile.open(f"{target}.new", "w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(layout):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(layout[name]), epoch, 0o644
            archive.addfile(entry, io.BytesIO(layout[name]))
    os.rename(f"{target}.new", target)
