"""The client with the real daemon; expected values are the fixtures', which other programs computed."""
import asyncio
import hashlib
import io
import json
import math
import pickle
import shutil
import struct
import tempfile
import time
import unittest
import zlib

import support
from support import DIGITS, EXAMPLES, ROOT, SEVEN

import numpy

import ocelli
from ocelli import AsyncClient, Client, Frame, OcelliError
from ocelli import _pixels

OBSERVATIONS = ROOT / "Tests/Fixtures/observations"
DETECTORS = ROOT / "Tests/Fixtures/detectors"
EXPORTS = ROOT / "Tests/Fixtures/exports"
ULTRALYTICS = ROOT / "Tests/Fixtures/ultralytics"


class ClientTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = support.daemon(
            "--models=models", f"--models={OBSERVATIONS}", f"--model=case00={DETECTORS}/case00", f"--model=segformer={EXPORTS}/segformer",
            f"--model=masks={EXPORTS}/yolov5_segment", f"--model=pose={OBSERVATIONS}/ultralytics_pose.onnx",
            *(f"--model={name}={ULTRALYTICS}/{name}" for name in ("obb", "depth")),
            *(f"--model={name}={ROOT}/Tests/Fixtures/pipelines/{name}" for name in ("looks", "spots", "colors", "means")),
            f"--model=vectors={ROOT}/Tests/Fixtures/tensorio/matrices-2-in-2-out.tiobundle", "--default-model=digits", "--max-batch=7",
            "--max-body=256KiB")
        cls.url = cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def setUp(self):
        self.client = Client(self.url)
        self.addCleanup(self.client.close)

    def test_turned_boxes_have_corners_and_an_angle_and_a_depth_is_an_array(self):
        expected = json.loads((ULTRALYTICS / "expected.json").read_text())
        turned = self.client.detect(ULTRALYTICS / "wide.png", model="obb", threshold=0.25, iou=0.45).detections
        self.assertEqual(len(turned), len(expected["obb"]["answers"]["wide.png"]))
        for one, wanted in zip(turned, expected["obb"]["answers"]["wide.png"]):
            self.assertAlmostEqual(one.angle, wanted["angle"], places=4)
            self.assertEqual(len(one.points), 4)
            for point, corner in zip(one.points, wanted["points"]):
                self.assertAlmostEqual(point.x, corner["x"], delta=0.01)
                self.assertAlmostEqual(point.y, corner["y"], delta=0.01)
            self.assertEqual(dict(one.stages), {})
        upright = self.client.detect(EXAMPLES / "seven.png", model="case00").detections[0]
        self.assertEqual((upright.points, upright.angle), ((), None))
        answer = self.client.predict("depth", ULTRALYTICS / "tall.png")
        wanted = numpy.array(expected["depth"]["answers"]["tall.png"])
        # Half a step of 65,535 from 0.5 to 30.
        self.assertLess(abs(answer.depth() - wanted).max(), 5e-4)
        self.assertEqual(answer.depth("output0").dtype, numpy.float32)
        with self.assertRaisesRegex(KeyError, "output0"):
            answer.depth("other")

    def test_a_picture_may_be_a_path_bytes_or_a_file(self):
        path = EXAMPLES / "seven.png"
        with open(path, "rb") as file:
            for image in (str(path), path, SEVEN, bytearray(SEVEN), memoryview(SEVEN), io.BytesIO(SEVEN), file):
                result = self.client.classify(image, model="digits", top=2)
                self.assertEqual([found.index for found in result.classifications][:1], [7], image)
                self.assertEqual((result.classifications[0].label, len(result.classifications)), ("7", 2))
                self.assertEqual((result.model, result.version), ("digits", "1"))
                self.assertTrue(result.request_id)
        with self.assertRaises(TypeError):
            self.client.classify(numpy.zeros((4, 4, 3), numpy.uint8))
        with self.assertRaises(FileNotFoundError):
            self.client.classify("/there/is/no.png")

    def test_a_file_may_be_named_as_spark_and_fsspec_do(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/a picture%20.png"
            shutil.copy(EXAMPLES / "seven.png", path)
            for name in (f"file:{path}", f"file://{path}"):
                self.assertEqual(self.client.classify(name, model="digits").classifications[0].label, "7", name)
            with self.assertRaises(FileNotFoundError):
                self.client.classify("file:/there/is/no.png")

    def test_a_list_longer_than_the_limits_gives_results_in_its_order_with_errors_in_their_places(self):
        names = sorted(DIGITS) * 6
        images = [EXAMPLES / name for name in names]
        images[3] = b"no picture"
        images[11] = "/there/is/no.png"
        # More than max_body together.
        images[20] = SEVEN + bytes(200_000)
        results = self.client.classify(images)
        self.assertEqual(len(results), 30)
        for place, (name, result) in enumerate(zip(names, results)):
            if place == 3:
                self.assertEqual((result.code, result.status), ("unsupported_media_type", 415))
                self.assertNotIn("part ", result.message)
            elif place == 11:
                self.assertEqual(result.code, "unreadable")
            else:
                self.assertEqual(result.classifications[0].label, "7" if place == 20 else DIGITS[name], place)
                self.assertTrue(result.request_id)
        self.assertEqual(self.client.classify([]), [])
        self.assertEqual(self.client.classify([SEVEN])[0].classifications[0].label, "7")
        self.assertEqual(self.client.classify([b"x" * 300_000])[0].code, "body_too_large")
        with self.assertRaises(OcelliError):
            self.client.classify([SEVEN], model="nothing")

    def test_detections_are_those_of_the_fixture(self):
        case = next(case for case in json.loads((DETECTORS / "expected.json").read_text()) if case["bundle"] == "case00")
        result = self.client.detect(DETECTORS / "pictures" / case["picture"], model="case00", crop=case["crop"])
        wanted = case["expected"]
        self.assertGreaterEqual(len(result.detections), len(wanted))
        for found, one in zip(result.detections, wanted):
            self.assertEqual(found.index, one["index"])
            self.assertAlmostEqual(found.confidence, one["confidence"], delta=2e-3)
            box = (found.box.x, found.box.y, found.box.width, found.box.height)
            for value, expected in zip(box, one["box"]):
                self.assertAlmostEqual(value, expected, delta=0.1)
        only = self.client.detect(DETECTORS / "pictures" / case["picture"], model="case00", classes=["class 1", 0], top=3)
        self.assertTrue(only.detections and {found.index for found in only.detections} <= {0, 1} and len(only.detections) <= 3)

    def test_the_answers_of_stages_are_by_their_names(self):
        found = self.client.detect(SEVEN, model="looks", top=2).detections
        self.assertTrue(found and all(one.stages["color"]["classifications"] == one.raw["color"]["classifications"] for one in found))
        self.assertEqual(self.client.detect(SEVEN, model="spots", top=1).detections[0].stages, {})
        self.assertIn("stages={'color'", repr(found[0]))

    def test_masks_of_things_are_arrays_of_the_picture_s_size(self):
        picture = EXPORTS / "picture.png"
        result = self.client.detect(picture, model="masks")
        mask = result.detections[0].mask
        self.assertEqual((mask.dtype, mask.shape), (numpy.bool_, (result.image.displayed_height, result.image.displayed_width)))
        box = result.detections[0].box
        rows, columns = numpy.nonzero(mask)
        self.assertGreater(len(rows), 0)
        self.assertTrue(box.x - 2 <= columns.min() and columns.max() <= box.x + box.width + 2)
        self.assertTrue(box.y - 2 <= rows.min() and rows.max() <= box.y + box.height + 2)

    def test_a_segmented_picture_s_mask_has_the_areas_of_its_segments(self):
        wanted = json.loads((EXPORTS / "expected.json").read_text())["segformer"]["areas"]
        result = self.client.segment(EXPORTS / "picture.png", model="segformer")
        self.assertEqual({one.label: float(one.area) for one in result.segments}, wanted)
        numbers, counts = numpy.unique(result.mask, return_counts=True)
        self.assertEqual(dict(zip(numbers.tolist(), counts.tolist())), {one.index: one.area for one in result.segments})
        self.assertEqual(result.mask.shape, (result.image.displayed_height, result.image.displayed_width))

    def test_embeddings_are_those_of_the_fixture(self):
        cases = json.loads((OBSERVATIONS / "expected.json").read_text())["embeddings"]
        results = self.client.embed([OBSERVATIONS / case["picture"] for case in cases], model="embedder")
        for case, result in zip(cases, results):
            wanted = numpy.array(case["vector"])
            self.assertEqual(result.embedding.dtype, numpy.float32)
            numpy.testing.assert_allclose(result.embedding, wanted / numpy.linalg.norm(wanted), atol=1e-4)

    def test_predict_takes_values_arrays_and_pictures(self):
        outputs = self.client.predict("digits", {"image": SEVEN}).outputs["probabilities"]
        self.assertEqual(max(outputs, key=outputs.get), "7")
        outputs = self.client.predict("digits", EXAMPLES / "three.png").outputs["probabilities"]
        self.assertEqual(max(outputs, key=outputs.get), "3")
        with self.assertRaises(OcelliError) as caught:
            self.client.predict("digits", {"image": 7})
        self.assertEqual((caught.exception.code, caught.exception.status), ("invalid_input", 400))

    def test_an_orientation_turns_a_picture_of_each_task_and_is_in_the_answer(self):
        upright = self.client.classify(EXAMPLES / "seven.png")
        for orientation in ("down", 3):
            turned = self.client.classify(EXAMPLES / "seven.png", orientation=orientation)
            self.assertEqual(turned.image.orientation, 3)
            self.assertNotEqual(turned.classifications[0].confidence, upright.classifications[0].confidence)
        self.assertEqual([one.image.orientation for one in self.client.classify([SEVEN, SEVEN], orientation=6)], [6, 6])
        self.assertEqual(self.client.predict("digits", SEVEN, orientation="left").image.orientation, 8)
        with self.assertRaises(OcelliError) as caught:
            self.client.classify(SEVEN, orientation=0)
        self.assertEqual(caught.exception.status, 400)

    def test_frames_are_pictures_alone_in_lists_and_among_inputs(self):
        pixels = numpy.random.default_rng(1).integers(0, 256, (40, 31, 3), numpy.uint8)
        ppm = b"P6 31 40 255\n" + pixels.tobytes()
        expected = self.client.classify(ppm)
        self.assertEqual(expected.image.format, "ppm")
        reversed_ = Frame.from_array(pixels[:, :, ::-1], "BGR")
        padded = Frame(b"".join(row.tobytes() + bytes(3) for row in pixels), "RGB", 31, 40, stride=96)
        for frame in (reversed_, padded):
            found = self.client.classify(frame)
            self.assertEqual((found.image.format, found.image.width, found.image.height), ("raw", 31, 40))
            self.assertEqual(found.classifications, expected.classifications)
        several = self.client.classify([padded, ppm, Frame(b"123", "RGB", 31, 40), reversed_])
        self.assertEqual([one.classifications for one in several[:2] + several[3:]], [expected.classifications] * 3)
        self.assertEqual(several[2].code, "invalid_image")
        outputs = self.client.predict("digits", ppm).outputs
        self.assertEqual(self.client.predict("digits", padded).outputs, outputs)
        self.assertEqual(self.client.predict("digits", {"image": padded}).outputs, outputs)
        for array, kind in ((pixels, "RGBA"), (pixels.astype(float), "RGB"), (pixels, "NV12"), (pixels[:0], "RGB")):
            with self.assertRaises(ValueError):
                Frame.from_array(array, kind)
        with self.assertRaises(ValueError):
            Frame(b"", "YUY2", 2, 2)

    def test_models_have_their_tasks_and_states(self):
        models = {model.name: model for model in self.client.models()}
        self.assertEqual((models["digits"].state, models["digits"].version, models["digits"].versions), ("ready", "1", {"1": "ready"}))
        self.assertIn("embed", models["embedder"].tasks)

    def test_errors_have_code_status_and_request_id_and_can_be_pickled(self):
        with self.assertRaises(OcelliError) as caught:
            self.client.classify(SEVEN, model="nothing")
        error = caught.exception
        self.assertEqual((error.status, error.code), (404, "model_not_found"))
        self.assertTrue(error.request_id and "nothing" in error.message)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.__dict__), (OcelliError, str(error), error.__dict__))

    def test_a_pickled_client_asks_the_same_server(self):
        again = pickle.loads(pickle.dumps(self.client))
        self.assertEqual(again.classify(SEVEN).classifications[0].label, "7")

    def test_the_async_client_gives_the_same_answers(self):
        async def ask():
            async with AsyncClient(self.url) as client:
                one = await client.classify(EXAMPLES / "seven.png", top=1)
                several = await client.classify([EXAMPLES / name for name in DIGITS] + [b"no picture"])
                many = await asyncio.gather(*(client.classify(SEVEN) for _ in range(40)))
                models = await client.models()
                vector = await client.embed(OBSERVATIONS / "picture0.png", model="embedder")
                try:
                    await client.predict("nothing", {})
                except OcelliError as error:
                    return one, several, many, models, vector, error

        one, several, many, models, vector, error = asyncio.run(ask())
        self.assertEqual(one.classifications[0].label, "7")
        self.assertEqual([result.classifications[0].label for result in several[:-1]], list(DIGITS.values()))
        self.assertEqual(several[-1].code, "unsupported_media_type")
        self.assertEqual({result.classifications[0].label for result in many}, {"7"})
        self.assertEqual(len(models), len(self.client.models()))
        numpy.testing.assert_array_equal(vector.embedding, self.client.embed(OBSERVATIONS / "picture0.png", model="embedder").embedding)
        self.assertEqual(error.code, "model_not_found")

    def test_teaching_without_taught_dir_is_an_error_that_can_be_read(self):
        with self.assertRaises(OcelliError) as caught:
            self.client.taught("parts")
        self.assertEqual((caught.exception.status, caught.exception.code), (404, "not_found"))


