"""HTTP/1.1 as bytes: addresses, requests, and a parser of answers. No input or output here: `_client` and `_async` share it."""

from __future__ import annotations

import dataclasses
import json
import secrets
import urllib.parse
from typing import Any, Mapping, Sequence, Union

from ._errors import OcelliError
from ._version import __version__

Buffer = Union[bytes, bytearray, memoryview]

# An answer is a few megabytes at most (a mask, embeddings of a batch): what is longer is another server's.
MOST_HEAD, MOST_BODY = 256 << 10, 1 << 30


@dataclasses.dataclass(frozen=True)
class Address:
    """Where a server is.

    >>> Address.parse("http://127.0.0.1:8080").port
    8080
    >>> Address.parse("unix:///run/ocelli.sock").path
    '/run/ocelli.sock'
    >>> Address.parse("https://models.example/vision/").prefix
    '/vision'
    """

    host: str
    port: int
    #: The Unix-domain socket; empty for TCP.
    path: str
    is_tls: bool
    #: What comes before ``/v1`` behind a proxy.
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Address:
        expected = "expected http://HOST:PORT, https://HOST or unix:///PATH"
        if url.startswith("unix:"):
            path = urllib.parse.unquote(url[len("unix:"):].removeprefix("//"))
            if not path.startswith("/"):
                raise ValueError(f"the URL {url!r} has no absolute path of a socket: {expected}")
            return cls("localhost", 0, path, False, "")
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"the URL {url!r} is not a server's: {expected}")
        if parts.username is not None:
            raise ValueError("the URL has a user name: give the token as token=")
        is_tls = parts.scheme == "https"
        return cls(parts.hostname, parts.port or (443 if is_tls else 80), "", is_tls, parts.path.rstrip("/"))

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.path or self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"

    def __str__(self) -> str:
        if self.path:
            return f"unix://{self.path}"
        return f"{'https' if self.is_tls else 'http'}://{self.authority}{self.prefix}"


@dataclasses.dataclass(frozen=True)
class Request:
    """A request, ready to be sent again."""

    method: str
    target: str
    #: The body in pieces, which are not copied together.
    body: Sequence[Buffer] = ()
    content_type: str = ""

    def encoded(self, address: Address, token: str | None) -> list[Buffer]:
        """The bytes to send, in pieces."""
        fields = [
            f"{self.method} {address.prefix}{self.target} HTTP/1.1", f"Host: {address.authority}",
            f"User-Agent: ocelli-python/{__version__}", "Accept: application/json",
        ]
        if token is not None:
            fields.append(f"Authorization: Bearer {token}")
        if self.content_type:
            fields.append(f"Content-Type: {self.content_type}")
        if self.method not in ("GET", "DELETE"):
            fields.append(f"Content-Length: {sum(len(piece) for piece in self.body)}")
        return [("\r\n".join(fields) + "\r\n\r\n").encode("latin-1"), *self.body]


@dataclasses.dataclass(frozen=True)
class Response:
    """An answer."""

    status: int
    fields: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise self.error() from None

    def error(self) -> OcelliError:
        """The answer as an error; a proxy's, which is no JSON, by its status and first line."""
        try:
            answer = json.loads(self.body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or "error" not in answer:
            text = self.body[:200].decode("utf-8", "replace").strip().replace("\n", " ")
            answer = {"error": f"expected JSON of Ocelli, found {text!r}", "code": "bad_answer"}
        request_id = answer.get("request_id") or self.fields.get("x-request-id") or ""
        return OcelliError(
            str(answer["error"]), status=self.status, code=str(answer.get("code", "")), request_id=str(request_id),
            retry_after=_seconds(self.fields.get("retry-after")))


def _seconds(text: str | None) -> float | None:
    """``Retry-After``: seconds, or a date (which proxies send).

    >>> _seconds("3"), _seconds("soon")
    (3.0, None)
    """
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    import datetime
    import email.utils

    try:
        date = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=datetime.timezone.utc)
    return max(0.0, (date - datetime.datetime.now(datetime.timezone.utc)).total_seconds())


def quoted(name: str) -> str:
    """A name as a part of a path; ``.`` and ``..`` would be taken out of it on the way."""
    if name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not a name")
    return urllib.parse.quote(name, safe="")


