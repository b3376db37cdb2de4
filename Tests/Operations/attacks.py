"""The attacks: each a function that keeps a daemon busy from a process of its own until it is ended."""

import dataclasses
import os
import random
import resource
import select
import socket
import struct
import time
import zlib

GET = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
SLASHES = b"GET " + b"/" * 8100 + b" HTTP/1.1\r\nHost: a\r\n\r\n"


@dataclasses.dataclass(frozen=True)
class Attack:
    """What an attack is, the settings that the daemon has meanwhile, and its sizes."""

    summary: str
    run: object
    connections: int
    long_connections: int
    settings: tuple = ()
    # How long it needs before the good clients are looked at.
    head_start: float = 0.5
    # Whether memory is what it is after: its bound is judged.
    fills_memory: bool = False
    # The same for the kernel's: answers that lie in socket buffers.
    fills_sockets: bool = False
    # New connections for each of the good client's requests.
    good_reconnects: bool = False
    # The size of the good client's picture, which is then sent in chunks; 0 for a small one with a length.
    good_upload: int = 0


def connect(port, receive_buffer=None):
    client = socket.socket()
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(5)
    client.connect(("127.0.0.1", port))
    return client


def head(path, fields):
    return (f"POST {path} HTTP/1.1\r\nHost: a\r\n" + "".join(f"{f}\r\n" for f in fields) + "\r\n").encode()


def length_head(length, path="/v1/classify"):
    return head(path, [f"Content-Length: {length}"])


CHUNKED = head("/v1/classify", ["Transfer-Encoding: chunked"])


def flood(port, connections, first, repeated):
    """Each connection sends `first` once and `repeated` for ever, and discards the answers."""
    poll = select.epoll()
    clients = {}

    def add():
        try:
            client = connect(port)
        except OSError:
            return
        client.setblocking(False)
        clients[client.fileno()] = [client, first]
        poll.register(client, select.EPOLLIN | select.EPOLLOUT)

    for _ in range(connections):
        add()
    while True:
        while len(clients) < connections:
            before = len(clients)
            add()
            if len(clients) == before:
                time.sleep(0.05)
                break
        for number, events in poll.poll(1):
            entry = clients[number]
            client, left = entry
            try:
                if events & select.EPOLLIN and not client.recv(1 << 20):
                    raise ConnectionError
                if events & select.EPOLLOUT:
                    entry[1] = left[client.send(left) :] or repeated
                if events & (select.EPOLLERR | select.EPOLLHUP):
                    raise ConnectionError
            except BlockingIOError:
                pass
            except OSError:
                poll.unregister(client)
                client.close()
                del clients[number]


def pipeline(port, count, _):
    flood(port, count, b"", GET * 2000)


def slashes(port, count, _):
    flood(port, count, b"", SLASHES * 16)


def tiny_chunks(port, count, _):
    flood(port, count, CHUNKED, b"1\r\nx\r\n" * 40_000)


def hold(port, count, opening, drip=None, every=1.0, receive_buffer=None, patient=True):
    """`count` connections send `opening(i)`, and `drip` each `every` seconds; those that are closed come again."""
    clients = {}
    while True:
        for number in range(count):
            if number in clients:
                continue
            try:
                client = connect(port, receive_buffer)
                client.settimeout(2)
                try:
                    opening(client, number)
                except TimeoutError:
                    pass
                client.setblocking(False)
                clients[number] = client
            except OSError:
                if not patient:
                    continue
                break
        started = time.monotonic()
        for number, client in list(clients.items()):
            try:
                if drip:
                    client.send(drip)
                if receive_buffer is None and not client.recv(1 << 16):
                    raise ConnectionError
            except BlockingIOError:
                pass
            except OSError:
                client.close()
                del clients[number]
        time.sleep(max(0.0, every - (time.monotonic() - started)))


def slow_bodies(port, count, _):
    """Almost whole bodies of 19.4 MiB that go on at a little more than 1 KiB/s."""
    size = int(19.4 * (1 << 20))
    opening = length_head(size) + bytes(size - (1 << 18))
    hold(port, count, lambda client, _: client.sendall(opening), drip=bytes(600), every=0.5)


def drippers(port, count, _):
    """More connections than there may be, each with a body that drips."""
    hold(port, count, lambda client, _: client.sendall(length_head(60_000) + b"x"), drip=bytes(600), every=0.5)


def recycled(port, count, _):
    """A whole body, so that its buffer is used again, then one byte of another as long."""
    size = 4_190_000
    whole = length_head(size) + bytes(size)

    def opening(client, _):
        client.settimeout(20)
        client.sendall(whole)
        client.recv(1 << 16)
        client.sendall(length_head(size) + b"x")

    hold(port, count, opening, every=0.2)


def one_byte(port, count, _):
    """Bodies of many lengths, of which only one byte comes, after whole ones of the same lengths."""
    sizes = [20_000, 60_000, 100_000, 127_000, 200_000, 1_000_000, 2_500_000, 19_000_000]

    def opening(client, number):
        size = sizes[number % len(sizes)]
        if number % 3 == 0 and size < 3_000_000:
            client.sendall(length_head(size) + bytes(size))
            client.recv(1 << 16)
        client.sendall(length_head(size) + b"x")

    hold(port, count, opening, every=0.2)


def chunked_heads(port, count, _):
    """Chunked bodies whose first 60 KiB come together with the head, and no more."""
    opening = CHUNKED + b"8000\r\n" + bytes(0x8000) + b"\r\n7000\r\n" + bytes(0x7000 - 500)
    hold(port, count, lambda client, _: client.sendall(opening), every=0.2)


def short_lengths(port, count, _):
    """Bodies of 200 KB whose first 60 KiB come, and no more."""
    opening = length_head(200_000) + bytes(60 << 10)
    hold(port, count, lambda client, _: client.sendall(opening), every=0.2)


