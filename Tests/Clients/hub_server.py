"""A server of model repositories that speaks the protocol of Hugging Face's hub, for tests on loopback, with faults on request.

ROOT/ORG/NAME/ is a repository. Large files are redirected to a second server with another port, as to a content network. Requests with an absolute
address, as proxies get them, are answered too, and listed as "proxied".

ROOT/ORG/NAME/.hub.json is read again for each request:
    lfs        patterns of large files; default: *.onnx *.bin *.onnx_data
    token      the token that requests to the hub need
    gated      true: the answer is 403 with GatedRepo
    entries    raw entries that are added to the list of files
    change     members that replace those of a listed file, by path
    listing    what the list answers instead: {"status", "text", "headers", "endless", "endless_head", "sleep", "location"},
               and {"once": N} for the first N answers only
    faults     by path, a list of faults; each answer with the file uses up one:
               {"status", "headers"} {"cut": N} {"more": N} {"less": N} {"wrong": N} {"whole": true} {"stall": N} {"pace": N} {"location": URL}
               {"endless_head": true} {"length": TEXT} {}
    forever    true: the last fault of a path is never used up
"""
import fnmatch
import hashlib
import http.server
import json
import pathlib
import ssl
import threading
import time
import urllib.parse

def settings(folder):
    try:
        return json.loads((folder / ".hub.json").read_text())
    except FileNotFoundError:
        return {}


def files(folder):
    return {
        str(path.relative_to(folder)): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".hub.json"
    }


def is_large(path, options):
    return any(fnmatch.fnmatch(path, pattern) for pattern in options.get("lfs", ["*.onnx", "*.bin", "*.onnx_data"]))


def blob(contents):
    return hashlib.sha1(b"blob %d\0" % len(contents) + contents).hexdigest()


def commit(folder):
    return hashlib.sha1(repr([(name, blob(path.read_bytes())) for name, path in files(folder).items()]).encode()).hexdigest()