def form(pictures: Sequence[tuple[Buffer, str]], labels: Sequence[str] = ()) -> tuple[list[Buffer], str]:
    """Pictures with their types, and labels, as multipart/form-data: the pieces, and their content type."""
    boundary = f"ocelli-{secrets.token_hex(16)}"
    pieces: list[Buffer] = []
    for number, (picture, kind) in enumerate(pictures):
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="image"; filename="{number + 1}"\r\nContent-Type: {kind}\r\n\r\n'
        pieces += [head.encode("ascii"), picture, b"\r\n"]
    for label in labels:
        pieces.append(f'--{boundary}\r\nContent-Disposition: form-data; name="label"\r\n\r\n{label}\r\n'.encode())
    pieces.append(f"--{boundary}--\r\n".encode("ascii"))
    return pieces, f"multipart/form-data; boundary={boundary}"


class ClosedEarly(ConnectionError):
    """The server closed the connection before its answer was complete."""


class ResponseParser:
    """Reads one answer from bytes as they come.

    >>> parser = ResponseParser()
    >>> parser.feed(b"HTTP/1.1 102 Processing\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{")
    >>> parser.feed(b"}")
    >>> parser.response.body
    b'{}'
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._status = 0
        self._fields: dict[str, str] = {}
        self._body = bytearray()
        # Bytes of the body, or of the chunk, that are still to come; -1: until the connection ends.
        self._wanted = 0
        self._state = "head"
        #: The answer, once it is complete.
        self.response: Response | None = None
        #: False where the connection cannot be used again.
        self.is_kept = False
        #: True once anything has come.
        self.has_begun = False

    def feed(self, data: bytes) -> None:
        """Takes what has come; empty bytes are the end of the connection.

        Raises `ConnectionError` where that is no answer of HTTP/1.1.
        """
        if not data:
            if self._state == "body" and self._wanted < 0:
                return self._finish(kept=False)
            raise ClosedEarly("the server closed the connection before its answer was complete")
        self.has_begun = True
        self._bytes += data
        while self.response is None and self._step():
            pass

    def _step(self) -> bool:
        """Goes on as far as the bytes allow; false where more are needed."""
        if self._state == "head":
            end = self._bytes.find(b"\r\n\r\n")
            if end < 0:
                if len(self._bytes) > MOST_HEAD:
                    raise ConnectionError("the server's answer begins with more than 256 KiB of fields")
                return False
            head = bytes(self._bytes[:end])
            del self._bytes[: end + 4]
            self._take_head(head)
            return True
        if self._state == "body":
            self._move()
            if self._wanted == 0:
                self._finish(kept=True)
            return False
        if self._state == "chunk":
            self._move()
            if self._wanted or len(self._bytes) < 2:
                return False
            del self._bytes[:2]
            self._state = "size"
            return True
        end = self._bytes.find(b"\r\n")
        if end < 0:
            if len(self._bytes) > MOST_HEAD:
                raise ConnectionError("the server's answer has a chunk without a size")
            return False
        line = bytes(self._bytes[:end])
        del self._bytes[: end + 2]
        if self._state == "trailer":
            if not line:
                self._finish(kept=True)
            return True
        try:
            self._wanted = int(line.split(b";")[0].strip(), 16)
        except ValueError:
            raise ConnectionError("the server's answer has a chunk without a size") from None
        self._state = "chunk" if self._wanted else "trailer"
        return True

    def _take_head(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdecimal():
            raise ConnectionError(f"the server does not speak HTTP/1.1: it answered {lines[0][:80]!r}")
        self._status = int(words[1])
        fields: dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            fields[name.strip().lower()] = value.strip()
        if 100 <= self._status < 200:
            return
        self._fields = fields
        kept = fields.get("connection", "").lower()
        self.is_kept = "close" not in kept and (words[0] == "HTTP/1.1" or "keep-alive" in kept)
        if fields.get("transfer-encoding", "").lower() == "chunked":
            self._state = "size"
        elif self._status in (204, 304):
            self._finish(kept=True)
        else:
            length = fields.get("content-length")
            if length is not None and not length.isdecimal():
                raise ConnectionError(f"the server's answer has the length {length[:40]!r}")
            self._wanted = -1 if length is None else int(length)
            self._state = "body"
            if self._wanted > MOST_BODY:
                raise ConnectionError(f"the server's answer has {self._wanted} bytes: the limit is 1 GiB")

    def _move(self) -> None:
        """Moves the received bytes to the body."""
        part = self._bytes if self._wanted < 0 else self._bytes[: self._wanted]
        self._body += part
        if len(self._body) > MOST_BODY:
            raise ConnectionError("the server's answer has more bytes than the limit of 1 GiB")
        if self._wanted >= 0:
            self._wanted -= len(part)
        del self._bytes[: len(part)]

    def _finish(self, kept: bool) -> None:
        self.response = Response(self._status, self._fields, bytes(self._body))
        self.is_kept = self.is_kept and kept and not self._bytes