def half_heads(port, count, _):
    """Heads of 20 KiB that never end."""
    opening = b"GET /" + b"x" * 8000 + b" HTTP/1.1\r\nHost: a\r\n" + b"".join(
        b"f%d: %s\r\n" % (i, b"y" * 200) for i in range(60))
    hold(port, count, lambda client, _: client.sendall(opening), every=0.2)


def png(width, height, comment=0):
    """A black picture of a few bytes, and a comment of so many."""

    def piece(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = zlib.compress(b"".join(b"\0" + bytes(width) for _ in range(height)))
    return (
        b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + (piece(b"tEXt", b"Comment\0" + b"x" * comment) if comment else b"") + piece(b"IDAT", rows) + piece(b"IEND", b""))


def readers(port, count, _):
    """Clients that ask for large answers and never read one."""
    picture = png(8, 8)
    ask = length_head(len(picture), "/v1/classify?explain=preprocess") + picture
    page = b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 4
    hold(port, count, lambda client, _: client.sendall((ask + page) * 6), drip=page, every=0.2, receive_buffer=4096)


def unread(port, count, _):
    """Clients that ask for the page twice, which the kernel's buffers hold, never read it, and come again when they are closed."""
    ask = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 2
    clients = {}
    while True:
        for number in range(count):
            # A connection that was reset has an error; nothing is read of the others.
            if number in clients and not clients[number].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                continue
            try:
                client = connect(port, 4096)
                client.sendall(ask)
                clients[number] = client
            except OSError:
                break
        time.sleep(0.05)


def refused(port, count, expect=False):
    """Pictures of 105 KB to a route that does not exist: each is refused on sight of its head."""
    body = random.Random(1).randbytes(105_000)
    opening = head("/v1/nothing", [f"Content-Length: {len(body)}"] + (["Expect: 100-continue"] if expect else []))
    request = opening if expect else opening + body
    poll = select.epoll()
    clients = {}

    def add():
        client = connect(port)
        clients[client.fileno()] = [client, request, b""]
        client.setblocking(False)
        poll.register(client, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)

    answers = connections = 0
    report = os.environ.get("ATTACK_REPORT")
    last = time.monotonic()
    while True:
        while len(clients) < count:
            add()
            connections += 1
        for number, events in poll.poll(0.2):
            entry = clients.get(number)
            if entry is None:
                continue
            client = entry[0]
            try:
                while True:
                    if entry[1]:
                        entry[1] = entry[1][client.send(entry[1]) :]
                    data = client.recv(1 << 16)
                    if not data:
                        raise ConnectionError
                    entry[2] += data
                    if b"}\n" in entry[2] or b"}" in entry[2][-2:]:
                        answers += 1
                        closes = b"Connection: close" in entry[2]
                        entry[2] = b""
                        if closes:
                            raise ConnectionError
                        entry[1] += request
            except BlockingIOError:
                pass
            except OSError:
                poll.unregister(client)
                client.close()
                del clients[number]
        if report and time.monotonic() - last > 0.2:
            last = time.monotonic()
            with open(report + ".next", "w") as file:
                file.write(f"{answers} {connections}")
            os.replace(report + ".next", report)


def refused_expecting(port, count, _):
    refused(port, count, expect=True)


LIMIT_256 = ("--max-connections=256",)
ATTACKS = {
    "pipeline": Attack("connections that pipeline GET /healthz without end", pipeline, 16, 64),
    "slashes": Attack("paths of 8,100 slashes, pipelined", slashes, 16, 64),
    "tiny-chunks": Attack("chunked bodies of one-byte chunks", tiny_chunks, 16, 64),
    "slow-bodies": Attack("bodies of 19.4 MiB that drip their last 256 KiB", slow_bodies, 13, 13, head_start=3.0),
    "drippers": Attack(
        "more connections than max_connections, each with a dripping body", drippers, 300, 300, LIMIT_256,
        head_start=2.0, good_reconnects=True),
    "recycled": Attack(
        "a whole body of 4.19 MB, then one byte of the next", recycled, 200, 600, head_start=6.0, fills_memory=True),
    "one-byte": Attack(
        "one byte each of bodies of many lengths", one_byte, 400, 2000, head_start=4.0, fills_memory=True),
    "chunked-heads": Attack(
        "60 KiB of chunks with the head, and no more", chunked_heads, 400, 2000, head_start=3.0, fills_memory=True),
    "chunked-uploads": Attack(
        "the same beside a good client that uploads 400 KB in chunks", chunked_heads, 400, 2000, head_start=3.0,
        fills_memory=True, good_reconnects=True, good_upload=400_000),
    "short-lengths": Attack(
        "60 KiB of bodies of 200 KB, and no more", short_lengths, 400, 2000, head_start=3.0, fills_memory=True),
    "half-heads": Attack("heads of 20 KiB that never end", half_heads, 500, 3000, head_start=3.0, fills_memory=True),
    "readers": Attack(
        "large answers that are not read", readers, 200, 2000, head_start=3.0, fills_memory=True),
    "unread": Attack(
        "answers that socket buffers hold and nobody reads, from more clients than there may be connections", unread, 1000,
        4000, LIMIT_256, head_start=3.0, fills_sockets=True),
    "unread-few": Attack(
        "the same from fewer clients than there may be connections", unread, 1000, 3500, head_start=3.0, fills_sockets=True),
    "refused": Attack("pictures of 105 KB that are refused on sight of the head", refused, 16, 64),
    "refused-expect": Attack("the same with Expect: 100-continue", refused_expecting, 16, 64),
}


def run(name, port, count):
    """In a process of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384), hard))
    os.nice(1)
    ATTACKS[name].run(port, count, False)
