"""What the clients of a soak do: good, bad, aborted, slow. Each function is one visit; it raises `Wrong` when the answer is
not one that it may get."""

import json
import socket
import struct
import time

import daemon
import wire

PICTURES = daemon.pictures()
SIDE = daemon.SIDE


class Wrong(Exception):
    """An answer that must not be."""


def expect(answer, *statuses):
    # 503 with Retry-After is an honest answer of a full server, or of a model that was just unloaded.
    if answer.status == 503 and "retry-after" in answer.fields:
        if answer.json.get("code") in ("overloaded", "model_not_ready"):
            return False
    if answer.status not in statuses:
        raise Wrong(f"{answer.status} instead of {statuses}: {answer.body[:300]!r}")
    if answer.status >= 400:
        problem = answer.json
        if not (problem.get("error") and problem.get("code")):
            raise Wrong(f"{answer.status} without error and code: {answer.body[:300]!r}")
    return True


class Client:
    """One visitor: keeps its connection as long as the server does."""

    def __init__(self, port, random):
        self.port, self.random, self.connection = port, random, None

    def ask(self, data):
        fresh = self.connection is None
        if fresh:
            self.connection = wire.Connection(self.port)
        try:
            answer = self.connection.ask(data)
        except wire.Lost:
            self.close()
            # A kept connection may be closed by the server between two requests (RFC 9112, 9.5): asked again on a new one.
            if fresh:
                raise
            return self.ask(data)
        if not answer.keeps:
            self.close()
        return answer

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def picture(self):
        return self.random.choice(PICTURES)


# Good.


def classify(c):
    data, digit = c.picture()
    top = c.random.randint(1, 10)
    answer = c.ask(wire.request("POST", f"/v1/classify?top={top}", data))
    if expect(answer, 200):
        best = answer.json["classifications"]
        if len(best) != top or best[0]["label"] != digit:
            raise Wrong(f"expected {digit} and {top} classes: {answer.body[:300]!r}")


def classify_chunked(c):
    data, digit = c.picture()
    head = b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = c.ask(head + wire.chunked(data, c.random))
    if expect(answer, 200) and answer.json["classifications"][0]["label"] != digit:
        raise Wrong(f"expected {digit}: {answer.body[:300]!r}")


def batch(c):
    parts = [c.picture()[0] for _ in range(c.random.randint(2, 5))] + [b"no picture"]
    body, kind = wire.multipart(parts)
    answer = c.ask(wire.request("POST", "/v1/classify", body, [("Content-Type", kind)]))
    if expect(answer, 200):
        results = answer.json["results"]
        if len(results) != len(parts) or results[-1].get("code") != "unsupported_media_type":
            raise Wrong(f"a batch of {len(parts)}: {answer.body[:300]!r}")


def infer_json(c):
    values = [round(c.random.random(), 3) for _ in range(SIDE * SIDE)]
    tensor = {"name": "image", "datatype": "FP32", "shape": daemon.digits_shape(), "data": values}
    body = json.dumps({"inputs": [tensor]}).encode()
    answer = c.ask(wire.request("POST", "/v2/models/digits/infer", body, [("Content-Type", "application/json")]))
    if expect(answer, 200) and len(answer.json["outputs"][0]["data"]) != 10:
        raise Wrong(f"{answer.body[:300]!r}")


def infer_binary(c):
    raw = struct.pack("<f", c.random.random()) * (SIDE * SIDE)
    parameters = {"binary_data_size": len(raw)}
    tensor = {"name": "image", "datatype": "FP32", "shape": daemon.digits_shape(), "parameters": parameters}
    head = json.dumps({"inputs": [tensor]}).encode()
    fields = [("Inference-Header-Content-Length", len(head)), ("Content-Type", "application/octet-stream")]
    expect(c.ask(wire.request("POST", "/v2/models/digits/infer", head + raw, fields)), 200)


def look_around(c):
    paths = ["/v1/models", "/v1/models/digits", "/v2", "/v2/models/digits", "/healthz", "/", "/openapi.json"]
    expect(c.ask(wire.request(c.random.choice(["GET", "GET", "HEAD"]), c.random.choice(paths))), 200)


def load_and_unload(c):
    what = c.random.choice(["load", "load", "unload"])
    expect(c.ask(wire.request("POST", f"/v2/repository/models/second/{what}", b"{}")), 200)
    data, digit = c.picture()
    expect(c.ask(wire.request("POST", "/v1/models/second/classify", data)), 200)


# Bad.


def no_picture(c):
    junk = c.random.randbytes(c.random.randint(0, 5000))
    expect(c.ask(wire.request("POST", "/v1/classify", junk)), 400, 415)


