"""Ray, Spark, Dask, object stores and Parquet: the examples of docs/bulk.md, run as they stand there. Long: see requirements-bulk.txt."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support
from support import DIGITS, EXAMPLES, PROGRAM, ROOT, SEVEN

import ocelli

DOCUMENT = (ROOT / "docs/bulk.md").read_text()


def example(word):
    """The example of the document that has a word."""
    return next(code for code in re.findall(r"```python\n(.*?)```", DOCUMENT, re.S) if word in code)


class BulkTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bulk")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.photos = self.folder / "photos"
        self.photos.mkdir()
        for number in range(8):
            for name in DIGITS:
                shutil.copy(EXAMPLES / name, self.photos / f"{number}-{name}")
        (self.photos / "broken.png").write_bytes(b"no picture")
        os.environ["OCELLI"] = PROGRAM
        os.environ["PYTHONPATH"] = f"{ROOT}/clients/python/src"
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["RAY_AUTH_MODE"] = "disabled"
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.chdir(ROOT)

    def run_example(self, word, space=None, **names):
        code = example(word).replace("/srv/models", str(ROOT / "models")).replace("/data/photos", str(self.photos))
        code = code.replace("/data/", f"{self.folder}/")
        for old, new in names.items():
            code = code.replace(old.replace("_", "/"), new)
        space = {} if space is None else space
        exec(compile(code, f"docs/bulk.md, {word}", "exec"), space)
        return space

    def check(self, rows):
        """Rows with `file` and the columns of the answers: each picture once, with its digit."""
        self.assertEqual(sorted(pathlib.PurePath(row["file"]).name for row in rows), sorted(os.listdir(self.photos)))
        for row in rows:
            name = pathlib.PurePath(row["file"]).name
            if name == "broken.png":
                self.assertIn("JPEG, PNG", row["error"])
                self.assertIsNone(row["classifications"])
            else:
                self.assertIsNone(row["error"], name)
                self.assertEqual(row["classifications"][0]["label"], DIGITS[name.split("-", 1)[1]], name)

    def run_twice(self, word, answers):
        """An example of "After a kill": run again, it answers what is new, and nothing twice."""
        shutil.rmtree(self.folder / answers)
        self.run_example(word)
        self.run_example(word)
        shutil.copy(EXAMPLES / "three.png", self.photos / "9-three.png")
        self.run_example(word)
        self.check([{**row, "file": row["path"]} for row in self.parquet(answers)])

    def parquet(self, name):
        import pyarrow.parquet

        return pyarrow.parquet.read_table(self.folder / name).to_pylist()

    def test_ray(self):
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        self.addCleanup(ray.shutdown)
        self.run_example("ocelli.ray")
        rows = self.parquet("answers-ray")
        self.assertNotIn("bytes", rows[0])
        self.check([{**row, "file": row["path"]} for row in rows])
        self.run_twice("CheckpointConfig", "answers-ray")
        ray.data.DataContext.get_current().checkpoint_config = None
        # Ray's default format, and the other tasks.
        dataset = ray.data.from_items([{"bytes": SEVEN}, {"bytes": SEVEN}, {"bytes": b"no"}])
        observations = {"models": str(ROOT / "Tests/Fixtures/observations"), "model": "embedder"}
        rows = dataset.map_batches(ocelli.ray.Embed, fn_constructor_kwargs=observations, concurrency=1, num_cpus=0.1).take_all()
        self.assertEqual([len(row["embedding"]) if row["error"] is None else 0 for row in rows].count(32), 2)

    def test_ray_on_three_nodes_with_workers_and_the_daemon_killed(self):
        """Ray's own simulation, where the nodes share a machine and so a daemon. Tests/Operations/bulk_cluster.py
        has machines, and drivers."""
        import random
        import signal
        import threading
        import time

        import ray
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        self.addCleanup(cluster.shutdown)
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        self.addCleanup(ray.shutdown)
        seed = random.randrange(1 << 30)
        print(f"seed {seed}", flush=True)
        rng = random.Random(seed)
        ended = threading.Event()
        killed = []

        def victims(kind):
            for path in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    words = (path / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                    # The daemon of this test; or an actor of its cluster: a child of a child of this process.
                    if kind == "daemon" and words[1:2] == [b"serve"] and f"--models={self.copy}".encode() in words or (
                            kind == "worker" and words[0].startswith(b"ray::") and b"Classify" in words[0]
                            and os.getpid() in ancestors(path)):
                        yield int(path.name)
                except OSError:
                    continue

        def ancestors(path):
            while path.name not in ("0", "1"):
                path = path.with_name((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
                yield int(path.name)

        released = self.folder / "released"
        released.write_text("0")

        def kill():
            kinds = ["daemon", "worker", "worker", "daemon"]
            count, until = 0, time.monotonic() + 120
            try:
                while len(killed) < len(kinds) and time.monotonic() < until and not ended.wait(0.1):
                    # Steadily, and never more than leaves work for the kills to come.
                    count = min(count + 4, 400 * (len(killed) + 1) // (len(kinds) + 1))
                    released.with_suffix(".new").write_text(str(count))
                    released.with_suffix(".new").rename(released)
                    found = list(victims(kinds[len(killed)])) if rng.random() < 0.06 else []
                    if found:
                        os.kill(rng.choice(found), signal.SIGKILL)
                        killed.append(kinds[len(killed)])
            finally:
                released.write_text("400")

        def gate(batch, released=str(released)):
            import pathlib
            import time

            while max(int(name.split("-")[0]) for name in batch["file"]) >= int(pathlib.Path(released).read_text() or 0):
                time.sleep(0.05)
            return batch

        self.copy = self.folder / "models"
        shutil.copytree(ROOT / "models", self.copy)
        pictures = {name: (EXAMPLES / name).read_bytes() for name in DIGITS}
        dataset = ray.data.from_items(
            [{"file": f"{number}-{name}", "bytes": pictures[name]} for number in range(400) for name in DIGITS], override_num_blocks=40)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            answers = dataset.map_batches(gate, batch_size=50, num_cpus=0.1).map_batches(
                ocelli.ray.Classify, fn_constructor_kwargs={"models": str(self.copy), "column": "bytes"}, batch_format="pyarrow", batch_size=50,
                concurrency=3, num_cpus=0.1)
            rows = answers.take_all()
        finally:
            ended.set()
            killer.join()
        self.assertEqual(sorted(row["file"] for row in rows), sorted(f"{number}-{name}" for number in range(400) for name in DIGITS))
        for row in rows:
            self.assertIsNone(row["error"])
            self.assertEqual(row["classifications"][0]["label"], DIGITS[row["file"].split("-", 1)[1]])
        self.assertEqual(len(killed), 4, f"seed {seed}: {killed}")

    def test_spark(self):
        from pyspark.sql import SparkSession

        spark = (
            SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1").config("spark.log.level", "ERROR").getOrCreate())
        self.addCleanup(spark.stop)
        space = self.run_example("ocelli.spark")
        rows = self.parquet("answers-spark")
        self.assertNotIn("content", rows[0])
        self.check([{**row, "file": row["path"]} for row in rows])
        self.run_example("answers-spark-paths", space)
        self.check([{**row, "file": row["path"]} for row in self.parquet("answers-spark-paths")])
        self.run_twice("checkpointLocation", "answers-spark")
        frame = spark.createDataFrame([(1, SEVEN), (2, None)], "id int, content binary")
        detected = frame.mapInArrow(
            ocelli.spark.detect(models=str(ROOT / "Tests/Fixtures/detectors/case00"), keep=True),
            schema=ocelli.spark.schema("detect", frame, keep=True)).collect()
        self.assertEqual(detected[0].detections[0].label, "class 2")
        self.assertTrue(detected[0].content and detected[1].error and detected[1].detections is None)

    def test_dask(self):
        self.run_example("ocelli.dask")
        self.check(self.parquet("answers-dask"))
        import dask.dataframe
        import pandas

        dask.config.set({"dataframe.convert-string": False})
        frame = dask.dataframe.from_pandas(pandas.DataFrame({"id": [1, 2, 3], "bytes": [SEVEN, b"no", None]}), npartitions=2)
        found = frame.map_partitions(
            ocelli.dask.classify, models=str(ROOT / "models"), column="bytes", meta=ocelli.dask.meta("classify", frame)).compute()
        self.assertEqual(list(found.columns), ["id", "classifications", "error"])
        self.assertEqual(found.classifications.iloc[0][0]["label"], "7")
        self.assertEqual(found.error.isna().tolist(), [True, False, False])

    def test_an_object_store(self):
        from moto.server import ThreadedMotoServer

        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
        server.start()
        self.addCleanup(server.stop)
        host, port = server.get_host_and_port()
        os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="y", AWS_DEFAULT_REGION="us-east-1")
        import boto3

        s3 = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
        s3.create_bucket(Bucket="photos")
        for name in DIGITS:
            s3.put_object(Bucket="photos", Key=f"2026/{name}", Body=(EXAMPLES / name).read_bytes())
        with support.daemon("--models=models") as url:
            code = example("s3://").replace("http://127.0.0.1:5000", f"http://{host}:{port}").replace("http://127.0.0.1:8080", url)
            space = {}
            exec(compile(code, "docs/bulk.md, object stores", "exec"), space)
            found = {name.rsplit("/", 1)[1]: result.classifications[0].label for name, result in zip(space["names"], space["results"])}
            self.assertEqual(found, DIGITS)
            with ocelli.Client(url, storage_options=space["options"]) as client:
                self.assertEqual(client.classify(["s3://photos/none.png"])[0].code, "unreadable")

    def test_similar_pictures(self):
        """The recipe on 5,000 pictures: each finds itself first, and then what numpy finds that compares all with all."""
        import struct
        import zlib

        import numpy

        random = numpy.random.default_rng(3)
        folder = self.folder / "many"
        folder.mkdir()

        def chunk(name, content):
            return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

        for number in range(5000):
            # Smooth pictures, so that some are more alike than others.
            corners = random.integers(0, 256, size=(3, 3, 3)).astype(float)
            weights = numpy.linspace(0, 2, 24)
            steps = [numpy.interp(weights, [0, 1, 2], row) for row in numpy.eye(3)]
            pixels = numpy.einsum("iy,jx,ijc->yxc", steps, steps, corners).astype(numpy.uint8)
            rows = b"".join(b"\0" + row.tobytes() for row in pixels)
            head = struct.pack(">IIBBBBB", 24, 24, 8, 2, 0, 0, 0)
            (folder / f"{number:04}.png").write_bytes(
                b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
        (folder / "broken.png").write_bytes(b"no picture")
        text = (ROOT / "docs/recipes.md").read_text()
        code = re.search(r"## Similar pictures.*?```\n(.*?)```", text, re.S)[1]
        asked = [str(folder / f"{number:04}.png") for number in range(0, 5000, 250)]
        models = f"--models {ROOT}/Tests/Fixtures/observations --model embedder"
        code = code.replace("ocelli embed --models models", f"{PROGRAM} embed {models}").replace(" photos\n", f" {folder}\n")
        code = code.replace("python3 - photos/cat.jpg", f"{sys.executable} - {' '.join(asked)}")
        run = subprocess.run(["bash", "-c", code], cwd=self.folder, capture_output=True, text=True)
        found = [line.split() for line in run.stdout.splitlines()]
        self.assertEqual([line[0] for line in found], asked, run.stderr[-2000:])
        names = [json.loads(line)["file"] for line in (self.folder / "vectors.jsonl").read_text().splitlines()]
        vectors = numpy.load(self.folder / "vectors.npy")
        self.assertEqual((len(names), numpy.isnan(vectors).any(axis=1).sum()), (5001, 1))
        same = 0
        for line in found:
            near = numpy.nan_to_num(vectors @ vectors[names.index(line[0])], nan=-2)
            wanted = [names[place] for place in numpy.argsort(-near, kind="stable")[:4]]
            self.assertAlmostEqual(float(line[2]), 1, delta=2e-3)
            same += len(set(wanted) & set(line[1::2]))
        # It is approximate by its nature.
        self.assertGreaterEqual(same, 0.9 * 4 * len(found))

    def test_parquet(self):
        jsonl, table = self.folder / "answers.jsonl", self.folder / "answers.parquet"
        run = subprocess.run([PROGRAM, "classify", "--jsonl", "--resume", str(jsonl), str(self.photos)], check=False)
        self.assertEqual(run.returncode, 1)
        subprocess.run([sys.executable, "-m", "ocelli", "parquet", str(jsonl), str(table)], check=True, stdout=subprocess.DEVNULL)
        self.check(self.parquet("answers.parquet"))
        jsonl.write_text('{"file": 1}\nnot JSON\n')
        run = subprocess.run([sys.executable, "-m", "ocelli", "parquet", str(jsonl), str(table)], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("line 2", run.stderr)


class DocumentTests(unittest.TestCase):
    """The examples that need no other package."""

    def test_the_examples_of_one_machine(self):
        os.chdir(ROOT)
        os.environ["OCELLI"] = PROGRAM
        with support.daemon("--models=models") as url:
            for word in ("import Client", "import LocalDaemon"):
                code = example(word).replace("http://127.0.0.1:8080", url).replace("/srv/models", str(ROOT / "models"))
                run = subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True,
                    env={**os.environ, "PYTHONPATH": f"{ROOT}/clients/python/src"})
                self.assertEqual(run.stdout, "7\n3\nunsupported_media_type\n" if word == "import Client" else "7\n", run.stderr)


if __name__ == "__main__":
    unittest.main()