class TaughtTests(unittest.TestCase):
    """Teaching, with the real daemon."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        url = self.enterContext(support.daemon(
            f"--model=embedder={OBSERVATIONS}/embedder", "--models=models", f"--taught-dir={self.folder}/taught", "--max-batch=3"))
        self.url = url
        self.client = self.enterContext(Client(url))

    def evaluated(self):
        for _ in range(200):
            taught = self.client.taught("digits-by-example")
            if not taught.evaluating:
                return taught
            time.sleep(0.05)
        self.fail("it was not evaluated")

    def test_pictures_are_taught_recognized_and_evaluated(self):
        seven = [EXAMPLES / "seven.png", OBSERVATIONS / "picture0.png", OBSERVATIONS / "picture1.png", OBSERVATIONS / "picture2.png"]
        taught = self.client.teach("digits-by-example", "one & only", seven, embedder="embedder")
        self.assertEqual((taught.name, taught.embedder, taught.state, taught.errors), ("digits-by-example", "embedder", "ready", ()))
        ids = [hashlib.sha256(path.read_bytes()).hexdigest() for path in seven]
        self.assertEqual([(one.id, one.label, one.new) for one in taught.added], [(id, "one & only", True) for id in ids])
        self.assertEqual([one.id for one in self.client.examples("digits-by-example")], sorted(ids))
        self.assertEqual([one.label for one in self.client.examples("digits-by-example", label="one & only")], ["one & only"] * len(ids))
        self.assertEqual(self.client.examples("digits-by-example", label="other"), [])
        named = self.client.teach("digits-by-example", "one & only", seven[0], name="lucky & odd")
        self.assertEqual(([one.new for one in named.added], named.version), ([False], taught.version))
        found = self.client.search("digits-by-example", seven[0], top=2).examples
        self.assertEqual((len(found), found[0].id, found[0].name, found[0].similarity), (2, ids[0], "lucky & odd", 1))
        self.assertEqual(self.client.search("digits-by-example", seven[0], label="other").examples, ())
        self.assertEqual({one.id: one.name for one in self.client.examples("digits-by-example")}[ids[0]], "lucky & odd")
        again = self.client.teach("digits-by-example", "one & only", seven[0], embedder="embedder")
        self.assertEqual(([one.new for one in again.added], again.version), ([False], taught.version))
        other = self.client.teach("digits-by-example", "other", [EXAMPLES / "three.png", b"no picture", EXAMPLES / "nine-photo.jpg"])
        self.assertEqual((len(other.added), [error.code for error in other.errors]), (2, ["unsupported_media_type"]))
        self.assertEqual({one.label: one.examples for one in other.classes}, {"one & only": 4, "other": 2})
        evaluation = self.evaluated().evaluation
        self.assertEqual((evaluation.examples, evaluation.accuracy), (6, evaluation.correct / 6))
        self.assertTrue(0 <= evaluation.interval[0] <= evaluation.accuracy <= evaluation.interval[1] <= 1)
        result = self.client.classify(seven[1], model="digits-by-example")
        self.assertEqual((result.classifications[0].label, result.model), ("one & only", "digits-by-example"))
        self.assertEqual(result.known, result.distance <= evaluation.threshold)
        self.assertIn("digits-by-example", [model.name for model in self.client.models()])

    def test_one_example_has_no_accuracy_and_errors_can_be_read(self):
        self.client.teach("digits-by-example", "seven", SEVEN, embedder="embedder")
        evaluation = self.evaluated().evaluation
        self.assertEqual((evaluation.accuracy, evaluation.interval, evaluation.threshold), (None, None, None))
        taught = self.client.teach("digits-by-example", "seven", [b"no", b"no", b"no", EXAMPLES / "three.png"])
        self.assertEqual((len(taught.added), len(taught.errors)), (1, 3))
        # Of a form of which no picture could be used, and of one of which another could.
        self.assertLessEqual({error.code for error in taught.errors}, {"invalid_image", "unsupported_media_type"})
        for name, embedder, status, code in [
            ("digits-by-example", "digits", 409, "conflict"), ("other", "nothing", 404, "model_not_found"),
            ("other", "digits", 400, "invalid_input"), ("digits", "embedder", 409, "conflict"), ("other", None, 404, "not_found"),
        ]:
            with self.assertRaises(OcelliError) as caught:
                self.client.teach(name, "x", SEVEN, embedder=embedder)
            self.assertEqual((caught.exception.status, caught.exception.code), (status, code))

    def test_asyncio(self):
        async def ask():
            async with AsyncClient(self.url) as client:
                await client.teach("digits-by-example", "seven", [SEVEN], embedder="embedder")
                return await client.taught("digits-by-example"), await client.classify(SEVEN, model="digits-by-example")

        taught, result = asyncio.run(ask())
        self.assertEqual((taught.classes[0].label, result.classifications[0].label), ("seven", "seven"))


class KeptTests(unittest.TestCase):
    """Kept pictures, with the real daemon."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.url = self.enterContext(support.daemon("--models=models", f"--keep-dir={folder}/kept", "--keep-margin=1"))

    def kept(self, client, count):
        for _ in range(200):
            kept = client.kept()
            if len(kept) == count:
                return kept
            time.sleep(0.05)
        self.fail(f"{len(kept)} pictures are kept")

    def test_kept_pictures_are_listed_read_and_deleted(self):
        with Client(self.url) as client:
            client.classify(SEVEN)
            one, = self.kept(client, 1)
            self.assertEqual((one.id, one.model, one.version), (hashlib.sha256(SEVEN).hexdigest(), "digits", "1"))
            self.assertEqual((one.why, one.bytes, one.type), (("uncertain",), len(SEVEN), "image/png"))
            self.assertEqual(client.kept_picture(one.id), SEVEN)
            self.assertEqual((client.kept(model="other"), client.kept(why="unknown")), ([], []))
            client.classify(EXAMPLES / "three.png")
            self.kept(client, 2)
            client.delete_kept(one.id)
            self.assertEqual(len(client.kept(model="digits", why="uncertain")), 1)
            client.delete_kept(model="digits")
            self.assertEqual(client.kept(), [])
            for arguments in [{}, {"id": one.id, "model": "digits"}]:
                with self.assertRaises(TypeError):
                    client.delete_kept(**arguments)
            for ask in [client.kept_picture, client.delete_kept]:
                with self.assertRaises(OcelliError) as caught:
                    ask(one.id)
                self.assertEqual(caught.exception.status, 404)

    def test_asyncio(self):
        async def ask(id):
            async with AsyncClient(self.url) as client:
                before, picture = await client.kept(), await client.kept_picture(id)
                await client.delete_kept(id)
                return before, picture, await client.kept()

        with Client(self.url) as client:
            client.classify(SEVEN)
            one, = self.kept(client, 1)
        self.assertEqual(asyncio.run(ask(one.id)), ([one], SEVEN, []))


