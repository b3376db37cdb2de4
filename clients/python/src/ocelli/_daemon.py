"""One daemon for all processes of a machine."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from types import TracebackType
from typing import Any, Optional, Sequence, Union

from . import _keeper
from ._client import Client
from ._errors import OcelliError
from ._pool import Deadline

Models = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]], None]

# Together with the keeper's own times less than 15 seconds.
_LINGER = 8.0
# Of a Unix-domain socket, with its zero.
_LONGEST_PATH = 107


class LocalDaemon:
    """A daemon on this machine that all processes of a user share.

    Processes that name the same folder of models and the same settings get the same daemon: the first process starts it, and it ends
    within 15 seconds after its last user, even if that was killed. If the daemon dies, it is started again. Thus the tasks of Ray, Spark
    or Dask on a machine load a model once::

        with LocalDaemon(models="models") as daemon, daemon.client() as client:
            print(client.classify("cat.jpg").classifications[0].label)

    It needs the program ``ocelli``: the argument, else the variable ``OCELLI``, else ``PATH`` says where it is. The socket lies in a folder of
    mode 0700 that belongs to this user (``/tmp/ocelli-UID``), so nobody else can ask it or stand in for it.

    >>> with LocalDaemon(models="models", ocelli=PROGRAM) as daemon, daemon.client() as client:
    ...     print(daemon.url.startswith("unix:///"), client.classify("examples/seven.png").classifications[0].label)
    True 7
    """

    def __init__(
        self, models: Models = None, *, ocelli: Union[str, "os.PathLike[str]", None] = None,
        socket: Union[str, "os.PathLike[str]", None] = None, start_timeout: float = 300, **settings: Any,
    ) -> None:
        """Starts the daemon, or joins the running one, and waits until its models are loaded.

        Args:
            models: the folder of models, or several; None for the models that come with Ocelli.
            ocelli: the program.
            socket: another path for the socket; its folder must be of mode 0700, and is made where it is missing.
            start_timeout: seconds that the start may take, loading included.
            settings: the daemon's settings by name, as in ``ocelli help serve``: ``threads=4``, ``default_model="mobilenet"``. On a node
                that has other work, give the daemon the node's share of processors with ``threads``.

        Raises:
            FileNotFoundError: no program ``ocelli``.
            PermissionError: the folder of the socket belongs to somebody else, or others may enter it.
            RuntimeError: the daemon does not start: what it said is in the message.
            TimeoutError: it is not ready in time.
        """
        for name in ("listen", "config"):
            if name in settings:
                raise ValueError(f"{name}: the daemon listens on its own socket, and takes its settings from the arguments")
        folders = [] if models is None else [models] if isinstance(models, (str, os.PathLike)) else list(models)
        real = [os.path.realpath(folder) for folder in folders]
        for folder in real:
            if not os.path.exists(folder):
                raise FileNotFoundError(f"models: {folder} is not there")
        program = _program(ocelli)
        key = json.dumps([real, {name: _texts(value) for name, value in sorted(settings.items())}])
        if socket is None:
            base = f"/tmp/ocelli-{os.getuid()}"
            _own(base)
            self._folder = os.path.join(base, hashlib.sha256(key.encode()).hexdigest()[:16])
        else:
            _own(os.path.dirname(os.path.abspath(socket)))
            self._folder = os.path.abspath(socket) + ".d"
        _own(self._folder)
        self._socket = os.path.join(self._folder, "socket")
        if len(self._socket) > _LONGEST_PATH:
            raise ValueError(f"the path of the socket has more than {_LONGEST_PATH} characters: {self._socket}")
        self._key = key
        self._timeout = start_timeout
        flags = [f"--models={folder}" for folder in real]
        for name, value in sorted({"access_log": False, **settings}.items()):
            flags += [f"--{name.replace('_', '-')}={text}" for text in _texts(value)]
        self._command = [program, "serve", f"--listen=unix:{self._socket}", *flags]
        #: ``unix:///…``, for other clients on this machine.
        self.url = f"unix://{self._socket}"
        # Held, shared, as long as this object is used: see `_keeper`.
        self._users: Optional[int] = None
        self._clients: list[Client] = []
        try:
            self._join(Deadline(start_timeout))
        except BaseException:
            self.close()
            raise
        if socket is not None:
            _link(self._socket, os.path.abspath(socket))

    def client(self, **arguments: Any) -> Client:
        """A client of this daemon, with the arguments of `Client`. If the daemon dies, its calls wait for the new one and are sent again."""
        if self._users is None:
            raise ValueError("the LocalDaemon is closed")
        client = Client(self.url, **arguments)
        client._revive = self._revived
        self._clients.append(client)
        return client

    @property
    def pid(self) -> Optional[int]:
        """The daemon's process; None while it is being started."""
        try:
            with open(os.path.join(self._folder, "pid"), encoding="utf-8") as file:
                return int(file.read())
        except (FileNotFoundError, ValueError):
            return None

    def close(self) -> None:
        """Leaves the daemon, which ends when nobody uses it any more. Its clients of this object are closed."""
        clients, self._clients = self._clients, []
        for client in clients:
            client.close()
        if self._users is not None:
            os.close(self._users)
            self._users = None

    def __enter__(self) -> LocalDaemon:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"LocalDaemon({self.url!r})"

    # MARK: Starting

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _revived(self, seconds: Optional[float]) -> None:
        """Waits until the daemon answers again. Raises where it does not within the call's time."""
        if self._users is None:
            raise ConnectionError("the LocalDaemon is closed")
        self._join(Deadline(self._timeout if seconds is None else seconds))

    def _join(self, deadline: Deadline) -> None:
        # A keeper may be ended while its daemon is waited for; one that ends each time has given up.
        for _ in range(3):
            self._ensure_keeper(deadline)
            if self._is_answering(deadline):
                return
        raise RuntimeError(f"the daemon did not start: {self._said()}")

    def _ensure_keeper(self, deadline: Deadline) -> None:
        start = os.open(self._path("start"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _locked(start, fcntl.LOCK_EX):
                deadline.left  # noqa: B018 - raises where the time is over
                time.sleep(0.02)
            if self._users is None:
                self._users = os.open(self._path("users"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._users, fcntl.LOCK_SH)
            if self._is_kept():
                self._check_key()
                return
            self._start()
            # Nobody else starts one meanwhile.
            first = Deadline(20)
            while not self._is_kept():
                deadline.left, first.left  # noqa: B018
                time.sleep(0.02)
        finally:
            os.close(start)

    def _is_kept(self) -> bool:
        """Whether a keeper runs."""
        file = os.open(self._path("keeper"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            return not _locked(file, fcntl.LOCK_SH)
        finally:
            os.close(file)

    def _check_key(self) -> None:
        try:
            with open(self._path("key"), encoding="utf-8") as file:
                there = file.read()
        except FileNotFoundError:
            return
        if there != self._key:
            raise ValueError(f"the daemon at {self._socket} has other models or settings: {there}, not {self._key}")

    def _start(self) -> None:
        with open(self._path("key"), "w", encoding="utf-8") as file:
            file.write(self._key)
        # What the environment sets would differ from process to process, and is in nobody's arguments.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OCELLI")}
        python = sys.executable or shutil.which("python3") or "python3"
        command = [python, "-I", "-S", _keeper.__file__, self._folder, str(_LINGER), *self._command]
        # In a session of its own: it outlives the one who starts it, and the terminal's signals are not for it.
        subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            cwd="/", env=environment, check=True)

    def _is_answering(self, deadline: Deadline) -> bool:
        """Waits until the daemon answers, and no model is being loaded any more. False where its keeper has ended."""
        while True:
            try:
                with Client(self.url, timeout=min(10.0, deadline.left or 10.0), retries=0) as client:
                    if client._is_ready():
                        return True
                    # It is never ready where a model has failed; the others answer.
                    models = client.models()
                    if models and all(model.state in ("ready", "failed", "unloaded") for model in models) and any(
                            model.state == "failed" for model in models):
                        self._check_loaded(models)
                        return True
            except (ConnectionError, OcelliError):
                if not self._is_kept():
                    return False
            except TimeoutError:
                pass
            try:
                deadline.left  # noqa: B018
            except TimeoutError:
                raise TimeoutError(f"the daemon was not ready within {deadline.seconds:g} s: {self._said()}") from None
            time.sleep(0.05)

    @staticmethod
    def _check_loaded(models: Sequence[Any]) -> None:
        failed = [model for model in models if model.state == "failed"]
        if failed and len(failed) == len(models):
            reasons = "; ".join(f"{model.name}: {model.reason}" for model in failed[:5])
            raise RuntimeError(f"no model could be loaded: {reasons}")

    def _said(self) -> str:
        try:
            with open(self._path("log"), "rb") as file:
                text = file.read()[-4000:].decode("utf-8", "replace").strip()
        except FileNotFoundError:
            text = ""
        return text or "it said nothing"


def _program(given: Union[str, "os.PathLike[str]", None]) -> str:
    """The program ``ocelli``."""
    for source, name in (("the argument ocelli", given), ("the variable OCELLI", os.environ.get("OCELLI"))):
        if name:
            found = shutil.which(os.fspath(name))
            if found is None:
                raise FileNotFoundError(f"{source} names {os.fspath(name)!r}, which is no program")
            return os.path.abspath(found)
    found = shutil.which("ocelli")
    if found is None:
        raise FileNotFoundError(
            "there is no program ocelli on PATH: install Ocelli on this machine (apt install ./ocelli_*.deb, or make install in a checkout), "
            "or name the program with LocalDaemon(ocelli=...) or the variable OCELLI")
    return os.path.abspath(found)


def _texts(value: Any) -> list[str]:
    """A setting's value as the command line has it; a list is several."""
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in _texts(each)]
    return [str(value)]


def _own(folder: str) -> None:
    """Makes a folder that only this user may enter, or checks that it is one."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise PermissionError(f"{folder} is not a folder (a link, perhaps, that somebody else has made): remove it")
    if status.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to user {status.st_uid}, not to this one ({os.getuid()}): somebody may listen there")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(f"{folder} has mode {stat.S_IMODE(status.st_mode):04o}, so others may enter it: chmod 700 {folder}")


def _link(socket: str, path: str) -> None:
    """A link to the socket, at the path that was asked for."""
    try:
        os.symlink(socket, path)
    except FileExistsError:
        if not os.path.islink(path) or os.readlink(path) != socket:
            raise FileExistsError(f"{path} already exists, and is not this daemon's socket") from None


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