def damaged_picture(c):
    data = bytearray(c.picture()[0])
    for _ in range(c.random.randint(1, 20)):
        data[c.random.randrange(len(data))] = c.random.randrange(256)
    # A damaged picture may still be one.
    expect(c.ask(wire.request("POST", "/v1/classify", bytes(data))), 200, 400, 413, 415)


def cut_picture(c):
    data = c.picture()[0]
    expect(c.ask(wire.request("POST", "/v1/classify", data[: c.random.randint(1, len(data) - 40)])), 400, 415)


def wrong_request(c):
    method, path, body, statuses = c.random.choice(
        [
            ("POST", "/v1/classify?top=0", PICTURES[0][0], (400,)),
            ("POST", "/v1/classify?threshold=x", PICTURES[0][0], (400,)),
            ("POST", "/v1/models/nobody/classify", PICTURES[0][0], (404,)),
            ("POST", "/v1/models/digits/predict", b'{"inputs": {"image": [1, 2', (400,)),
            ("POST", "/v2/models/digits/infer", b'{"inputs": []}', (400,)),
            ("GET", "/v1/classify", b"", (405,)),
            ("GET", "/%00/../../etc/passwd", b"", (400, 404)),
            ("GET", "/" + "x" * 9000, b"", (414,)),
            ("PUT", "/v1/models", b"", (405,)),
        ])
    expect(c.ask(wire.request(method, path, body)), *statuses)


def malformed(c):
    c.close()
    bytes_sent = c.random.choice(
        [
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/9.1\r\nHost: x\r\n\r\n",
            b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 200 + b"\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\nlong: " + b"y" * 20_000 + b"\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + c.random.randbytes(200),
        ])
    answer = c.ask(bytes_sent)
    if not 400 <= answer.status < 600 or answer.status == 500:
        raise Wrong(f"{answer.status} to {bytes_sent[:40]!r}")


def too_large(c):
    # Declared, not sent: refused before it is read.
    c.close()
    expect(c.ask(b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 99000000\r\n\r\n"), 413)
    c.close()


# Aborted.


def abort(c):
    """Goes away at any moment: in the head, in the body, while it waits for the answer, or while it reads it."""
    c.close()
    connection = wire.Connection(c.port)
    data = wire.request("POST", "/v1/classify", c.picture()[0])
    try:
        connection.send(data[: c.random.choice([10, len(data) // 2, len(data), len(data)])])
        time.sleep(c.random.choice([0, 0, 0.0005, 0.002]))
    finally:
        connection.reset() if c.random.random() < 0.5 else connection.close()


def half_close(c):
    c.close()
    connection = wire.Connection(c.port)
    try:
        connection.send(wire.request("POST", "/v1/classify", c.picture()[0]))
        connection.socket.shutdown(socket.SHUT_WR)
        expect(connection.answer(), 200)
    finally:
        connection.close()


# Slow.


def drip_head(c):
    _drip(c, b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\nX: ", b"x", 408)


def drip_body(c):
    _drip(c, b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n", b"\x89", 408)


def _drip(c, start, drop, status):
    """A few bytes a second, until the server has had enough of it."""
    c.close()
    connection = wire.Connection(c.port)
    try:
        connection.send(start)
        connection.socket.settimeout(0.1)
        for _ in range(200):
            try:
                answer = connection.answer()
            except wire.Lost as lost:
                if "in time" not in str(lost):
                    raise
                connection.send(drop)
                continue
            expect(answer, status)
            return
        raise Wrong(f"a client that drips never got {status}")
    finally:
        connection.close()


def read_slowly(c):
    """Asks for much, reads little, goes away."""
    c.close()
    connection = wire.Connection(c.port, receive_buffer=4096)
    try:
        connection.send(wire.request("GET", "/metrics") * 20)
        for _ in range(5):
            connection.socket.recv(500)
            time.sleep(0.05)
    finally:
        connection.reset()


def linger_idle(c):
    c.close()
    connection = wire.Connection(c.port)
    time.sleep(0.2)
    connection.close()


# How often each is done.
WEIGHTS = {
    classify: 40, classify_chunked: 6, batch: 5, infer_json: 4, infer_binary: 6, look_around: 6, load_and_unload: 1,
    no_picture: 5, damaged_picture: 6, cut_picture: 4, wrong_request: 6, malformed: 4, too_large: 2,
    abort: 12, half_close: 3, drip_head: 0.1, drip_body: 0.1, read_slowly: 1, linger_idle: 0.5,
}
