"""Root file systems for images: programs with every library that they ask for, and next to nothing else."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import files

# A user of no system: what distroless images and others use for "nonroot".
USER = 65532
PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\nocelli:x:{USER}:{USER}:Ocelli:/nonexistent:/sbin/nologin\n"
GROUP = f"root:x:0:\nocelli:x:{USER}:\n"

# What Sources/CConfinedCodecs opens, of this Debian.
CODECS = ["libheif.so.1", "libtiff.so.6", "libgif.so.7", "libjxl.so.0.7"]


class Root:
    """A folder that becomes a layer."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.owners = {}
        self.system = set()
        # The empty ones are where runtimes mount.
        for name in ("usr/bin", "usr/lib", "usr/lib64", "etc", "tmp", "proc", "sys", "dev", "run", "mnt", "srv"):
            (self.folder / name).mkdir(parents=True)
        # As Debian has them: one tree under /usr.
        for name in ("bin", "lib", "lib64"):
            (self.folder / name).symlink_to(f"usr/{name}")
        (self.folder / "tmp").chmod(0o1777)
        self.text("etc/passwd", PASSWD)
        self.text("etc/group", GROUP)
        self.text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")

    def text(self, path, text):
        (self.folder / path).write_text(text)
        (self.folder / path).chmod(0o644)

    def folder_for_user(self, path):
        """A folder that the image's user may write to, and any other of group 0, as OpenShift's random ones are."""
        made = self.folder / path
        made.mkdir(parents=True)
        made.chmod(0o775)
        self.owners[path] = (USER, 0)

    def system_program(self, name):
        """A program of this machine, with its libraries."""
        source = shutil.which(name, path="/usr/bin:/bin")
        if not source:
            raise SystemExit(f"image: {name} is not installed here")
        self._copy(os.path.realpath(source), self.folder / "usr/bin" / name, 0o755)
        self.libraries([source])

    def libraries(self, programs, search=""):
        """Copies what the loader would load for these programs from outside of the tree, and the loader itself."""
        for path in sorted(closure(programs, search)):
            if str(path).startswith(str(self.folder)):
                continue
            # Debian's /lib is /usr/lib.
            target = self.folder / re.sub(r"^/(lib|lib64)/", r"usr/\1/", str(path)).lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            self._copy(os.path.realpath(path), target, 0o755)

    def codecs(self):
        """The libraries that `ocelli decode` opens, those of them that are installed here, with the plug-ins of libheif."""
        run = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True)
        known = dict(re.findall(r"^\t(\S+) \(.*\) => (\S+)$", run.stdout, re.M)[::-1])
        found = [known[name] for name in CODECS if name in known]
        for name in sorted(set(CODECS) - set(known)):
            print(f"image: {name} is not installed here: the image does without it", file=sys.stderr)
        plugins = [str(path) for library in found for path in sorted(pathlib.Path(library).parent.glob("libheif/plugins/*.so"))]
        for path in sorted({*found, *plugins}):
            target = self.folder / re.sub(r"^/lib/", "usr/lib/", path).lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            self._copy(os.path.realpath(path), target, 0o755)
        self.libraries([*found, *plugins])

    def _copy(self, source, target, mode):
        if target.exists():
            return
        shutil.copyfile(source, target)
        target.chmod(mode)
        self.system.add(source)

    def licences(self):
        """The copyright files of the packages that system files came from."""
        packages = set()
        for path in sorted(self.system):
            for spelling in (path, re.sub(r"^/usr/", "/", path)):
                run = subprocess.run(["dpkg", "-S", spelling], capture_output=True, text=True)
                if run.returncode == 0:
                    packages.add(run.stdout.split(":")[0].split(",")[0])
                    break
        for package in sorted(packages):
            source = pathlib.Path("/usr/share/doc", package, "copyright")
            if source.is_file():
                target = self.folder / "usr/share/doc" / package / "copyright"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
                target.chmod(0o644)

    def tidy(self):
        """Modes that do not depend on this machine's umask."""
        for root, names, found in os.walk(self.folder):
            for name in names:
                path = os.path.join(root, name)
                if not os.path.islink(path) and os.path.relpath(path, self.folder) not in [*self.owners, "tmp"]:
                    os.chmod(path, 0o755)
            for name in found:
                path = os.path.join(root, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o755 if os.stat(path).st_mode & 0o111 else 0o644)


def closure(programs, search=""):
    """The files that the loader would load for these programs, by the names that they are asked for."""
    found = set()
    for program in programs:
        variables = os.environ | {"LD_LIBRARY_PATH": search}
        run = subprocess.run(["ldd", str(program)], capture_output=True, text=True, env=variables)
        for line in run.stdout.splitlines():
            if "not found" in line:
                raise SystemExit(f"image: {program} asks for a library that is not here: {line.strip()}")
            if match := re.search(r"(?:=> )?(/\S+) \(0x", line):
                found.add(pathlib.Path(match[1]))
    return found