WORDS = ROOT.parent / "shared/data/words"


@unittest.skipUnless(WORDS.is_dir(), "the shared data is not there (../shared/data/words)")
class WordsTests(unittest.TestCase):
    """Texts and labels; the expected values are those of ONNX Runtime and NumPy."""

    @classmethod
    def setUpClass(cls):
        cls.cases = json.loads((WORDS / "cases.json").read_text())
        cls.server = support.daemon(*(f"--model={name}={WORDS}/models/{name}" for name in ("clip-split", "sentence-mean")), "--max-batch=3")
        cls.url = cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def test_texts_alone_and_in_lists_have_the_expected_vectors(self):
        cases = [case for case in self.cases["texts"] if case["model"] == "clip-split"]
        sentences = [case for case in self.cases["sentences"] if case["model"] == "sentence-mean"]
        self.assertGreater(len(cases), 3)
        with Client(self.url) as client:
            for model, own, key in (("clip-split", cases, "embedding_of_length_1"), ("sentence-mean", sentences, "embedding")):
                # Longer than max_batch.
                results = client.embed(text=[case["text"] for case in own], model=model)
                for case, result in zip(own, results):
                    numpy.testing.assert_allclose(result.embedding, case[key], atol=1e-4)
                    self.assertEqual((result.tokens, result.truncated, result.model), (case["tokens"], case["truncated"], model))
                    if case["text"]:
                        alone = client.embed(text=case["text"], model=model)
                        numpy.testing.assert_allclose(alone.embedding, result.embedding, atol=1e-5)
            with self.assertRaises(OcelliError) as caught:
                client.classify(SEVEN, labels=["a"], model="sentence-mean")
            self.assertEqual((caught.exception.status, caught.exception.code), (400, "invalid_input"))

    def test_labels_may_have_commas_and_have_the_expected_similarities(self):
        cases = [case for case in self.cases["classify"] if case["model"] == "clip-split"]
        self.assertTrue(any("," in label for case in cases for label in case["labels"]))

        async def ask(case):
            async with AsyncClient(self.url) as client:
                picture = WORDS / "pictures" / case["picture"]
                return await client.classify(
                    picture, labels=case["labels"], prompt=case["prompt"], model="clip-split", top=len(case["labels"]))

        for case in cases:
            found = asyncio.run(ask(case)).classifications
            self.assertEqual(sorted(one.index for one in found), list(range(len(case["labels"]))))
            for one in found:
                self.assertEqual(one.label, case["labels"][one.index])
                self.assertAlmostEqual(one.similarity, case["similarity"][one.index], delta=1e-4)
                self.assertAlmostEqual(one.confidence, case["confidence"][one.index], delta=1e-3)


