"""Connections with blocking calls: kept alive, one deadline for everything, ended from another thread by closing."""

from __future__ import annotations

import collections
import ipaddress
import os
import select
import socket
import ssl
import threading
import time
from typing import Sequence

from ._wire import Address, Buffer, Request, Response, ResponseParser


class Closed(ConnectionError):
    """The client was closed while a call was under way."""


class Deadline:
    """The end of a call."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        """Seconds that are left; None without a limit. Raises `TimeoutError` where none are."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.passed()
        return left

    def passed(self) -> TimeoutError:
        return TimeoutError(f"the call did not end within {self.seconds:g} s (timeout)")


def _wait(file: socket.socket, events: int, deadline: Deadline) -> int:
    """Waits until the socket is ready. Returns what for."""
    poll = select.poll()
    poll.register(file, events)
    while True:
        left = deadline.left
        # A part of a millisecond counts as one, so that the end is not waited for in a loop.
        ready = poll.poll(None if left is None else left * 1000 + 1)
        if ready:
            return ready[0][1]


class Connection:
    """One connection."""

    def __init__(self, address: Address, context: ssl.SSLContext | None, deadline: Deadline) -> None:
        self.was_used = False
        try:
            self.socket = _connected(address, deadline)
        except OSError as error:
            deadline.left  # noqa: B018 - raises where the time is over, which is not the server's mistake
            raise ConnectionError(f"{address} cannot be reached: {error.strerror or error}") from error
        if context is not None:
            try:
                self.socket.settimeout(deadline.left)
                self.socket = context.wrap_socket(self.socket, server_hostname=address.host)
            except OSError as error:
                self.socket.close()
                deadline.left  # noqa: B018
                raise ConnectionError(f"{address} cannot be reached: {error}") from error

    def is_stale(self) -> bool:
        """Whether the server has closed it, or has sent what nobody asked for."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(0))

    def exchange(self, pieces: Sequence[Buffer], parser: ResponseParser, deadline: Deadline) -> Response:
        """Sends a request and reads its answer, which may come before all is sent: a refused upload is not sent to its end."""
        isSent = self._exchange_tls(pieces, deadline) if isinstance(self.socket, ssl.SSLSocket) else False
        unsent = collections.deque(memoryview(piece).cast("B") for piece in ([] if isSent else pieces) if len(piece))
        while parser.response is None:
            if isinstance(self.socket, ssl.SSLSocket):
                self.socket.settimeout(deadline.left)
                ready = select.POLLIN
            else:
                ready = _wait(self.socket, select.POLLIN | (select.POLLOUT if unsent else 0), deadline)
            if ready & (select.POLLIN | select.POLLHUP | select.POLLERR):
                try:
                    parser.feed(self.socket.recv(256 << 10))
                except TimeoutError:
                    raise deadline.passed() from None
                except BlockingIOError:
                    pass
            elif ready & select.POLLOUT:
                try:
                    self._sent(unsent, self.socket.sendmsg(list(unsent)[:64]))
                except BlockingIOError:
                    pass
                except (BrokenPipeError, ConnectionResetError):
                    # The server reads no more: its answer, if there is one, tells why.
                    unsent.clear()
        if unsent:
            parser.is_kept = False
        return parser.response

    def _exchange_tls(self, pieces: Sequence[Buffer], deadline: Deadline) -> bool:
        for piece in pieces:
            self.socket.settimeout(deadline.left)
            try:
                self.socket.sendall(piece)
            except TimeoutError:
                raise deadline.passed() from None
        return True

    @staticmethod
    def _sent(unsent: collections.deque[memoryview], count: int) -> None:
        while count:
            first = unsent.popleft()
            if len(first) > count:
                unsent.appendleft(first[count:])
                return
            count -= len(first)

    def shutdown(self) -> None:
        """Ends what waits for it, in whichever thread."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        self.socket.close()


def _connected(address: Address, deadline: Deadline) -> socket.socket:
    """A connected socket. Raises `OSError`."""
    if address.path:
        return _connected_to(socket.AF_UNIX, address.path, deadline)
    problem: OSError = ConnectionError("the host has no address")
    for family, to in _resolved(address, deadline):
        try:
            found = _connected_to(family, to, deadline)
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return found
        except OSError as error:
            problem = error
    raise problem


