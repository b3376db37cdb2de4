"""Tests of `ocelli pull` against a server that speaks the hub's protocol (hub_server.py), on loopback.

Run by Tests/EndToEndTests/Commands/PullTests.swift. TEST_BINARY is the program, TEST_CACHE a folder for compiled models."""
import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.request

import hub_server

binary = os.environ["TEST_BINARY"]
package = pathlib.Path(__file__).parents[2]
exports = package / "Tests/Fixtures/exports"
secret = "hf_secret_of_the_test"


class PullCase(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="ocelli-pull-")
        self.addCleanup(self.temporary.cleanup)
        self.work = pathlib.Path(self.temporary.name)
        self.models = self.work / "models"
        self.repositories = self.work / "hub"
        self.hub = self.start()

    def start(self, tls=None):
        hub = hub_server.Hub(self.repositories, tls)
        self.addCleanup(hub.close)
        return hub

    def repository(self, files, name="org/net", **options):
        folder = self.repositories / name
        for path, contents in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        self.options(name, **options)
        return folder

    def options(self, name="org/net", **options):
        (self.repositories / name / ".hub.json").write_text(json.dumps(options))

    def environment(self, **more):
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.work), "HF_ENDPOINT": self.hub.url, "HF_HUB_DOWNLOAD_TIMEOUT": "2"}
        if "LD_LIBRARY_PATH" in os.environ:
            variables["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        return {key: value for key, value in (variables | more).items() if value is not None}

    def command(self, arguments, models=True):
        return [binary, "pull", *arguments] + (["--models", str(self.models)] if models else [])

    def pull(self, *arguments, models=True, status=0, before=None, **environment):
        result = subprocess.run(
            self.command(arguments, models), capture_output=True, text=True, env=self.environment(**environment), cwd=self.work,
            timeout=120, preexec_fn=before,
        )
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertNotIn(secret, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def files(self, name="net"):
        folder = self.models / name
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def record(self, name="net"):
        return json.loads((self.models / name / ".ocelli-pull.json").read_text())

    def pulled(self, name="net"):
        files = self.files(name)
        files.pop(".ocelli-pull.json")
        return files

    def assertAbsent(self, name="net"):
        self.assertFalse((self.models / name).exists())

    def assertNoWork(self):
        self.assertEqual([path.name for path in self.models.glob(".*")], [])

    def requests(self, **wanted):
        return [request for request in self.hub.requests if all(request[key] == value for key, value in wanted.items())]


def noise(count, seed=1):
    block = hashlib.sha256(bytes([seed])).digest()
    result = b""
    while len(result) < count:
        block = hashlib.sha256(block).digest()
        result += block
    return result[:count]


usual = {
    ".gitattributes": "x", "README.md": "# net", "config.json": "{}", "preprocessor_config.json": "{}", "model.safetensors": noise(500),
    "onnx/model.onnx": noise(200_000), "onnx/model_int8.onnx": noise(50_000, 2),
}


class Pulls(PullCase):
    def test_brings_what_is_served_and_nothing_else(self):
        self.repository(usual)
        said = self.pull("org/net")
        self.assertEqual(self.pulled(), {name: pathlib.Path(self.repositories / "org/net" / name).read_bytes() for name in ["config.json", "preprocessor_config.json", "onnx/model.onnx"]})
        self.assertNoWork()
        for words in ["onnx/model.onnx (195.3KiB)", "left out (4", "model.safetensors", "onnx/model_int8.onnx", "in 3 files"]:
            self.assertIn(words, said)
        record = self.record()
        head = hub_server.commit(self.repositories / "org/net")
        self.assertEqual((record["address"], record["revision"], record["model"]), (self.hub.url + "/org/net", head, "onnx/model.onnx"))
        for file in record["files"]:
            contents = self.files()[file["path"]]
            self.assertEqual((file["size"], file["sha256"]), (len(contents), hashlib.sha256(contents).hexdigest()))
        self.assertEqual({file["path"]: file["checked"] for file in record["files"]}, {"onnx/model.onnx": "sha256", "config.json": "git-blob", "preprocessor_config.json": "git-blob"})
        # A second pull asks for the list alone, and writes nothing.
        before = (self.models / "net").stat()
        count = len(self.hub.requests)
        self.assertIn("up to date", self.pull("org/net"))
        self.assertEqual(len(self.hub.requests), count + 1)
        self.assertEqual((self.models / "net").stat(), before)
        # Another file is another pull.
        self.pull("org/net", "--file", "onnx/model_int8.onnx")
        self.assertEqual(set(self.pulled()), {"config.json", "preprocessor_config.json", "onnx/model_int8.onnx"})
        self.assertNoWork()

    def test_a_dry_run_writes_nothing(self):
        self.repository(usual)
        said = self.pull("org/net", "--dry-run", "--as", "other")
        self.assertIn("onnx/model.onnx (195.3KiB)", said)
        self.assertFalse(self.models.exists())
        self.assertEqual(len(self.hub.requests), 1)

    def test_names_and_revisions(self):
        self.repository(usual)
        head = hub_server.commit(self.repositories / "org/net")
        self.pull("org/net@" + head, "--as", "cats")
        self.assertIn("onnx/model.onnx", self.pulled("cats"))
        self.assertIn("no revision", self.pull("org/net@v9", status=1))
        for name in ["net", "../net", "org/..", "org/net@", "org/net@../x", "http://127.0.0.1/net.onnx", "https://127.0.0.1/net.txt", ""]:
            count = len(self.hub.requests)
            self.pull(name, status=2)
            self.assertEqual(len(self.hub.requests), count)
        for other in ["..", "a/b", ".x", "_x"]:
            self.pull("org/net", "--as", other, status=2)
        self.assertIn("several models fit", self.pull("org/net", "--file", "*.onnx", status=1))
        self.assertIn("does not exist", self.pull("org/none", status=1))

    def test_the_folder_is_that_of_the_settings(self):
        self.repository(usual)
        self.pull("org/net", models=False, OCELLI_MODELS=str(self.work / "elsewhere"))
        self.assertTrue((self.work / "elsewhere/net/config.json").exists())
        self.pull("org/net", models=False)
        self.assertTrue((self.work / "models/net/config.json").exists())

    def test_a_new_revision_replaces_the_folder(self):
        folder = self.repository(usual)
        self.pull("org/net")
        (folder / "config.json").write_text('{"new": 1}')
        self.pull("org/net")
        self.assertEqual(self.pulled()["config.json"], b'{"new": 1}')
        self.assertNoWork()
        # What a person has written stays.
        (self.models / "net/model.json").write_text("{}")
        (folder / "config.json").write_text('{"new": 2}')
        self.assertIn("model.json", self.pull("org/net", status=1))
        (self.models / "net/model.json").unlink()
        (self.models / "net/config.json").write_text("mine")
        self.assertIn("config.json", self.pull("org/net", status=1))
        self.assertEqual(self.pulled()["config.json"], b"mine")

    def test_folders_of_others_stay(self):
        self.repository(usual)
        self.repository(usual, name="other/net")
        self.models.mkdir()
        for make in [lambda path: path.mkdir(), lambda path: path.write_text("x"), lambda path: path.symlink_to(self.work / "elsewhere")]:
            make(self.models / "net")
            self.assertIn("pull did not make", self.pull("org/net", status=1).replace("was not made by pull", "pull did not make"))
            self.assertEqual(len(self.hub.requests), 0)
            path = self.models / "net"
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        self.assertFalse((self.work / "elsewhere").exists())
        self.pull("org/net")
        self.assertIn(f"is from {self.hub.url}/org/net", self.pull("other/net", status=1))
        # The work folder as a link, and links in it.
        (self.models / ".x.ocelli-pull").symlink_to(self.work)
        self.assertIn("in the way", self.pull("org/net", "--as", "x", status=1))
        work = self.models / ".y.ocelli-pull"
        work.mkdir()
        (work / "content").symlink_to(self.work / "target")
        (self.work / "target").mkdir()
        identity = hashlib.sha256(usual["onnx/model.onnx"]).hexdigest()
        part = hashlib.sha256(b"onnx/model.onnx\0" + identity.encode()).hexdigest()
        (work / part).symlink_to(self.work / "victim")
        (self.work / "victim").write_text("precious")
        self.pull("org/net", "--as", "y")
        self.assertEqual((self.work / "victim").read_text(), "precious")
        self.assertEqual(list((self.work / "target").iterdir()), [])
        self.assertEqual(self.pulled("y")["onnx/model.onnx"], usual["onnx/model.onnx"])

    def test_weights_that_the_file_names(self):
        def field(number, contents):
            length = len(contents)
            head = bytes([number << 3 | 2])
            while length >= 0x80:
                head += bytes([length & 0x7F | 0x80])
                length >>= 7
            return head + bytes([length]) + contents

        def model(location):
            entry = field(1, b"location") + field(2, location.encode())
            tensor = field(8, b"w") + field(13, entry) + b"\x70\x01"
            return field(7, field(5, tensor))

        folder = self.repository({"net.onnx": model("weights/net.weights"), "weights/net.weights": noise(1000), "net.onnx.data": noise(9)})
        said = self.pull("org/net")
        self.assertEqual(set(self.pulled()), {"net.onnx", "weights/net.weights"})
        self.assertIn("with weights/net.weights", said)
        for location, words in [("../../x", "leads elsewhere"), ("/etc/passwd", "is absolute"), ("none", "does not have")]:
            (folder / "net.onnx").write_bytes(model(location))
            self.assertIn(words, self.pull("org/net", "--as", "evil", status=1))
            self.assertAbsent("evil")

    def test_two_at_once_wait_for_each_other(self):
        self.repository(usual, faults={"onnx/model.onnx": [{"pace": 10_000}]})
        both = [
            subprocess.Popen(self.command(["org/net"]), env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for _ in range(2)
        ]
        said = [process.communicate(timeout=60)[0] for process in both]
        self.assertEqual([process.returncode for process in both], [0, 0], said)
        self.assertEqual(sum("pulled" in text for text in said), 1, said)
        self.assertEqual(len([request for request in self.requests(server="cdn")]), 1)
        self.assertNoWork()


class Faults(PullCase):
    def expect(self, words, status=1, faults=None, name="onnx/model.onnx", **options):
        self.hub.used.clear()
        shutil.rmtree(self.models, ignore_errors=True)
        self.repository(usual, faults={name: faults or []}, forever=True, **options)
        self.assertIn(words, self.pull("org/net", status=status))
        self.assertAbsent()

    def test_broken_connections_go_on(self):
        self.repository(usual, faults={"onnx/model.onnx": [{"cut": 60_000}, {"cut": 0}, {"status": 503}, {"status": 429, "headers": {"Retry-After": "0"}}, {"cut": 60_000}]})
        self.pull("org/net")
        self.assertEqual(self.pulled()["onnx/model.onnx"], usual["onnx/model.onnx"])
        self.assertEqual([request["range"] for request in self.requests(server="cdn")], [None, "bytes=60000-", "bytes=60000-", "bytes=60000-", "bytes=60000-", "bytes=120000-"])

    def test_the_next_pull_goes_on(self):
        self.repository(usual, faults={"onnx/model.onnx": [{"cut": 60_000}, {"cut": 0}]}, forever=True)
        self.assertIn("goes on from 60000 of 200000", self.pull("org/net", status=1))
        self.assertAbsent()
        self.options()
        self.hub.requests.clear()
        self.pull("org/net")
        self.assertEqual([request["range"] for request in self.requests(server="cdn")], ["bytes=60000-"])
        self.assertEqual(self.pulled()["onnx/model.onnx"], usual["onnx/model.onnx"])
        self.assertNoWork()

    def test_a_server_without_ranges(self):
        self.repository(usual, faults={"onnx/model.onnx": [{"cut": 60_000}, {"whole": True}]})
        self.pull("org/net")
        self.assertEqual(self.pulled()["onnx/model.onnx"], usual["onnx/model.onnx"])

    def test_bytes_damaged_on_disk_are_fetched_again(self):
        self.repository(usual, faults={"onnx/model.onnx": [{"cut": 60_000}, {"cut": 0}]}, forever=True)
        self.pull("org/net", status=1)
        part = next(path for path in (self.models / ".net.ocelli-pull").iterdir() if path.stat().st_size == 60_000)
        part.write_bytes(b"x" + part.read_bytes()[1:])
        self.options()
        self.pull("org/net")
        self.assertEqual(self.pulled()["onnx/model.onnx"], usual["onnx/model.onnx"])

    def test_wrong_contents(self):
        self.expect("SHA-256", faults=[{"wrong": 100}])
        self.expect("git's name", faults=[{"wrong": 0}], name="config.json")
        self.expect("more than the 200000 bytes", faults=[{"more": 5}])
        self.expect("sends 199990 bytes, and 200000 are stated", faults=[{"less": 10}])
        self.expect("sends 7000 bytes", faults=[{"length": "7000"}])
        self.expect("200000", faults=[{"more": 50_000_000}])

    def test_wrong_lists(self):
        self.expect("has no size", change={"onnx/model.onnx": {"size": "absent"}})
        self.expect("impossible size", change={"onnx/model.onnx": {"size": -5}})
        self.expect("--max-size", change={"onnx/model.onnx": {"size": 1 << 60, "lfs": {"sha256": "0" * 64, "size": 1 << 60}}})
        self.expect("no digest", change={"config.json": {"blobId": "absent"}})
        self.expect("no SHA-256", change={"onnx/model.onnx": {"lfs": {"size": 200_000}}})
        for path in ["../evil.onnx", "/evil.onnx", "a/../../evil", "a\nb", "a\0b", "", "x/", "./x"]:
            self.expect("that no repository has", entries=[{"rfilename": path, "size": 1, "blobId": "0" * 40}])
        self.expect("twice", entries=[{"rfilename": "config.json", "size": 1, "blobId": "0" * 40}])
        self.expect("is not JSON", listing={"text": "<html>"})
        self.expect("more than", listing={"endless": True})
        self.expect("head", listing={"endless_head": True})
        self.expect("no commit", listing={"text": '{"sha": "../..", "siblings": []}'})
        self.expect("no progress for 2 s", listing={"sleep": 4})
        self.expect("status 500", listing={"status": 500})
        self.assertFalse((self.work / "evil.onnx").exists())
        # A failure that passes.
        self.hub.used.clear()
        self.repository(usual, listing={"status": 502, "once": 2})
        self.pull("org/net")

    def test_redirects(self):
        self.expect("redirects more than 10 times", listing={"location": self.hub.cdn + "/loop"})
        self.expect("no address", listing={"location": "file:///etc/passwd"})
        self.expect("redirects more than 10 times", faults=[{"location": self.hub.cdn + "/loop"}])

    def test_stalled_and_endless(self):
        self.expect("no progress for 2 s", faults=[{"stall": 100, "seconds": 60}])
        self.expect("head", faults=[{"endless_head": True}])

    def test_refusals(self):
        self.expect("gated", gated=True)
        self.expect("HF_TOKEN", token="other")
        self.expect("status 404", faults=[{"status": 404}])
        self.repository(usual)
        self.assertIn("more than --max-size", self.pull("org/net", "--max-size", "100KiB", status=1))
        self.pull("org/net", "--max-size", "none", status=2)

    def test_kill_at_any_instant(self):
        self.repository(usual | {"labels.txt": "a\nb"}, faults={"onnx/model.onnx": [{"pace": 4_000}]}, forever=True)
        rest = 0
        for attempt in range(40):
            process = subprocess.Popen(self.command(["org/net"]), env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.05 + 0.031 * attempt)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if (self.models / "net").exists():
                break
            rest += 1
        self.assertGreater(rest, 0)
        self.pull("org/net")
        self.assertEqual(self.pulled()["onnx/model.onnx"], usual["onnx/model.onnx"])
        self.assertEqual(len(self.pulled()), 4)
        self.assertNoWork()

    def test_full_disks_and_closed_folders(self):
        self.repository(usual)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

        self.assertIn("cannot be written: File too large", self.pull("org/net", status=1, before=limit))
        self.assertAbsent()
        self.pull("org/net")
        if os.geteuid() != 0:
            self.models.chmod(0o555)
            self.addCleanup(self.models.chmod, 0o755)
            self.assertIn("cannot be written: Permission denied", self.pull("org/net", "--as", "x", status=1))
        else:
            (self.work / "file").write_text("x")
            self.models = self.work / "file"
            self.pull("org/net", status=1)


class Secrets(PullCase):
    def test_the_token_goes_to_the_hub_alone(self):
        self.repository(usual, token=secret)
        self.pull("org/net", HF_TOKEN=secret)
        for request in self.hub.requests:
            self.assertEqual(request["authorization"], f"Bearer {secret}" if request["server"] == "hub" else None)
        self.assertEqual(len(self.requests(server="cdn")), 1)
        for path in self.models.rglob("*"):
            self.assertFalse(path.is_file() and secret.encode() in path.read_bytes())
        # Sent back by a server.
        self.repository(usual, name="org/evil", listing={"status": 403, "headers": {"X-Error-Message": f"no {secret}"}})
        self.assertIn("(token)", self.pull("org/evil", status=1, HF_TOKEN=secret))
        self.repository(usual, name="org/path", entries=[{"rfilename": f"labels-{secret}.names", "size": 1, "blobId": "0" * 40}])
        self.pull("org/path", status=1, HF_TOKEN=secret)
        self.assertAbsent("path")
        self.pull("org/net", "--as", "x", status=2, HF_TOKEN=secret + "\nX: y")

    def test_proxies(self):
        self.repository(usual)
        # The server answers as a proxy, too; the hub has a name that only a proxy could reach.
        proxy = dict(HF_ENDPOINT="http://hub.invalid", HTTP_PROXY=self.hub.url)
        said = self.pull("org/net", "--file", "onnx/model.onnx", HF_TOKEN=secret, **proxy)
        self.assertIn("HF_TOKEN is not sent", said)
        self.assertTrue(self.requests(proxied=True))
        self.assertEqual([request for request in self.hub.requests if request["authorization"]], [])
        self.pull("org/net", "--as", "x", status=1, NO_PROXY="hub.invalid", **proxy)


class TLS(PullCase):
    def setUp(self):
        super().setUp()
        self.certificate, key = self.work / "certificate.pem", self.work / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", self.certificate],
            check=True, capture_output=True,
        )
        self.plain = self.hub
        self.hub = self.start((self.certificate, key))

    def test_certificates_are_checked(self):
        self.repository(usual)
        self.assertIn("SSL_CERT_FILE", self.pull("org/net", status=1))
        self.assertAbsent()
        self.pull("org/net", SSL_CERT_FILE=str(self.certificate))
        self.assertEqual(self.pulled()["onnx/model.onnx"], usual["onnx/model.onnx"])
        # Another name than that of the certificate.
        self.pull("org/net", "--as", "x", status=1, SSL_CERT_FILE=str(self.certificate), HF_ENDPOINT=self.hub.url.replace("localhost", "127.0.0.1"))

    def test_no_redirect_to_plain_http(self):
        self.repository(usual, faults={"onnx/model.onnx": [{"location": self.plain.cdn + "/org/net/x?name=onnx/model.onnx"}]})
        self.assertIn("not https", self.pull("org/net", status=1, SSL_CERT_FILE=str(self.certificate)))
        self.assertEqual(self.plain.requests, [])

    def test_the_address_of_a_file(self):
        self.repository(usual, faults={"onnx/model.onnx": [{"cut": 60_000}, {"cut": 0}]}, forever=True)
        trust = dict(SSL_CERT_FILE=str(self.certificate))
        address = f"{self.hub.cdn}/org/net/onnx/Model%201.onnx?name=onnx/model.onnx&key=hidden"
        with_user = address.replace("https://", "https://me:hidden@")
        self.assertIn("goes on from 60000", self.pull(with_user, status=1, **trust))
        self.assertAbsent("Model 1")
        self.options()
        said = self.pull(with_user, **trust)
        self.assertNotIn("hidden", said)
        self.assertIn("no digest", said)
        self.assertEqual(self.pulled("Model 1"), {"Model 1.onnx": usual["onnx/model.onnx"]})
        record = self.record("Model 1")
        self.assertEqual((record["address"], record["files"][0]["checked"]), (f"{self.hub.cdn}/org/net/onnx/Model%201.onnx", "length"))
        self.assertNotIn("hidden", json.dumps(record))
        self.assertEqual(self.requests(method="GET")[-1]["range"], "bytes=60000-")
        self.assertTrue(self.requests(method="GET")[-1]["authorization"].startswith("Basic "))
        self.assertIn("up to date", self.pull(address, **trust))
        self.pull(address, "--file", "x", status=2, **trust)
        self.assertIn("404", self.pull(f"{self.hub.cdn}/org/net/none.onnx", status=1, **trust))


class Libraries(PullCase):
    def test_without_libcurl_the_package_is_named(self):
        self.repository(usual)
        for name in ["libcurl.so.4", "libcurl-gnutls.so.4"]:
            (self.work / "lib").mkdir(exist_ok=True)
            (self.work / "lib" / name).write_text("no library")
        path = f"{self.work}/lib:{os.environ.get('LD_LIBRARY_PATH', '')}"
        said = self.pull("org/net", status=1, LD_LIBRARY_PATH=path)
        self.assertIn("libcurl4", said)
        self.assertEqual(len(self.hub.requests), 0)


class Serves(PullCase):
    def serve(self):
        process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--models", str(self.models)], stderr=subprocess.PIPE, text=True,
            env=self.environment(XDG_CACHE_HOME=os.environ.get("TEST_CACHE", str(self.work / "cache"))),
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        address, log = None, ""
        for line in process.stderr:
            log += line
            if "listening on " in line:
                address = line.split("listening on ")[1].split(",")[0].split('"')[0].strip()
            if "ready after" in line or "not every model is ready" in line:
                break
        self.assertIsNotNone(address, log)
        return "http://" + address, log

    def test_what_was_pulled_is_served(self):
        folder = self.repositories / "org/net"
        # In the hub's own layout, and another file of it.
        shutil.copytree(exports / "ending_softmax_behind", folder)
        (folder / "onnx").mkdir()
        for name in ["model.onnx", "model_int8.onnx"]:
            shutil.copy(folder / "model.onnx", folder / "onnx" / name)
        (folder / "model.onnx").unlink()
        core = self.repositories / "org/core/coreml/Net.mlpackage"
        shutil.copytree(package / "Tests/Fixtures/coreml/programs/reduction.mlpackage", core)
        self.pull("org/net")
        self.pull("org/net", "--as", "small", "--file", "model_int8.onnx")
        self.pull("org/core")
        # What is under way is not served.
        (self.models / ".half.ocelli-pull/content").mkdir(parents=True)
        shutil.copy(folder / "onnx/model.onnx", self.models / ".half.ocelli-pull/content/model.onnx")
        url, log = self.serve()
        with urllib.request.urlopen(url + "/v1/models") as answer:
            models = json.loads(answer.read())["models"]
        self.assertEqual(sorted(model["name"] for model in models), ["core", "net", "small"], log)
        picture = (package / "examples/seven.png").read_bytes()
        answers = []
        for name in ["net", "small"]:
            with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/models/{name}/classify", picture)) as answer:
                answers.append(json.loads(answer.read())["classifications"])
        self.assertTrue(answers[0][0]["label"])
        self.assertEqual(answers[0], answers[1])
        with urllib.request.urlopen(url + "/v1/models/core") as answer:
            self.assertEqual(answer.status, 200)


if __name__ == "__main__":
    unittest.main()
