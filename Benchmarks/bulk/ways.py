"""One way to classify folders of pictures: says "ready", and for each line, which names a folder, "done" with the
class of each picture as JSON.

Called by `run`, which makes SETUP: {"model": a bundle, "float": its ONNX file in float32, "socket": for the daemon}.
"""
import io
import json
import os
import subprocess
import sys
import tempfile

WAY, SETUP = sys.argv[1], json.loads(sys.argv[2])


def opaque(found):
    """RGB. Transparent pixels are white, as in the daemon."""
    from PIL import Image

    if found.has_transparency_data:
        found = found.convert("RGBA")
        found = Image.alpha_composite(Image.new("RGBA", found.size, (255, 255, 255, 255)), found)
    return found.convert("RGB")


def square(width, height):
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    return left, top, left + side, top + side


def tensor(data):
    """As model.json says: centre crop to 224, blue, green, red, 0 to 255. Pillow decodes a JPEG at a smaller scale
    where that is enough."""
    import numpy
    from PIL import Image

    found = Image.open(io.BytesIO(data))
    found.draft("RGB", (224, 224))
    found = opaque(found).resize((224, 224), Image.Resampling.BILINEAR, box=square(*found.size))
    return numpy.ascontiguousarray(numpy.asarray(found)[:, :, ::-1].transpose(2, 0, 1), dtype=numpy.float32)[None]


class OpenVINOActor:
    """Loads the model once; an actor a processor, each with one thread."""

    def __init__(self):
        import openvino

        core = openvino.Core()
        self.model = core.compile_model(
            SETUP["float"], "CPU", {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})

    def __call__(self, batch):
        return {"path": batch["path"], "index": [int(self.model(tensor(data))[0].argmax()) for data in batch["bytes"]]}


class CountingActor:
    """Counts bytes: the control, which shows the cost of reading the files and passing them on."""

    def __call__(self, batch):
        return {"path": batch["path"], "index": [len(data) for data in batch["bytes"]]}


class TorchvisionActor:
    """torchvision's SqueezeNet with the weights of the ONNX file, as Ray's own example of batch inference does it:
    tasks decode and transform, an actor takes batches of pixels."""

    def __init__(self):
        import onnx
        import torch
        import torchvision

        torch.set_num_threads(1)
        graph = onnx.load(SETUP["float"]).graph
        values = {each.name: torch.from_numpy(onnx.numpy_helper.to_array(each).copy()) for each in graph.initializer}
        weights = [[values[name] for name in node.input[1:]] for node in graph.node if node.op_type == "Conv"]
        self.model = torchvision.models.squeezenet1_1(weights=None).eval()
        layers = [layer for layer in self.model.modules() if isinstance(layer, torch.nn.Conv2d)]
        for layer, (weight, bias) in zip(layers, weights, strict=True):
            layer.weight.data.copy_(weight)
            layer.bias.data.copy_(bias)
        self.model = self.model.to(memory_format=torch.channels_last)

    def __call__(self, batch):
        import torch

        with torch.inference_mode():
            inputs = torch.from_numpy(batch["pixels"]).float().contiguous(memory_format=torch.channels_last)
            return {"path": batch["path"], "index": self.model(inputs).argmax(1).numpy()}


def transformed(row):
    """A row of `ray.data.read_images`."""
    import torch
    from PIL import Image
    from torchvision.transforms.v2 import functional

    pixels = row["image"]
    if pixels.shape[2] != 3:
        pixels = opaque(Image.fromarray(pixels))
    found = functional.to_image(pixels)
    left, top, right, bottom = square(found.shape[2], found.shape[1])
    found = functional.resized_crop(found, top, left, bottom - top, right - left, [224, 224], antialias=True)
    return {"path": row["path"], "pixels": torch.Tensor(found).to(torch.uint8).flip(0).numpy()}


