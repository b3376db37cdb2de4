"""A plain HTTP/1.1 client on a socket: it can stop anywhere, which ready-made clients cannot."""

import json
import socket
import struct


class Lost(Exception):
    """The connection ended where an answer was due; `sent` tells whether the request had been sent whole."""

    def __init__(self, reason, sent):
        super().__init__(reason)
        self.sent = sent


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def keeps(self):
        return self.fields.get("connection", "").lower() != "close"


def request(method, path, body=b"", fields=()):
    """The bytes of a request, which shares no answer with an equal one: each is to cost what it costs."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    if body or method == "POST":
        head += f"Cache-Control: no-store\r\nContent-Length: {len(body)}\r\n"
    for name, value in fields:
        head += f"{name}: {value}\r\n"
    return head.encode() + b"\r\n" + body


def multipart(parts):
    """A multipart/form-data body of pictures, and its Content-Type."""
    boundary = "ocelli-operations-boundary"
    body = b""
    for part in parts:
        body += (f"--{boundary}\r\nContent-Disposition: form-data; name=\"image\"; filename=\"p\"\r\n\r\n").encode()
        body += part + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def chunked(data, random):
    """A body in chunks of random sizes."""
    body, at = b"", 0
    while at < len(data):
        part = data[at : at + random.randint(1, 4000)]
        body += b"%x\r\n%s\r\n" % (len(part), part)
        at += len(part)
    return body + b"0\r\n\r\n"


class Connection:
    def __init__(self, port, timeout=30, receive_buffer=None, host="127.0.0.1"):
        """`port`: a number, or the path of a Unix-domain socket."""
        is_unix = isinstance(port, str)
        self.socket = socket.socket(socket.AF_UNIX if is_unix else socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        if not is_unix:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""
        try:
            self.socket.connect(port if is_unix else (host, port))
        except OSError:
            self.socket.close()
            raise

    def send(self, data):
        self.socket.sendall(data)

    def answer(self, bodiless=False):
        """The next answer; interim ones are passed over. One to HEAD has no body, whatever its length says."""
        while True:
            while b"\r\n\r\n" not in self.rest:
                self._receive("before the answer's head was whole")
            head, self.rest = self.rest.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            status = int(lines[0].split()[1])
            fields = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines[1:])}
            if status >= 200:
                break
        length = 0 if bodiless else int(fields.get("content-length", 0))
        while len(self.rest) < length:
            self._receive("before the answer's body was whole")
        body, self.rest = self.rest[:length], self.rest[length:]
        return Answer(status, fields, body)

    def _receive(self, where):
        try:
            data = self.socket.recv(65536)
        except TimeoutError:
            raise Lost(f"no answer in time, {where}", True) from None
        except OSError as error:
            raise Lost(f"{error.strerror or error}, {where}", True) from None
        if not data:
            raise Lost(f"ended {where}", True)
        self.rest += data

    def ask(self, data):
        """Sends a request and waits for its answer."""
        bodiless = data.startswith(b"HEAD ")
        try:
            self.send(data)
        except OSError as error:
            # The answer may be there already: a refusal before the body was read.
            try:
                return self.answer(bodiless)
            except Lost:
                raise Lost(f"{error.strerror or error}, while the request was sent", False) from None
        return self.answer(bodiless)

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection with RST, as a client that crashes does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
