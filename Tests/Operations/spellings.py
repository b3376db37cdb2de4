"""The shipped proxies keep what is for operators from clients, however its path is spelt: no metrics, no repository of models.

The daemon behind them would answer each of these spellings, or those that it refuses itself.
"""

import pathlib
import shutil
import socket
import sys
import tempfile

import fronts  # first: it finds the packages that read envoy.yaml
import daemon

HIDDEN = [
    ("GET", "/metrics"), ("GET", "/%6detrics"), ("GET", "/metric%73"), ("GET", "//metrics"), ("GET", "/./metrics"),
    ("GET", "/x/../metrics"), ("GET", "/metrics?x=1"), ("GET", "/metrics?"), ("GET", "/%2e/metrics"), ("GET", "/metrics/"),
    ("POST", "/v2/repository/index"), ("POST", "/v2/%72epository/index"), ("POST", "/v2//repository/index"),
    ("POST", "/v2/./repository/index"), ("POST", "/v2/x/../repository/index"), ("POST", "/v2%2frepository/index"),
    ("POST", "/v2%2Frepository%2Findex"), ("POST", "/%76%32/repository/index"), ("POST", "/v2/repository/models/digits/unload"),
    ("POST", "http://localhost/v2/repository/index"),
]


def ask(target, method, path):
    """The status and the rest of the answer."""
    with socket.create_connection(target, 10) as connection:
        connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while part := connection.recv(65536):
            data += part
    return int(data.split()[1]), data


class Backend:
    """A daemon that would answer everything, where a proxy looks for pods."""

    def __init__(self):
        self.process = daemon.Daemon(["--listen", "127.0.0.1:0", "--repository-control", "all"])
        self.addresses, self.port = ["127.0.0.1"], self.process.port


def main():
    backend, problems, tried = Backend(), [], []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ocelli-spellings-"))
    try:
        for method, path in HIDDEN[:1] + HIDDEN[10:11]:
            if ask(("127.0.0.1", backend.port), method, path)[0] != 200:
                problems.append(f"the daemon itself does not answer {path}: this shows nothing")
        for name in ("haproxy", "nginx", "envoy"):
            if missing := fronts.absence(name):
                print(f"{name}: skipped: {missing}")
                continue
            front = fronts.FRONTS[name](folder)
            front.start(backend)
            try:
                if ask(front.target(), "GET", "/v1/models")[0] != 200:
                    problems.append(f"{name}: /v1/models is not answered")
                for method, path in HIDDEN:
                    status, data = ask(front.target(), method, path)
                    if not 400 <= status < 500 or b"ocelli_requests" in data:
                        problems.append(f"{name}: {method} {path}: {status} {data[-100:]!r}")
            finally:
                front.stop()
            tried.append(name)
        if backend.process.stop() != 0:
            problems.append("the daemon did not end well")
    finally:
        backend.process.kill()
        shutil.rmtree(folder, ignore_errors=True)
    if not tried:
        return 77
    print(f"{len(HIDDEN)} spellings behind {', '.join(tried)}")
    print("PASS" if not problems else "FAIL: " + "\n      ".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