class PixelTests(unittest.TestCase):
    """Masks, written here by the definitions of their formats."""

    @staticmethod
    def png(pixels, bits):
        """Row by row with PNG's five filters in turn."""
        step = bits // 8
        raw = pixels.astype(">u2" if bits == 16 else "u1").tobytes()
        height, line = pixels.shape[0], pixels.shape[1] * step
        data = b""
        for y in range(height):
            row, above = raw[y * line: (y + 1) * line], raw[(y - 1) * line: y * line] if y else bytes(line)
            data += bytes([y % 5])
            for x, value in enumerate(row):
                left, corner = (row[x - step], above[x - step]) if x >= step else (0, 0)
                up = above[x]
                guess = left + up - corner
                paeth = min((left, up, corner), key=lambda one: abs(guess - one))
                data += bytes([(value - (0, left, up, (left + up) // 2, paeth)[y % 5]) & 255])

        def chunk(name, content):
            return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

        head = struct.pack(">IIBBBBB", pixels.shape[1], height, bits, 0, 0, 0, 0)
        packed = zlib.compress(data)
        return (
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed[:9]) + chunk(b"IDAT", packed[9:]) + chunk(b"IEND", b""))

    def test_pngs_of_every_filter_and_depth_are_read_exactly(self):
        random = numpy.random.default_rng(5)
        for bits in (8, 16):
            pixels = random.integers(0, 2 ** bits, size=(17, 23))
            numpy.testing.assert_array_equal(_pixels.decoded_png(self.png(pixels, bits)), pixels)

    def test_a_png_that_is_cut_off_is_an_error(self):
        for broken in (b"", b"GIF89a", self.png(numpy.zeros((4, 4), int), 8)[:40]):
            with self.assertRaises((OcelliError, zlib.error, struct.error)):
                _pixels.decoded_png(broken)

    @staticmethod
    def runs(mask):
        """COCO's compressed run lengths, as cocoapi's rleToString writes them."""
        counts, value = [], False
        for pixel in mask.T.reshape(-1).tolist():
            if pixel != value or not counts:
                if not counts:
                    counts.append(0)
                if pixel != value:
                    counts.append(0)
                    value = pixel
            counts[-1] += 1
        text = ""
        for place, count in enumerate(counts):
            number = count - counts[place - 2] if place > 2 else count
            while True:
                part = number & 31
                number >>= 5
                more = number != (-1 if part & 16 else 0)
                text += chr((part | (32 if more else 0)) + 48)
                if not more:
                    break
        return {"size": list(mask.shape), "counts": text}

    def test_run_lengths_are_read_exactly(self):
        random = numpy.random.default_rng(7)
        for height, width in ((1, 1), (5, 3), (64, 48), (300, 7)):
            for share in (0, 0.01, 0.5, 0.99, 1):
                mask = random.random((height, width)) < share
                numpy.testing.assert_array_equal(_pixels.decoded_runs(self.runs(mask)), mask)

    def test_run_lengths_that_do_not_fit_are_an_error(self):
        for mask in ({"size": [2, 2], "counts": "11"}, {"size": [2, 2], "counts": "o"}, {"size": [2, 2], "counts": ""}):
            with self.assertRaises(OcelliError):
                _pixels.decoded_runs(mask)


class ValueTests(unittest.TestCase):
    def test_a_missing_value_is_null(self):
        from ocelli._plan import jsonable

        self.assertEqual(jsonable({"a": [1, math.nan], "b": numpy.array([[1.5, math.nan]])}), {"a": [1, None], "b": [[1.5, None]]})

    def test_addresses_that_are_none_are_refused_with_what_was_expected(self):
        for url in ("127.0.0.1:8080", "ftp://x", "unix://relative", "http://", "http://user@host", "http://host/?x=1"):
            with self.assertRaises(ValueError, msg=url):
                Client(url)

    def test_every_public_name_is_there_and_documented(self):
        for name in ocelli.__all__:
            if name != "__version__" and name != "Image":
                self.assertTrue(getattr(ocelli, name).__doc__, name)
        for name, member in vars(Client).items():
            if not name.startswith("_"):
                self.assertTrue(member.__doc__, name)
                self.assertIn(name, vars(AsyncClient))


if __name__ == "__main__":
    unittest.main()
