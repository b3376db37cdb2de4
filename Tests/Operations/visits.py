"""What clients do in the chaos: each function is one visit. Whatever it asks and does not abort must be answered; `Asker` counts
and watches that, and the answers must be the right ones: each brings back its request's own id."""

import base64
import json
import socket
import struct
import threading
import time

import behaviours
import daemon
import wire
from behaviours import PICTURES, SIDE, Wrong

# What the daemon is started with: a kept connection that was idle for nearly this long may be closed under a request.
IDLE_SECONDS = 2


class Watch:
    """Who waits for an answer, and since when."""

    def __init__(self):
        self.lock = threading.Lock()
        self.waits = {}
        self.asked = self.answered = self.aborted = 0
        # How often the daemon was let alone for a wait that had grown long.
        self.calmed = 0

    def oldest(self):
        """Seconds of the longest wait, and what is waited for."""
        with self.lock:
            first = min(self.waits.values(), default=None)
        return (time.monotonic() - first[0], first[1]) if first else (0, "")


class Asker:
    """One client: its connections, and what it waits for."""

    def __init__(self, port, random, watch):
        self.port, self.random, self.watch = port, random, watch
        self.kept, self.idle_since = None, 0
        self.count = 0

    def connect(self, **options):
        return wire.Connection(self.port, timeout=90, **options)

    def close(self):
        if self.kept:
            self.kept.close()
            self.kept = None

    def name(self):
        self.count += 1
        return f"chaos-{id(self):x}-{self.count}"

    def request(self, method, path, body=b"", fields=()):
        """A request's bytes and its id."""
        name = self.name()
        return wire.request(method, path, body, [("X-Request-ID", name), *fields]), name

    def waiting(self, name, what):
        with self.watch.lock:
            self.watch.asked += 1
            self.watch.waits[name] = (time.monotonic(), what)

    def over(self, name):
        with self.watch.lock:
            self.watch.waits.pop(name, None)

    def take(self, connection, name, bodiless=False):
        """The answer to the request of this id."""
        answer = connection.answer(bodiless)
        self.over(name)
        with self.watch.lock:
            self.watch.answered += 1
        if answer.fields.get("x-request-id") != name:
            raise Wrong(f"asked as {name}, answered as {answer.fields.get('x-request-id')}")
        return answer

    def ask(self, method, path, body=b"", fields=(), fresh=False, send=None):
        """Asks, on the kept connection unless `fresh`, and waits for the answer. `send` sends in its own manner."""
        data, name = self.request(method, path, body, fields)
        if fresh:
            self.close()
        reused = self.kept is not None
        if not reused:
            self.kept = self.connect()
        idle = time.monotonic() - self.idle_since
        self.waiting(name, f"{method} {path[:60]}")
        try:
            try:
                (send or wire.Connection.send)(self.kept, data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # what the server has said before is read below
            answer = self.take(self.kept, name, method == "HEAD")
        except wire.Lost as lost:
            self.close()
            self.over(name)
            if "in time" not in str(lost) and reused and idle > IDLE_SECONDS * 0.5:
                with self.watch.lock:
                    self.watch.asked -= 1
                return self.ask(method, path, body, fields, fresh=True, send=send)
            raise
        self.idle_since = time.monotonic()
        if not answer.keeps:
            self.close()
        return answer

    def abort(self, connection):
        with self.watch.lock:
            self.watch.aborted += 1
        connection.reset() if self.random.random() < 0.5 else connection.close()


def right(answer, digit, *others):
    """200 with this digit, or one of these statuses."""
    if answer.status in others:
        if not answer.json.get("code"):
            raise Wrong(f"{answer.status} without a code")
        return
    if answer.status != 200:
        raise Wrong(f"{answer.status}: {answer.body[:300]!r}")
    if answer.json["classifications"][0]["label"] != digit:
        raise Wrong(f"expected {digit}: {answer.body[:200]!r}")


def model(c):
    """One of the models: the second comes and goes, the third runs batches."""
    return c.random.choice(["digits", "digits", "digits", "batched"])


def classify(c):
    data, digit = c.random.choice(PICTURES)
    right(c.ask("POST", f"/v1/models/{model(c)}/classify?top=3", data), digit)


def batch(c):
    chosen = [c.random.choice(PICTURES) for _ in range(c.random.randint(2, 9))]
    body, kind = wire.multipart([data for data, _ in chosen] + [b"no picture"])
    answer = c.ask("POST", f"/v1/models/{model(c)}/classify", body, [("Content-Type", kind)])
    if answer.status != 200:
        raise Wrong(f"{answer.status}: {answer.body[:300]!r}")
    labels = [r["classifications"][0]["label"] if "classifications" in r else r["code"] for r in answer.json["results"]]
    if labels != [digit for _, digit in chosen] + ["unsupported_media_type"]:
        raise Wrong(f"a batch: {labels}")


def predict(c):
    data, digit = c.random.choice(PICTURES)
    body = json.dumps({"inputs": {"image": {"b64": base64.b64encode(data).decode()}}}).encode()
    answer = c.ask("POST", f"/v1/models/{model(c)}/predict?top=1", body, [("Content-Type", "application/json")])
    if answer.status != 200 or f'"{digit}"' not in answer.body.decode():
        raise Wrong(f"{answer.status}: {answer.body[:300]!r}")


def infer(c):
    count = c.random.choice([1, 1, 3])
    which = "batched" if count > 1 else model(c)
    tensor = {"name": "image", "datatype": "FP32", "shape": daemon.digits_shape(count)}
    if c.random.random() < 0.3:
        tensor["data"] = [0.5] * (SIDE * SIDE * count)
        body, fields = json.dumps({"inputs": [tensor]}).encode(), [("Content-Type", "application/json")]
    else:
        raw = struct.pack("<f", c.random.random()) * (SIDE * SIDE * count)
        tensor["parameters"] = {"binary_data_size": len(raw)}
        head = json.dumps({"inputs": [tensor]}).encode()
        body, fields = head + raw, [("Inference-Header-Content-Length", len(head))]
    answer = c.ask("POST", f"/v2/models/{which}/infer", body, fields)
    if answer.status != 200 or answer.json["outputs"][0]["shape"] != [count, 10]:
        raise Wrong(f"{answer.status}: {answer.body[:300]!r}")


def in_pieces(c):
    """The bytes come as they come: cut anywhere, with pauses."""
    data, digit = c.random.choice(PICTURES)

    def send(connection, whole):
        at = 0
        for _ in range(c.random.randint(1, 6)):
            end = c.random.randint(at, len(whole))
            connection.send(whole[at:end])
            at = end
            time.sleep(c.random.choice([0, 0.001, 0.05, 0.3]))
        connection.send(whole[at:])

    if c.random.random() < 0.5:
        right(c.ask("POST", "/v1/classify", data, send=send), digit)
        return

    def send_chunked(connection, whole):
        # The head comes with a length, which the chunks replace.
        head = whole[: whole.index(b"\r\n\r\n") + 2].replace(b"Content-Length: 0\r\n", b"")
        send(connection, head + b"Transfer-Encoding: chunked\r\n\r\n" + wire.chunked(data, c.random))

    right(c.ask("POST", "/v1/classify", send=send_chunked), digit)


def expects(c):
    """Waits for 100 (Continue) before it sends the body."""
    data, digit = c.random.choice(PICTURES)

    def send(connection, whole):
        at = whole.index(b"\r\n\r\n") + 4
        connection.send(whole[:at])
        while b"\r\n\r\n" not in connection.rest:
            connection._receive("before 100 (Continue)")
        connection.send(whole[at:])

    right(c.ask("POST", "/v1/classify", data, [("Expect", "100-continue")], send=send), digit)


def pipelined(c):
    """Several requests at once on one connection: the answers come in their order."""
    c.close()
    connection = c.connect()
    try:
        sent, bytes_sent = [], b""
        for _ in range(c.random.randint(2, 12)):
            data, digit = c.random.choice(PICTURES)
            method, path, body, digit = c.random.choice(
                [("GET", "/healthz", b"", None), ("HEAD", "/v1/models", b"", None), ("POST", "/v1/classify", data, digit)])
            request, name = c.request(method, path, body)
            sent.append((name, method, digit))
            bytes_sent += request
        for name, method, _ in sent:
            c.waiting(name, f"{method}, pipelined")
        connection.send(bytes_sent)
        if c.random.random() < 0.3:
            connection.socket.shutdown(socket.SHUT_WR)
        for name, method, digit in sent:
            answer = c.take(connection, name, method == "HEAD")
            if digit is not None:
                right(answer, digit)
            elif answer.status != 200:
                raise Wrong(f"{method}: {answer.status}")
    finally:
        for name, _, _ in sent:
            c.over(name)
        connection.close()


def crowd(c):
    """Many at the same moment with the same picture, and then silence: no later request could wake anything."""
    data, digit = c.random.choice(PICTURES)
    which = model(c)
    connections, names = [], []
    try:
        for _ in range(c.random.randint(2, 16)):
            connections.append(c.connect())
        for connection in connections:
            request, name = c.request("POST", f"/v1/models/{which}/classify", data)
            c.waiting(name, f"one of a crowd of {len(connections)}")
            names.append(name)
            connection.send(request)
        for connection, name in zip(connections, names):
            right(c.take(connection, name), digit)
    finally:
        for name in names:
            c.over(name)
        for connection in connections:
            connection.close()


def half_close(c):
    c.close()
    data, digit = c.random.choice(PICTURES)

    def send(connection, whole):
        connection.send(whole)
        connection.socket.shutdown(socket.SHUT_WR)

    right(c.ask("POST", "/v1/classify", data, fresh=True, send=send), digit)
    c.close()


def in_a_hurry(c):
    data, digit = c.random.choice(PICTURES)
    right(c.ask("POST", f"/v1/models/{model(c)}/classify?timeout_ms={c.random.randint(1, 30)}", data), digit, 503, 504)


def comes_and_goes(c):
    """A model that is loaded and unloaded meanwhile; who asks for it may find it gone."""
    what = c.random.choice(["load", "unload", "classify", "classify", "hurry", "abort"])
    data, digit = c.random.choice(PICTURES)
    if what in ("load", "unload"):
        answer = c.ask("POST", f"/v2/repository/models/second/{what}", b"{}")
        if answer.status not in (200, 503):
            raise Wrong(f"{what}: {answer.status}: {answer.body[:300]!r}")
    elif what == "classify":
        right(c.ask("POST", "/v1/models/second/classify", data), digit, 503)
    elif what == "hurry":
        right(c.ask("POST", "/v1/models/second/classify?timeout_ms=20", data), digit, 503, 504)
    else:
        connection = c.connect()
        try:
            connection.send(c.request("POST", "/v1/models/second/classify", data)[0])
            time.sleep(c.random.choice([0, 0.01, 0.2]))
        except OSError:
            pass
        c.abort(connection)


def goes_away(c):
    """Aborts at any moment."""
    connection = c.connect()
    body, kind = wire.multipart([c.random.choice(PICTURES)[0] for _ in range(c.random.randint(1, 6))])
    data, _ = c.request("POST", f"/v1/models/{model(c)}/classify", body, [("Content-Type", kind)])
    try:
        connection.send(data[: c.random.choice([10, c.random.randrange(len(data)), len(data), len(data)])])
        time.sleep(c.random.choice([0, 0, 0.0005, 0.002, 0.02]))
    except OSError:
        pass
    c.abort(connection)


def look_around(c):
    path = c.random.choice(["/v1/models", "/v1/models/digits", "/v2/models/digits", "/healthz", "/readyz", "/metrics", "/"])
    answer = c.ask(c.random.choice(["GET", "GET", "HEAD"]), path)
    # Not ready while a model that was unloaded is loaded again.
    if answer.status not in ((200, 503) if path == "/readyz" else (200,)):
        raise Wrong(f"{path}: {answer.status}")


def read_slowly(c):
    """Asks for much at once and takes it in small sips: all of it comes."""
    c.close()
    connection = c.connect(receive_buffer=4096)
    asked = [c.request("GET", "/metrics") for _ in range(c.random.randint(2, 20))]
    try:
        for _, name in asked:
            c.waiting(name, "GET /metrics, read slowly")
        connection.send(b"".join(data for data, _ in asked))
        time.sleep(c.random.choice([0, 0.1, 0.5]))
        for _, name in asked:
            if c.take(connection, name).status != 200:
                raise Wrong("/metrics")
    finally:
        for _, name in asked:
            c.over(name)
        connection.close()


def refused(c):
    """Refused on sight of the head, with a body on the way."""
    behaviours.expect(c.ask("POST", "/v1/models/nobody/classify", b"x" * c.random.choice([10, 5000, 200_000])), 404)
    c.close()


def idle(c):
    """About as long as the server keeps an idle connection: the next request meets the close."""
    time.sleep(c.random.uniform(0.1, IDLE_SECONDS * 1.1))


WEIGHTS = {
    classify: 20, batch: 5, predict: 4, infer: 8, in_pieces: 6, expects: 4, pipelined: 6, crowd: 12, half_close: 4,
    in_a_hurry: 8, comes_and_goes: 4, goes_away: 12, look_around: 5, read_slowly: 2, refused: 3, idle: 3,
}