def _connected_to(family: int, to: str | tuple[object, ...], deadline: Deadline) -> socket.socket:
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setblocking(False)
        while (code := found.connect_ex(to)) != 0:
            if code == 11:  # EAGAIN: the queue of a Unix-domain socket is full, which is not told when it ends
                deadline.left  # noqa: B018
                time.sleep(0.01)
                continue
            if code != 115:  # EINPROGRESS
                raise OSError(code, os.strerror(code))
            _wait(found, select.POLLOUT, deadline)
            if code := found.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(code, os.strerror(code))
            break
        return found
    except BaseException:
        found.close()
        raise


def _resolved(address: Address, deadline: Deadline) -> list[tuple[int, tuple[object, ...]]]:
    """The host's addresses. The system's resolver knows no deadline: it is asked in a thread."""
    def ask() -> list[tuple[int, tuple[object, ...]]]:
        infos = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        return [(int(info[0]), info[4]) for info in infos]

    try:
        ipaddress.ip_address(address.host)
        return ask()
    except ValueError:
        pass
    found: list[list[tuple[int, tuple[object, ...]]]] = []
    problems: list[OSError] = []

    def run() -> None:
        try:
            found.append(ask())
        except OSError as error:
            problems.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(deadline.left)
    if problems:
        raise problems[0]
    if not found:
        raise deadline.passed()
    return found[0]


class Pool:
    """The connections of a client. Threads may share it; a forked process makes its own connections."""

    def __init__(self, address: Address, token: str | None, most: int) -> None:
        self.address, self.token, self.most = address, token, most
        self._context = ssl.create_default_context() if address.is_tls else None
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._idle: list[Connection] = []
        self._active: set[Connection] = set()
        #: Set once the client is closed.
        self.closed = threading.Event()

    def exchange(self, request: Request, deadline: Deadline) -> Response:
        """The answer to a request, over a kept connection where there is one."""
        pieces = request.encoded(self.address, self.token)
        connection = self._kept()
        if connection is not None:
            parser = ResponseParser()
            try:
                return self._exchange(connection, pieces, parser, deadline)
            except Closed:
                raise
            except ConnectionError:
                # The server closed it meanwhile, as it may: once more, over a new one.
                if parser.has_begun:
                    raise
        if self.closed.is_set():
            raise Closed("the client is closed")
        return self._exchange(Connection(self.address, self._context, deadline), pieces, ResponseParser(), deadline)

    def _exchange(
        self, connection: Connection, pieces: Sequence[Buffer], parser: ResponseParser, deadline: Deadline
    ) -> Response:
        with self._lock:
            self._active.add(connection)
        isKept = False
        try:
            if self.closed.is_set():
                raise Closed("the client is closed")
            response = connection.exchange(pieces, parser, deadline)
            isKept = parser.is_kept
            return response
        except OSError as error:
            if self.closed.is_set():
                raise Closed("the client was closed during the call") from None
            if isinstance(error, (ConnectionError, TimeoutError)):
                raise
            raise ConnectionError(f"the connection to {self.address} failed: {error}") from error
        finally:
            with self._lock:
                self._active.discard(connection)
                isKept = isKept and not self.closed.is_set() and len(self._idle) < self.most
                if isKept:
                    self._idle.append(connection)
            if not isKept:
                connection.close()

    def _kept(self) -> Connection | None:
        """A connection that was used before and still stands."""
        with self._lock:
            if self._pid != os.getpid():
                # The parent's: both would read each other's answers.
                inherited, self._idle, self._active, self._pid = self._idle, [], set(), os.getpid()
                for connection in inherited:
                    connection.close()
            while self._idle:
                connection = self._idle.pop()
                if not connection.is_stale():
                    return connection
                connection.close()
        return None

    def close(self) -> None:
        """Closes all; calls that are under way end with `ConnectionError`."""
        self.closed.set()
        with self._lock:
            for connection in self._active:
                connection.shutdown()
            while self._idle:
                self._idle.pop().close()