def program(folder, binary):
    """The daemon as scripts/install installs it, without what only a host needs, with what it links."""
    root = Root(folder)
    run = subprocess.run(
        [str(files.ROOT / "scripts/install"), str(root.folder / "usr")], capture_output=True, text=True,
        env=os.environ | {"OCELLI_BINARY": binary, "OCELLI_FINAL_PREFIX": "/usr"})
    if run.returncode:
        raise SystemExit(f"image: scripts/install failed:\n{run.stderr}")
    installed = root.folder / "usr/bin/ocelli"
    # The tables of symbols are half of it, which nothing in there needs.
    subprocess.run(["strip", "--strip-unneeded", str(installed)], check=True)
    # What is read on a host: units, manual, completion, dashboards, examples, the notes for `make uninstall`.
    for name in ("lib/systemd", "share/man", "share/bash-completion", "share/zsh", "share/fish", "share/doc/ocelli/docs", "share/ocelli/examples",
                 "share/ocelli/deploy", "lib/ocelli/made-folders"):
        path = root.folder / "usr" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for path in (root.folder / "usr/share/ocelli").iterdir():
        if path.name != "models":
            path.unlink()
    engine = root.folder / "usr/lib/ocelli"
    root.libraries([installed, *sorted(engine.glob("*.so*"))], search=str(engine))
    root.codecs()
    root.folder_for_user("var/cache/ocelli")
    root.licences()
    root.tidy()
    return root


# What KServe's modelcar containers and an init container that copies need.
TOOLS = ["sh", "cp", "ln", "ls", "sleep"]


def models(folder, source):
    """/models with the bundles of a folder, and the few programs that hand them over; usable as an image volume too."""
    root = Root(folder)
    copy_models(source, root.folder / "models")
    for name in TOOLS:
        root.system_program(name)
    root.licences()
    root.tidy()
    return root


def bundles(source):
    """What is a bundle of its own, and what is a folder of them: {name: path}."""
    source = pathlib.Path(source)
    if not source.exists():
        raise SystemExit(f"image: {source} does not exist: expected a folder of models, a bundle, or a model file")
    if source.is_file() or any((source / name).exists() for name in ("model.json", "saved_model.pb")):
        return {source.resolve().name: source}
    found = {path.name: path for path in sorted(source.iterdir()) if path.is_dir() or path.suffix not in (".md", ".txt", "")}
    if not found:
        raise SystemExit(f"image: {source} has no models")
    return found


def copy_models(source, target):
    target.mkdir()
    for name, path in bundles(source).items():
        check_links(path)
        if path.is_dir():
            shutil.copytree(path, target / name, symlinks=True)
        else:
            shutil.copyfile(path, target / name)


def compiled(folder, binary, search):
    """Compiles the models in FOLDER/models into the image's cache; returns the cache's owner, as a layer wants it."""
    cache = pathlib.Path(folder) / "var/cache/ocelli"
    cache.mkdir(parents=True)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("OCELLI_")}
    run = subprocess.run(
        [binary, "compile", "--cache-dir", str(cache), str(folder / "models")], capture_output=True, text=True,
        env=variables | {"LD_LIBRARY_PATH": search})
    if run.returncode:
        raise SystemExit(f"image: the models do not compile:\n{run.stderr.strip()}")
    # Which files were tried here, by their inodes and times: of no use elsewhere.
    (cache / "known-models.json").unlink(missing_ok=True)
    for path in cache.iterdir():
        path.chmod(0o644)
    cache.chmod(0o775)
    for path in (cache.parent, cache.parent.parent):
        path.chmod(0o755)
    return {"var/cache/ocelli": (USER, 0)}


def check_goldens(folder, binary, search):
    """Refuses a version whose answers are not those of its folder golden (docs/rollout.md): the daemon would not serve it."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("OCELLI_")}
    for expected in sorted(pathlib.Path(folder).rglob("golden/expected.jsonl")):
        run = subprocess.run(
            [binary, "check", str(expected.parent.parent)], capture_output=True, text=True,
            env=variables | {"LD_LIBRARY_PATH": search})
        if run.returncode:
            raise SystemExit(f"image: {expected.parent.parent.relative_to(folder)}: {(run.stderr or run.stdout).strip()}")


def check_links(path):
    """A link that leads out of the bundle would lead nowhere in the image."""
    for root, names, found in os.walk(path):
        for name in names + found:
            link = os.path.join(root, name)
            if os.path.islink(link):
                end = os.path.realpath(link)
                if os.path.isabs(os.readlink(link)) or not end.startswith(os.path.realpath(path) + os.sep):
                    raise SystemExit(f"image: {link} leads out of its bundle, to {end}")
