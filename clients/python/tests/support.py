"""Helpers that the tests of the package share: the real daemon, and a server with scripted answers.

The program is the one that TEST_BINARY names, else .build/release/ocelli of this checkout.
"""
import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "clients/python/src"))
PROGRAM = os.environ.get("TEST_BINARY", str(ROOT / ".build/release/ocelli"))
EXAMPLES = ROOT / "examples"
#: The digit that each picture shows, by its name.
DIGITS = {"seven.png": "7", "three.png": "3", "zero-colours.png": "0", "six-tiny.png": "6", "nine-photo.jpg": "9"}
SEVEN = (EXAMPLES / "seven.png").read_bytes()


@contextlib.contextmanager
def daemon(*arguments):
    """`ocelli serve`: gives its URL."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OCELLI")}
    process = subprocess.Popen(
        [PROGRAM, "serve", "--listen=127.0.0.1:0", "--access-log=false", *arguments], stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env=environment)
    try:
        said, url, ready = [], None, False
        for line in process.stderr:
            said.append(line)
            if match := re.search(r"listening on ([^\s,\"]+)", line):
                url = f"http://{match[1]}"
            ready = ready or "ready after" in line or "not every model is ready" in line
            if url and ready:
                break
        else:
            raise AssertionError("the daemon did not start: " + "".join(said))
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield url
    finally:
        process.terminate()
        process.wait(60)


class Scripted:
    """A server whose connections are handled, one after the other, by the functions of a test."""

    def __init__(self, *handlers):
        self.requests = []
        self._handlers = list(handlers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        for handler in self._handlers:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(30)
                try:
                    handler(self, connection)
                except OSError:
                    pass

    def receive(self, connection):
        """A whole request: its head and its body."""
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(65536)
            if not part:
                return None
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        while len(body) < (int(length[1]) if length else 0):
            body += connection.recv(65536)
        self.requests.append((head.decode(), body))
        return head.decode(), body

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()


def answer(body=b"{}", status="200 OK", *fields):
    """An answer as bytes."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields]
    return ("\r\n".join(head) + "\r\n\r\n").encode() + body


def answering(*answers):
    """A handler that answers request after request of one connection, and then closes it."""
    def handler(server, connection):
        for each in answers:
            if server.receive(connection) is None:
                return
            connection.sendall(each)

    return handler