def entry(name, path, options):
    contents = path.read_bytes()
    result = {"rfilename": name, "size": len(contents), "blobId": blob(contents)}
    if is_large(name, options):
        digest = hashlib.sha256(contents).hexdigest()
        result["lfs"] = {"sha256": digest, "size": len(contents), "pointerSize": 134}
        result["blobId"] = blob(f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(contents)}\n".encode())
    result.update(options.get("change", {}).get(name, {}))
    return {key: value for key, value in result.items() if value != "absent"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "hub"

    def log_message(self, *arguments):
        pass

    def next_fault(self, repository, name, options):
        faults = options.get("faults", {}).get(name, [])
        index = self.state.next(f"{repository}/{name}")
        if options.get("forever"):
            index = min(index, len(faults) - 1)
        return faults[index] if 0 <= index < len(faults) else {}

    def do_GET(self):
        target = urllib.parse.urlsplit(self.path)
        fields = {key.lower(): value for key, value in self.headers.items()}
        self.state.add(
            {
                "server": self.server.name,
                "method": self.command,
                "path": target.path,
                "query": target.query,
                "proxied": bool(target.netloc),
                "range": fields.get("range"),
                "authorization": fields.get("authorization"),
            }
        )
        try:
            is_hub = self.server.name == "hub" and not self.state.cdn.endswith(target.netloc or "hub")
            self.hub(target) if is_hub else self.cdn(target)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    do_HEAD = do_GET

    def answer(self, status, text=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def error(self, status, code, message):
        self.answer(status, b'{"error": "%s"}' % message.encode(), X_Error_Code=code, X_Error_Message=message)

    def is_admitted(self, options):
        token = options.get("token")
        if token and self.headers.get("Authorization") != f"Bearer {token}":
            self.error(401, "RepoNotFound", "Repository not found")
            return False
        if options.get("gated"):
            self.error(403, "GatedRepo", "Access to this repository is restricted.")
            return False
        return True

    def hub(self, target):
        parts = [urllib.parse.unquote(part) for part in target.path.split("/")[1:]]
        if parts[:2] == ["api", "models"] and len(parts) >= 4:
            return self.list_files("/".join(parts[2:4]), parts[5] if parts[4:5] == ["revision"] else "main")
        if len(parts) < 5 or parts[2] != "resolve":
            return self.answer(404, b"no such page")
        repository, revision, name = "/".join(parts[:2]), parts[3], "/".join(parts[4:])
        options = settings(self.state.root / repository)
        if not self.is_admitted(options):
            return
        known = files(self.state.root / repository)
        head = commit(self.state.root / repository)
        if revision not in ("main", head):
            return self.error(404, "RevisionNotFound", "Invalid rev id")
        if name not in known:
            return self.error(404, "EntryNotFound", "Entry not found")
        contents = known[name].read_bytes()
        if not is_large(name, options):
            return self.contents(repository, name, contents, {"ETag": f'"{blob(contents)}"', "X-Repo-Commit": head})
        digest = hashlib.sha256(contents).hexdigest()
        address = f"{self.server.other}/{repository}/{digest}?name={urllib.parse.quote(name)}&signature=secret"
        self.answer(
            302,
            b"Found",
            Location=address,
            X_Repo_Commit=head,
            X_Linked_Etag=f'"{digest}"',
            X_Linked_Size=str(len(contents)),
        )

    def cdn(self, target):
        if "loop" in target.path:
            return self.answer(302, Location=self.path)
        repository = "/".join(target.path.split("/")[1:3])
        name = urllib.parse.parse_qs(target.query).get("name", [target.path.split("/")[-1]])[0]
        path = files(self.state.root / repository).get(name)
        if not path:
            return self.answer(404, b"none")
        contents = path.read_bytes()
        self.contents(repository, name, contents, {"ETag": f'"{hashlib.sha256(contents).hexdigest()}"'})

    def list_files(self, repository, revision):
        if not (self.state.root / repository).is_dir():
            return self.error(401, "RepoNotFound", "Invalid username or password.")
        options = settings(self.state.root / repository)
        if not self.is_admitted(options):
            return
        head = commit(self.state.root / repository)
        if revision not in ("main", head):
            return self.error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        fault = options.get("listing", {})
        if fault.get("once"):
            fault = fault if self.state.next(repository) < fault["once"] else {}
        time.sleep(fault.get("sleep", 0))
        if "endless" in fault:
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            while True:
                self.wfile.write(b'{"siblings": [' + b" " * (1 << 20))
        if fault.get("endless_head"):
            return self.endless_head()
        if "location" in fault:
            return self.answer(302, Location=fault["location"])
        if "status" in fault or "text" in fault:
            return self.answer(fault.get("status", 200), fault.get("text", "").encode(), **fault.get("headers", {}))
        siblings = [entry(name, path, options) for name, path in files(self.state.root / repository).items()] + options.get("entries", [])
        text = json.dumps({"_id": "1", "id": repository, "modelId": repository, "private": False, "sha": head, "siblings": siblings})
        self.answer(200, text.encode(), Content_Type="application/json")

    def endless_head(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            self.wfile.write(b"X-Filler: " + b"x" * 4000 + b"\r\n")

    def contents(self, repository, name, contents, fields):
        fault = self.next_fault(repository, name, settings(self.state.root / repository)) if self.command == "GET" else {}
        time.sleep(fault.get("slow", 0))
        if "status" in fault:
            return self.answer(fault["status"], b"fault", **fault.get("headers", {}))
        if "location" in fault:
            return self.answer(302, Location=fault["location"])
        if fault.get("endless_head"):
            return self.endless_head()
        if "wrong" in fault:
            contents = contents[: fault["wrong"]] + bytes([contents[fault["wrong"]] ^ 1]) + contents[fault["wrong"] + 1 :]
        first, whole = 0, len(contents)
        wanted = self.headers.get("Range")
        is_part = bool(wanted) and not fault.get("whole")
        if is_part:
            first = int(wanted.removeprefix("bytes=").split("-")[0])
            if first >= whole:
                return self.answer(416, Content_Range=f"bytes */{whole}")
        body = contents[first:]
        if "less" in fault:
            body = body[: -fault["less"]]
        if "more" in fault:
            body += b"x" * fault["more"]
        self.send_response(206 if is_part else 200)
        for field, value in fields.items():
            self.send_header(field, value)
        if is_part:
            self.send_header("Content-Range", f"bytes {first}-{whole - 1}/{whole}")
        if "more" in fault or "length" in fault:
            # The end of the connection ends the body.
            self.close_connection = True
            if fault.get("length"):
                self.send_header("Content-Length", fault["length"])
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if self.command == "HEAD":
            return
        if "cut" in fault:
            self.wfile.write(body[: fault["cut"]])
            self.close_connection = True
        elif "stall" in fault:
            self.wfile.write(body[: fault["stall"]])
            self.wfile.flush()
            time.sleep(fault.get("seconds", 600))
            self.close_connection = True
        elif "pace" in fault:
            for start in range(0, len(body), fault["pace"]):
                self.wfile.write(body[start : start + fault["pace"]])
                self.wfile.flush()
                time.sleep(0.02)
        else:
            self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # As many as connect at once.
    request_queue_size = 64

    def handle_error(self, request, address):
        pass


class Hub:
    """The two servers, until `close`. `tls` is the files of a certificate and its key, for localhost."""

    def __init__(self, root, tls=None):
        self.root, self.requests, self.used, self.lock = pathlib.Path(root), [], {}, threading.Lock()
        self.servers = [Server(("127.0.0.1", 0), type("StatefulHandler", (Handler,), {"state": self})) for _ in range(2)]
        start = "https://localhost" if tls else "http://127.0.0.1"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            for server in self.servers:
                server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self.url, self.cdn = (f"{start}:{server.server_address[1]}" for server in self.servers)
        for server, name, other in zip(self.servers, ["hub", "cdn"], [self.cdn, self.url]):
            server.name, server.other = name, other
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def next(self, key):
        """How often this was called for a key before."""
        with self.lock:
            self.used[key] = self.used.get(key, -1) + 1
            return self.used[key]

    def add(self, request):
        with self.lock:
            self.requests.append(request)

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()