def names(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def ours(rows, path, answers="classifications"):
    """Pictures' names and classes from the package's columns; -1 where one failed."""
    return [(row[path], row[answers][0]["index"] if row["error"] is None else -1) for row in rows]


def ray_way(actor, arguments, found, read=None):
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

    def run(folder):
        files = names(folder)
        blocks = max(2, len(files) // 64)
        photos = read(files, blocks) if read else ray.data.read_binary_files(files, include_paths=True, override_num_blocks=blocks)
        return found(photos.map_batches(actor, **arguments).take_all())

    return run


def spark_way(make):
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1").config("spark.sql.execution.arrow.maxRecordsPerBatch", 64)
        .config("spark.sql.files.maxPartitionBytes", 32 << 20).getOrCreate())

    def run(folder):
        return make(spark.read.format("binaryFile").load(folder).select("path", "content"))

    return run


def way():
    model = SETUP["model"]
    arguments = {"models": model, "parameters": {"top": 1}, "socket": SETUP["socket"]}
    if WAY == "ocelli --jsonl":
        def run(folder):
            with tempfile.NamedTemporaryFile("w+") as answers:
                # The start and the load of the model are included.
                subprocess.run(
                    [os.environ["OCELLI"], "classify", f"--models={model}", "--top=1", "--jsonl", folder], stdout=answers, check=True)
                rows = [json.loads(line) for line in open(answers.name)]
                return ours([{"error": None, **row} for row in rows], "file")

        return run
    if WAY == "ocelli.ray":
        import ocelli

        return ray_way(ocelli.ray.Classify, {
            "fn_constructor_kwargs": {**arguments, "column": "bytes"}, "batch_format": "pyarrow", "batch_size": 64, "concurrency": 2,
            "num_cpus": 0.1}, lambda rows: ours(rows, "path"))
    def plain(rows):
        return [(row["path"], int(row["index"])) for row in rows]

    if WAY == "Ray Data, nothing":
        return ray_way(CountingActor, {"batch_size": 32, "concurrency": 2, "num_cpus": 0.5}, plain)
    # Half a processor each for the scheduler, so that the other half can read the files; otherwise no file is ever read.
    if WAY == "Ray Data, OpenVINO":
        return ray_way(OpenVINOActor, {"batch_size": 32, "concurrency": 2, "num_cpus": 0.5}, plain)
    if WAY == "Ray Data, torchvision":
        import ray

        return ray_way(
            TorchvisionActor, {"batch_size": 32, "concurrency": 2, "num_cpus": 0.5}, plain,
            lambda files, blocks: ray.data.read_images(files, include_paths=True, override_num_blocks=blocks).map(transformed))
    if WAY.startswith("ocelli.spark"):
        import ocelli

        # Spark does not open paths; the workers read the files.
        of_paths = WAY.endswith("paths")
        column = {"column": "path", "keep": True} if of_paths else {"column": "content"}

        def make(photos):
            photos = photos.select("path") if of_paths else photos
            rows = photos.mapInArrow(
                ocelli.spark.classify(**column, **arguments), schema=ocelli.spark.schema("classify", photos, **column)).toArrow().to_pylist()
            return ours(rows, "path")

        return spark_way(make)

    if WAY == "Spark, nothing":
        def make(photos):
            from pyspark.sql.functions import pandas_udf

            count = pandas_udf(lambda contents: contents.map(len), "long")
            return [(row["path"], row["index"]) for row in photos.select("path", count("content").alias("index")).toArrow().to_pylist()]

        return spark_way(make)

    column = "path" if WAY.endswith("paths") else "content"

    def read(content):
        if isinstance(content, bytes):
            return content
        with open(content.removeprefix("file:"), "rb") as file:
            return file.read()

    def make(photos):
        from typing import Iterator

        import pandas
        from pyspark.sql.functions import pandas_udf

        @pandas_udf("long")
        def classify(batches: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            session = onnxruntime.InferenceSession(SETUP["float"], options, providers=["CPUExecutionProvider"])
            port = session.get_inputs()[0].name
            for contents in batches:
                yield pandas.Series([int(session.run(None, {port: tensor(read(content))})[0].argmax()) for content in contents])

        return [(row["path"], row["index"]) for row in photos.select("path", classify(column).alias("index")).toArrow().to_pylist()]

    return spark_way(make)


def memory():
    """Prints "at COUNT" after each tenth of the pictures; the answers are checked, and not kept."""
    import ocelli
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=512 << 20)
    arguments = {"models": SETUP["model"], "column": "bytes", "socket": SETUP["socket"]}
    files = sorted(os.path.join(place, name) for place, _, found in os.walk(SETUP["folder"]) for name in found)

    def answers(files):
        photos = ray.data.read_binary_files(files, include_paths=True, override_num_blocks=max(2, len(files) // 250))
        return photos.map_batches(
            ocelli.ray.Classify, fn_constructor_kwargs=arguments, batch_format="pyarrow", batch_size=64, concurrency=2, num_cpus=0.1)

    print("ready", flush=True)
    sys.stdin.readline()
    step, seen, good = SETUP["count"] // 10, 0, 0
    for batch in answers(files).iter_batches(batch_size=256, batch_format="pyarrow"):
        before, seen = seen, seen + len(batch)
        good += sum(found[0]["label"] == "7" for found in batch.column("classifications").to_pylist())
        if seen // step > before // step:
            print("at", seen, flush=True)
    print("done", good, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    if WAY == "memory":
        memory()
        sys.exit()
    run = way()
    print("ready", flush=True)
    for line in sys.stdin:
        found = run(line.strip())
        print("done", json.dumps({os.path.basename(path): index for path, index in found}), len(found), flush=True)
