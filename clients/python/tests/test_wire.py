"""The client with servers that answer late, wrongly, in pieces or not at all."""
import asyncio
import base64
import email
import json
import os
import re
import socket
import struct
import tempfile
import threading
import time
import unittest

from support import Scripted, answer, answering

from ocelli import AsyncClient, Client, OcelliError, _results, _tables

GOOD = (
    b'{"model": "m", "version": "1", "request_id": "r", "classifications": [{"index": 1, "label": "cat", "confidence": 0.5}],'
    b' "image": {"format": "png", "width": 2, "height": 2, "orientation": 1}, "timing_ms": {}}')
BUSY = b'{"error": "too much to do", "code": "overloaded", "request_id": "r"}'


class Both(unittest.TestCase):
    """Each check with `Client` and with `AsyncClient`."""

    def ask(self, url, image=b"x", **arguments):
        """Asks both ways, one after the other; gives what each returned or raised."""
        timeout = arguments.pop("timeout", 20)

        def call():
            with Client(url, timeout=timeout, **arguments) as client:
                return client.classify(image)

        async def acall():
            async with AsyncClient(url, timeout=timeout, **arguments) as client:
                return await client.classify(image)

        outcomes = []
        for way in (call, lambda: asyncio.run(acall())):
            try:
                outcomes.append(way())
            except Exception as error:
                outcomes.append(error)
        return outcomes

    def test_an_overloaded_server_is_asked_again_but_never_before_it_allows(self):
        times = []

        def busy_then_good(server, connection):
            for each in (answer(BUSY, "503 Service Unavailable", "Retry-After: 1"), answer(BUSY, "429 Too Many", "Retry-After: 1"), answer(GOOD)):
                server.receive(connection)
                times.append(time.monotonic())
                connection.sendall(each)

        with Scripted(busy_then_good, busy_then_good) as server:
            for result in self.ask(server.url):
                self.assertEqual(result.classifications[0].label, "cat")
        for first, second in ((0, 1), (1, 2), (3, 4), (4, 5)):
            self.assertGreaterEqual(times[second] - times[first], 1)

    def test_retries_are_bounded_and_the_error_says_when_to_come_again(self):
        busy = answer(BUSY, "503 Service Unavailable", "Retry-After: 0")
        with Scripted(*[answering(*[busy] * 9)] * 2) as server:
            for error in self.ask(server.url, retries=2):
                self.assertIsInstance(error, OcelliError)
                self.assertEqual((error.code, error.status, error.retry_after, error.request_id), ("overloaded", 503, 0, "r"))
            self.assertEqual(len(server.requests), 6)

    def test_other_errors_are_not_tried_again(self):
        for status in ("500 Internal", "400 Bad", "504 Gateway Timeout", "502 Bad Gateway"):
            with Scripted(*[answering(*[answer(b"<html>", status)] * 3)] * 2) as server:
                for error in self.ask(server.url):
                    self.assertEqual((error.status, error.code), (int(status[:3]), "bad_answer"))
                self.assertEqual(len(server.requests), 2, status)

    def test_a_wait_past_the_deadline_ends_the_call_at_once(self):
        with Scripted(*[answering(answer(BUSY, "503 Service Unavailable", "Retry-After: 600"))] * 2) as server:
            begin = time.monotonic()
            for error in self.ask(server.url, timeout=30):
                self.assertIsInstance(error, TimeoutError)
                self.assertIsInstance(error.__cause__, OcelliError)
            self.assertLess(time.monotonic() - begin, 25)

    def test_a_server_that_does_not_answer_or_does_not_read_ends_at_the_deadline(self):
        done = threading.Event()

        def silent(server, connection):
            done.wait(30)

        for image in (b"x", bytes(30 << 20)):
            done.clear()
            with Scripted(silent, silent) as server:
                # The second connection waits in the listener's queue, which is the same to the client.
                for error in self.ask(server.url, image, timeout=0.4):
                    self.assertIsInstance(error, TimeoutError)
                done.set()

    def test_an_upload_that_is_refused_early_is_not_sent_to_its_end(self):
        refusal = answer(b'{"error": "too large", "code": "body_too_large", "request_id": "r"}', "413 Too Large", "Connection: close")

        def refuse(server, connection):
            connection.recv(1000)
            connection.sendall(refusal)
            # It reads no more, and does not reset either.
            connection.shutdown(socket.SHUT_WR)
            time.sleep(1)

        with Scripted(refuse, refuse) as server:
            for error in self.ask(server.url, bytes(60 << 20)):
                self.assertIsInstance(error, OcelliError)
                self.assertEqual((error.status, error.code), (413, "body_too_large"))

    def test_a_kept_connection_that_was_closed_is_opened_again(self):
        def twice(url):
            with Client(url, retries=0) as client:
                return [client.classify(b"x").model for _ in range(3)]

        async def atwice(url):
            async with AsyncClient(url, retries=0) as client:
                return [(await client.classify(b"x")).model for _ in range(3)]

        def late(server, connection):
            # Closes when the second request has come: the client cannot know before.
            server.receive(connection)
            connection.sendall(answer(GOOD))
            server.receive(connection)

        for handlers in ([answering(answer(GOOD))] * 3, [late, late, answering(answer(GOOD))]):
            for way in (twice, lambda url: asyncio.run(atwice(url))):
                with Scripted(*handlers) as server:
                    self.assertEqual(way(server.url), ["m"] * 3)

    def test_connections_are_kept(self):
        with Scripted(answering(*[answer(GOOD)] * 5), answering(*[answer(GOOD)] * 5)) as server:
            with Client(server.url) as client:
                for _ in range(5):
                    client.classify(b"x")

            async def ask():
                async with AsyncClient(server.url) as client:
                    for _ in range(5):
                        await client.classify(b"x")

            asyncio.run(ask())
            self.assertEqual(len(server.requests), 10)

    def test_answers_in_pieces_chunks_and_after_interim_ones_are_whole(self):
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(
            b"%x;a=b\r\n%s\r\n" % (len(GOOD[at: at + 50]), GOOD[at: at + 50]) for at in range(0, len(GOOD), 50)) + b"0\r\nX: y\r\n\r\n"
        for whole in (b"HTTP/1.1 102 Processing\r\n\r\n" + answer(GOOD), chunked, b"HTTP/1.0 200 OK\r\n\r\n" + GOOD):
            def pieces(server, connection):
                server.receive(connection)
                for at in range(0, len(whole), 7):
                    connection.sendall(whole[at: at + 7])

            with Scripted(pieces, pieces) as server:
                for result in self.ask(server.url):
                    self.assertEqual(result.classifications[0].label, "cat", whole[:40])

    def test_what_is_no_answer_is_an_error(self):
        for wrong in (b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{}", b"",
                      b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            with Scripted(answering(wrong), answering(wrong)) as server:
                for error in self.ask(server.url):
                    self.assertIsInstance(error, ConnectionError, wrong)
        with Scripted(answering(answer(b"hello")), answering(answer(b"hello"))) as server:
            for error in self.ask(server.url):
                self.assertEqual((error.status, error.code), (200, "bad_answer"))

    def test_a_server_that_is_not_there_is_a_connection_error(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = "http://127.0.0.1:%d" % listener.getsockname()[1]
        for where in (url, "unix:///there/is/no.sock"):
            for error in self.ask(where):
                self.assertIsInstance(error, ConnectionError)
                self.assertIn("cannot be reached", str(error))

    def test_closing_ends_calls_that_are_under_way(self):
        arrived, done = threading.Event(), threading.Event()

        def silent(server, connection):
            server.receive(connection)
            arrived.set()
            self.assertEqual(connection.recv(1), b"", "the client closes its connection")
            done.set()

        with Scripted(silent, silent) as server:
            client = Client(server.url, timeout=60)
            caught = []

            def call():
                try:
                    client.classify(b"x")
                except Exception as error:
                    caught.append(error)

            thread = threading.Thread(target=call)
            thread.start()
            self.assertTrue(arrived.wait(20))
            client.close()
            thread.join(20)
            self.assertIsInstance(caught[0], ConnectionError)
            self.assertTrue(done.wait(20))
            arrived.clear(), done.clear()

            async def cancelled():
                async with AsyncClient(server.url) as client:
                    task = asyncio.ensure_future(client.classify(b"x"))
                    await asyncio.to_thread(arrived.wait, 20)
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                    self.assertTrue(await asyncio.to_thread(done.wait, 20))

            asyncio.run(cancelled())

    def test_a_unix_socket_and_a_token_are_used(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s")
            server = Scripted(answering(answer(GOOD)), answering(answer(GOOD)))
            server._listener.close()
            server._listener = socket.socket(socket.AF_UNIX)
            server._listener.bind(path)
            server._listener.listen()
            thread = threading.Thread(target=server._run, daemon=True)
            thread.start()
            for result in self.ask(f"unix://{path}", token="secret"):
                self.assertEqual(result.model, "m")
            for head, _ in server.requests:
                self.assertIn("Authorization: Bearer secret\r\n", head + "\r\n")
            server._listener.close()


class ReadTests(unittest.TestCase):
    """By the contract: a server that answers as `/v1/read` does."""

    POINTS = [{"x": 4.0, "y": 1.5}, {"x": 40.0, "y": 2.0}, {"x": 40.0, "y": 9.0}, {"x": 4.0, "y": 8.5}]
    LINE = {
        "text": "\u0627A", "confidence": 0.75, "points": POINTS, "box": {"x": 4.0, "y": 1.5, "width": 36.0, "height": 7.5}}
    ANSWER = {
        "model": "ocr", "version": "2", "request_id": "r", "text": "\u0627A\nB", "lines": [LINE, {**LINE, "text": "B"}],
        "image": {"format": "png", "width": 50, "height": 10, "orientation": 1, "displayed": {"width": 50, "height": 10}},
        "timing_ms": {"queue": 0.0, "total": 3.5, "stages": {"find": 1.0, "read": 2.0}}}

    def test_the_text_and_its_lines_are_read_by_both_clients(self):
        good = answer(json.dumps(self.ANSWER).encode())
        with Scripted(answering(good), answering(good)) as server:
            with Client(server.url) as client:
                one = client.read(b"x", model="ocr", threshold=0.25, find_threshold=0.5, top=7, characters=True, orientation=6)

            async def ask():
                async with AsyncClient(server.url) as client:
                    return await client.read(b"x")

            other = asyncio.run(ask())
        first, second = (head.split("\r\n")[0] for head, _ in server.requests)
        self.assertEqual(
            first, "POST /v1/models/ocr/read?threshold=0.25&find_threshold=0.5&top=7&characters=true&orientation=6 HTTP/1.1")
        self.assertEqual(second, "POST /v1/read HTTP/1.1")
        for result in (one, other):
            self.assertEqual((result.text, [line.text for line in result.lines]), ("\u0627A\nB", ["\u0627A", "B"]))
            line = result.lines[0]
            self.assertEqual((line.confidence, line.box.width, line.points[2].y, len(line.points)), (0.75, 36.0, 9.0, 4))
            self.assertEqual((line.characters, result.skipped, result.version), ((), 0, "2"))
            self.assertEqual(result.timing_ms["total"], 3.5)

    def test_characters_and_the_number_of_regions_left_out_are_kept(self):
        characters = [{"text": each, "confidence": 0.5, "points": self.POINTS} for each in "\u0627A"]
        whole = {**self.ANSWER, "lines": [{**self.LINE, "characters": characters}], "skipped": 12}
        with Scripted(answering(answer(json.dumps(whole).encode()))) as server, Client(server.url) as client:
            result = client.read(b"x", characters=True)
        self.assertEqual("".join(each.text for each in result.lines[0].characters), result.lines[0].text)
        self.assertEqual((result.lines[0].characters[1].points[0].x, result.skipped), (4.0, 12))

    def test_a_list_gives_a_result_or_an_error_for_each_picture(self):
        failed = {"error": "picture 2: is empty", "code": "invalid_image", "image": 2}
        many = {"model": "ocr", "version": "2", "request_id": "q", "results": [self.ANSWER, failed], "timing_ms": {}}
        with Scripted(answering(answer(json.dumps(many).encode()))) as server, Client(server.url) as client:
            good, bad = client.read([b"x", b"y"])
        self.assertEqual(good.lines[1].text, "B")
        self.assertIsInstance(bad, OcelliError)

    def test_tables_have_the_text_and_the_lines(self):
        result = _results.read({**self.ANSWER, "text": "", "lines": []})
        self.assertEqual(_tables.KINDS["read"].values(result), {"text": "", "lines": []})
        row = _tables.KINDS["read"].values(_results.read(self.ANSWER))["lines"][1]
        self.assertEqual((row["text"], row["box"]["height"], row["points"][3]), ("B", 7.5, {"x": 4.0, "y": 8.5}))
        self.assertEqual(list(_tables.columns("read")), ["text", "lines", "error"])


class TextTests(unittest.TestCase):
    """By the contract: a server that answers as `/v1/embed` and `/v1/classify` do for texts and labels."""

    HEAD = {"model": "clip", "version": "1", "request_id": "r", "timing_ms": {"total": 1.5}}

    @staticmethod
    def vector(*values, **members):
        """An embedding as JSON has it, by the standard library."""
        return {"embedding": {"b64": base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()}, "dimension": len(values), **members}

    def both(self, answers, ask):
        """What `Client` and `AsyncClient` return, and the requests that both sent."""
        sent, found = [], []
        with Scripted(answering(*answers)) as server, Client(server.url) as client:
            found.append(ask(client))
            sent.append(server.requests)

        async def later(url):
            async with AsyncClient(url) as client:
                return await ask(client)

        with Scripted(answering(*answers)) as server:
            found.append(asyncio.run(later(server.url)))
            sent.append(server.requests)
        self.assertEqual([body for _, body in sent[0]], [body for _, body in sent[1]])
        return found, sent[0]

    def test_a_text_is_the_body_and_its_tokens_are_in_the_result(self):
        good = answer(json.dumps({**self.HEAD, **self.vector(0.25, -0.5, tokens=4, truncated=True)}).encode())
        found, requests = self.both([good], lambda client: client.embed(text="a cat, \u732b", model="clip"))
        for result in found:
            self.assertEqual((result.embedding.tolist(), result.embedding.dtype.name), ([0.25, -0.5], "float32"))
            self.assertEqual((result.tokens, result.truncated, result.image, result.model), (4, True, None, "clip"))
        head, body = requests[0]
        self.assertEqual(head.split(" HTTP")[0], "POST /v1/models/clip/embed?encoding=base64")
        self.assertIn("\r\nContent-Type: text/plain; charset=utf-8\r\n", head + "\r\n")
        self.assertEqual(body, "a cat, \u732b".encode())

    def test_a_list_of_texts_gives_a_list_in_as_few_requests_as_the_limits_allow(self):
        def page(*numbers):
            results = [self.vector(number, tokens=3, truncated=False) for number in numbers]
            return answer(json.dumps({**self.HEAD, "results": results}).encode())

        texts = ["\u732b", "", "say \"x\"", "b", "c"]
        long = answer(b'{"error": "\\"texts\\" has more than 2 elements, the limit (max_batch)", "code": "invalid_input"}', "400 Bad Request")
        for answers, wanted in (
            ([page(0, 1, 2, 3, 4)], [texts]), ([long, page(0, 1), long, page(2), page(3, 4)], [texts, texts[:2], texts[2:], texts[2:3], texts[3:]])
        ):
            found, requests = self.both(answers, lambda client: client.embed(text=texts))
            self.assertEqual([json.loads(body) for _, body in requests], [{"texts": one} for one in wanted])
            for results in found:
                self.assertEqual([float(one.embedding[0]) for one in results], [0, 1, 2, 3, 4])
                self.assertEqual((results[3].tokens, results[3].truncated, results[3].request_id), (3, False, "r"))
        with Client("http://127.0.0.1:9") as client:
            self.assertEqual(client.embed(text=[]), [])

    def test_a_list_of_texts_is_whole_or_an_error(self):
        bad = answer(b'{"error": "texts[1] has 70000 bytes", "code": "invalid_input", "request_id": "q"}', "400 Bad Request")
        with Scripted(answering(bad)) as server, Client(server.url) as client:
            with self.assertRaisesRegex(OcelliError, "70000") as caught:
                client.embed(text=["a", "b"])
            self.assertEqual((caught.exception.code, len(server.requests)), ("invalid_input", 1))
        few = answer(json.dumps({**self.HEAD, "results": [self.vector(1)]}).encode())
        with Scripted(answering(few)) as server, Client(server.url) as client:
            with self.assertRaisesRegex(OcelliError, "1 vectors for 2 texts"):
                client.embed(text=["a", "b"])
            for wrong in ({}, {"images": b"x", "text": "a"}, {"text": ["a", 7]}):
                with self.assertRaises(TypeError):
                    client.embed(**wrong)

    def parts(self, body, head):
        """The parts of a form, by the standard library."""
        kind = re.search(r"(?i)content-type: ([^\r]+)", head)[1]
        form = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        return [(part.get_param("name", header="content-disposition"), part.get_payload(decode=True)) for part in form.get_payload()]

    def test_labels_are_parts_of_the_form_and_similarities_in_the_result(self):
        classes = [
            {"index": 1, "label": "black, white", "confidence": 0.75, "similarity": 0.31},
            {"index": 0, "label": "Stra\u00dfe", "confidence": 0.25, "similarity": -0.125, "truncated": True}]
        good = answer(json.dumps({**self.HEAD, "classifications": classes}).encode())
        with Scripted(answering(good)) as server, Client(server.url) as client:
            result = client.classify(b"\x89PNG\r\n", labels=["Stra\u00dfe", "black, white"], prompt="a photo of a {}.", top=2)
            head, body = server.requests[0]
        self.assertEqual(head.split(" HTTP")[0], "POST /v1/classify?top=2&prompt=a+photo+of+a+%7B%7D.")
        self.assertEqual(
            self.parts(body, head), [("image", b"\x89PNG\r\n"), ("label", "Stra\u00dfe".encode()), ("label", b"black, white")])
        self.assertEqual([(one.label, one.similarity, one.truncated) for one in result.classifications], [
            ("black, white", 0.31, False), ("Stra\u00dfe", -0.125, True)])
        with Client("http://127.0.0.1:9") as client:
            with self.assertRaisesRegex(ValueError, "labels"):
                client.classify(b"x", labels=[])

    def test_every_part_of_a_long_list_has_the_labels(self):
        one = {"classifications": [{"index": 0, "label": "a", "confidence": 1, "similarity": 0.5}]}
        good = answer(json.dumps({**self.HEAD, "results": [one, one]}).encode())
        last = answer(json.dumps({**self.HEAD, **one}).encode())

        async def ask(url):
            async with AsyncClient(url) as client:
                client._limits.parts = 2
                return await client.classify([b"1", b"2", b"3"], labels="a", model="clip")

        with Scripted(answering(good, last)) as server:
            results = asyncio.run(ask(server.url))
            sent = [self.parts(body, head) for head, body in server.requests]
        self.assertEqual(sent, [[("image", b"1"), ("image", b"2"), ("label", b"a")], [("image", b"3"), ("label", b"a")]])
        self.assertEqual([result.classifications[0].similarity for result in results], [0.5] * 3)

    def test_search_takes_a_text(self):
        good = answer(b'{"examples": [{"id": "a1", "label": "bolt", "name": null, "similarity": 0.5}]}')
        found, requests = self.both([good], lambda client: client.search("parts", text="a bolt", top=3))
        self.assertEqual([result.examples[0].similarity for result in found], [0.5, 0.5])
        self.assertEqual((requests[0][0].split(" HTTP")[0], requests[0][1]), ("POST /v1/taught/parts/search?top=3", b"a bolt"))
        self.assertIn("text/plain; charset=utf-8", requests[0][0])
        with Client("http://127.0.0.1:9") as client:
            with self.assertRaisesRegex(TypeError, "neither"):
                client.search("parts")


class DriftTests(unittest.TestCase):
    """By the contract: a server that answers as the route of drift does."""

    ANSWER = {
        "state": "drifted", "since": "2026-12-01T10:00:00Z",
        "reference": {"pictures": 2000, "from": "2026-11-30T10:00:00Z", "to": "2026-11-30T12:00:00Z"},
        "recent": {"pictures": 0, "from": None, "to": None},
        "signals": [
            {"name": "confidence", "reference": 0.91, "recent": 0.62, "evidence": 41200000.0, "drifted": True},
            {"name": "vector", "reference": None, "recent": None, "evidence": 0, "drifted": False},
        ],
    }

    def check(self, found):
        self.assertEqual((found.state, found.since), ("drifted", "2026-12-01T10:00:00Z"))
        self.assertEqual((found.reference.pictures, found.reference.last), (2000, "2026-11-30T12:00:00Z"))
        self.assertEqual((found.recent.pictures, found.recent.first), (0, None))
        first, last = found.signals
        self.assertEqual((first.name, first.reference, first.recent, first.drifted), ("confidence", 0.91, 0.62, True))
        self.assertEqual((last.name, last.reference, last.evidence, last.drifted), ("vector", None, 0.0, False))

    def test_drift_is_read_and_learned_anew(self):
        import json

        body = answer(json.dumps(self.ANSWER).encode())
        with Scripted(answering(body, body)) as server, Client(server.url) as client:
            self.check(client.drift("a b"))
            self.check(client.drift("digits", relearn=True))
            self.assertEqual(
                [head.split(" HTTP")[0] for head, _ in server.requests],
                ["GET /v1/models/a%20b/drift", "POST /v1/models/digits/drift"])
            self.assertEqual(json.loads(server.requests[1][1]), {"reference": "recent"})
            self.assertIn("application/json", server.requests[1][0])

    def test_drift_with_asyncio(self):
        import asyncio
        import json

        async def read(url):
            async with AsyncClient(url) as client:
                return await client.drift("digits")

        with Scripted(answering(answer(json.dumps(self.ANSWER).encode()))) as server:
            self.check(asyncio.run(read(server.url)))


class TeachTests(unittest.TestCase):
    """By the contract: a server that answers as the routes of taught models do."""

    @staticmethod
    def taught(**members):
        import json

        return answer(json.dumps({
            "name": "parts", "embedder": {"model": "dinov2", "version": "1", "digest": "sha256:0"}, "dimension": 4, "version": "3",
            "versions": [], "state": "ready", "classes": [{"label": "bolt", "examples": 2, "accuracy": None}], "evaluating": True,
            "evaluation": None, **members}).encode(), "201 Created")

    def test_teach_creates_the_model_sends_all_and_tells_what_was_added(self):
        added = [{"id": "ab", "label": "bolt", "new": True}]
        errors = [{"error": "part 2: damaged", "code": "invalid_image", "part": 2}]
        with Scripted(answering(self.taught(), self.taught(added=added, errors=errors), self.taught(added=added))) as server:
            client = Client(server.url)
            client._limits.parts = 2
            taught = client.teach("parts", "bolt & nut", [b"a", b"b", b"c"], embedder="dinov2")
            self.assertEqual(
                [head.split(" HTTP")[0] for head, _ in server.requests],
                ["PUT /v1/taught/parts", *["POST /v1/taught/parts/examples?label=bolt+%26+nut"] * 2])
            self.assertEqual(server.requests[0][1], b'{"embedder": "dinov2"}')
            self.assertEqual(([one.id for one in taught.added], taught.errors[0].message), (["ab", "ab"], "damaged"))
            self.assertEqual((taught.embedder, taught.classes[0].examples, taught.evaluation), ("dinov2", 2, None))
            client.close()

    def test_teach_names_the_pictures(self):
        with Scripted(answering(self.taught(), self.taught())) as server, Client(server.url) as client:
            client.teach("parts", "bolt", [b"a"], name="M6 & M8")
            client.teach("parts", "bolt", [b"a"])
            self.assertEqual(
                [head.split(" HTTP")[0] for head, _ in server.requests],
                ["POST /v1/taught/parts/examples?label=bolt&name=M6+%26+M8", "POST /v1/taught/parts/examples?label=bolt"])

    def test_search_finds_examples_with_their_names(self):
        examples = [
            {"id": "a1", "label": "bolt", "name": "M6", "similarity": 0.9}, {"id": "a2", "label": "nut", "name": None, "similarity": 0}]
        body = json.dumps({"examples": examples}).encode()
        with Scripted(answering(answer(body))) as server, Client(server.url) as client:
            found = client.search("parts", b"picture", top=2, label="bolt & nut").examples
            self.assertEqual([(one.id, one.label, one.name, one.similarity) for one in found], [
                ("a1", "bolt", "M6", 0.9), ("a2", "nut", None, 0.0)])
            self.assertEqual(server.requests[0][0].split(" HTTP")[0], "POST /v1/taught/parts/search?top=2&label=bolt+%26+nut")
            self.assertEqual(server.requests[0][1], b"picture")

        async def ask(url):
            async with AsyncClient(url) as client:
                return await client.search("parts", b"picture")

        with Scripted(answering(answer(body))) as server:
            self.assertEqual(asyncio.run(ask(server.url)).examples[0].name, "M6")
            self.assertEqual(server.requests[0][0].split(" HTTP")[0], "POST /v1/taught/parts/search")

    SET = {
        "model": "cats", "version": "1", "request_id": "r8",
        "classifications": [{"index": 0, "label": "cat", "confidence": 0.6}, {"index": 1, "label": "lynx", "confidence": 0.4}],
        "set": ["cat", "lynx"], "abstain": True, "image": {"format": "png", "width": 4, "height": 3, "orientation": 1},
        "timing_ms": {"total": 2}}

    def test_coverage_gives_a_set_and_whether_to_abstain(self):
        plain = {name: value for name, value in self.SET.items() if name not in ("set", "abstain")}
        single = {**self.SET, "set": ["cat"], "abstain": False}
        bodies = [json.dumps(one).encode() for one in (self.SET, single, plain)]
        with Scripted(answering(*map(answer, bodies))) as server, Client(server.url) as client:
            found = client.classify(b"picture", coverage=0.9)
            self.assertEqual((found.set, found.abstain), (("cat", "lynx"), True))
            self.assertEqual(
                _tables.KINDS["classify"].values(found)["set"], ["cat", "lynx"])
            found = client.classify(b"picture", coverage=0.95, top=1)
            self.assertEqual((found.set, found.abstain), (("cat",), False))
            found = client.classify(b"picture")
            self.assertEqual((found.set, found.abstain), (None, None))
            self.assertNotIn("set", _tables.KINDS["classify"].values(found))
            self.assertEqual(
                [head.split(" HTTP")[0] for head, _ in server.requests],
                ["POST /v1/classify?coverage=0.9", "POST /v1/classify?top=1&coverage=0.95", "POST /v1/classify"])

        async def ask(url):
            async with AsyncClient(url) as client:
                return await client.classify(b"picture", coverage=0.9)

        with Scripted(answering(answer(bodies[0]))) as server:
            self.assertTrue(asyncio.run(ask(server.url)).abstain)
            self.assertEqual(server.requests[0][0].split(" HTTP")[0], "POST /v1/classify?coverage=0.9")

    ANOMALY = {
        "model": "screws", "version": "2", "request_id": "r7", "classifications": [{"index": 0, "label": "normal", "confidence": 1}],
        "distance": 0.31, "known": False, "anomaly": {"score": 0.31, "threshold": 0.27, "p": 0.004, "is_anomaly": True},
        "image": {"format": "png", "width": 4, "height": 3, "orientation": 1}, "timing_ms": {"total": 2}}

    def test_anomaly_has_score_threshold_p_and_verdict(self):
        few = {**self.ANOMALY, "anomaly": {"score": 0, "threshold": None, "p": None, "is_anomaly": None}}
        bodies = [json.dumps(one).encode() for one in (self.ANOMALY, few)]
        with Scripted(answering(*map(answer, bodies))) as server, Client(server.url) as client:
            found = client.anomaly("our screws", b"picture", crop="fit")
            self.assertEqual((found.score, found.threshold, found.p, found.is_anomaly), (0.31, 0.27, 0.004, True))
            self.assertEqual((found.model, found.version, found.request_id, found.image.width), ("screws", "2", "r7", 4))
            found = client.anomaly("screws", b"picture")
            self.assertEqual((found.score, found.threshold, found.p, found.is_anomaly), (0.0, None, None, None))
            self.assertEqual(
                [head.split(" HTTP")[0] for head, _ in server.requests],
                ["POST /v1/models/our%20screws/classify?crop=fit", "POST /v1/models/screws/classify"])
            self.assertEqual(server.requests[0][1], b"picture")

        async def ask(url):
            async with AsyncClient(url) as client:
                return await client.anomaly("screws", b"picture")

        with Scripted(answering(answer(bodies[0]))) as server:
            self.assertTrue(asyncio.run(ask(server.url)).is_anomaly)

    def test_anomaly_has_a_map_where_it_is_asked_for(self):
        mapped = {**self.ANOMALY, "anomaly": {**self.ANOMALY["anomaly"], "map": [[0, 0.25, 1.5], [0.31, 2, 0]]}}
        bodies = [json.dumps(one).encode() for one in (self.ANOMALY, mapped)]
        with Scripted(answering(*map(answer, bodies))) as server, Client(server.url) as client:
            self.assertIsNone(client.anomaly("screws", b"picture").map)
            found = client.anomaly("screws", b"picture", map=True).map
            self.assertEqual((found.shape, str(found.dtype), found.tolist()), ((2, 3), "float64", [[0, 0.25, 1.5], [0.31, 2, 0]]))
            self.assertEqual(server.requests[1][0].split(" HTTP")[0], "POST /v1/models/screws/classify?map=true")

    def test_anomaly_refuses_a_model_that_tells_classes_apart(self):
        other = {key: value for key, value in self.ANOMALY.items() if key != "anomaly"}
        with Scripted(answering(answer(json.dumps(other).encode()))) as server, Client(server.url) as client:
            with self.assertRaisesRegex(ValueError, "'screws' was not taught with the method normal"):
                client.anomaly("screws", b"picture")

    def test_teach_creates_a_model_of_normal_pictures(self):
        evaluation = {
            "version": "1", "by": "leave_one_out", "method": "normal", "examples": 2, "correct": None, "accuracy": None, "interval": None,
            "confusions": [], "threshold": None, "advice": "17 more normal pictures are needed"}
        with Scripted(answering(*[self.taught(evaluation=evaluation)] * 2)) as server, Client(server.url) as client:
            found = client.teach("screws", "normal", [b"a"], embedder="dinov2", method="normal", false_alarms=0.05).evaluation
            self.assertEqual(json.loads(server.requests[0][1]), {"embedder": "dinov2", "method": "normal", "false_alarms": 0.05})
            self.assertEqual((found.correct, found.accuracy, found.examples), (None, None, 2))
            with self.assertRaisesRegex(ValueError, "method of a new taught model: expected embedder too"):
                client.teach("screws", "normal", [b"a"], method="normal")

    def test_export_gives_the_bytes_of_the_file(self):
        with Scripted(answering(answer(b"\x08\x01Core ML"))) as server, Client(server.url) as client:
            self.assertEqual(client.export("our parts"), b"\x08\x01Core ML")
            self.assertEqual(server.requests[0][0].split(" HTTP")[0], "GET /v1/taught/our%20parts/export")

        async def ask(url):
            async with AsyncClient(url) as client:
                return await client.export("parts")

        with Scripted(answering(answer(b"x"))) as server:
            self.assertEqual(asyncio.run(ask(server.url)), b"x")

    def test_examples_reads_all_pages(self):
        import json

        def page(ids, **members):
            examples = [{"id": id, "label": "bolt & nut", "added": "2026-11-24T08:15:00Z", "name": id + "!"} for id in ids]
            return answer(json.dumps({"examples": examples, **members}).encode())

        pages = page(["a1", "a2"], next="a2"), page(["b1"], next="b1"), page(["c1"], next=None)
        with Scripted(answering(*pages)) as server, Client(server.url) as client:
            found = client.examples("parts", label="bolt & nut")
            self.assertEqual([one.id for one in found], ["a1", "a2", "b1", "c1"])
            self.assertEqual((found[0].label, found[0].added, found[0].name), ("bolt & nut", "2026-11-24T08:15:00Z", "a1!"))
            to = "GET /v1/taught/parts/examples?label=bolt+%26+nut&limit=10000"
            self.assertEqual([head.split(" HTTP")[0] for head, _ in server.requests], [to, to + "&after=a2", to + "&after=b1"])
        # A server without pages.
        with Scripted(answering(page(["a1"]))) as server, Client(server.url) as client:
            self.assertEqual([one.id for one in client.examples("parts")], ["a1"])
            self.assertIn("GET /v1/taught/parts/examples?limit=10000 ", server.requests[0][0])

    def test_taught_has_the_evaluation(self):
        evaluation = {
            "version": "3", "by": "leave_one_out", "method": "nearest_mean", "examples": 10, "correct": 9, "accuracy": 0.9,
            "interval": [0.596, 0.982], "confusions": [], "threshold": 0.42, "advice": "more"}
        with Scripted(answering(self.taught(evaluation=evaluation))) as server, Client(server.url) as client:
            found = client.taught("parts").evaluation
            self.assertEqual((found.accuracy, found.interval, found.threshold), (0.9, (0.596, 0.982), 0.42))


if __name__ == "__main__":
    unittest.main()
