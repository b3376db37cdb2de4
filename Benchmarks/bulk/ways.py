"""One way to classify a folder of pictures: warms up, says "warm", waits for a line, and says "done COUNT". Called by `run`."""
import io
import os
import subprocess
import sys
import tempfile

WAY, FOLDER, COUNT, MODEL = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
WARM = 64


def tensor(data):
    """As model.json says: centre crop to 224, blue, green, red, 0 to 255. Pillow decodes at a smaller scale where that is enough."""
    import numpy
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    image.draft("RGB", (224, 224))
    image = image.convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    image = image.resize((224, 224), Image.Resampling.BILINEAR, box=(left, top, left + side, top + side))
    return numpy.ascontiguousarray(numpy.asarray(image)[:, :, ::-1].transpose(2, 0, 1))[None]


class OpenVINOActor:
    """Loads the model once; an actor a processor, each with one thread."""

    def __init__(self):
        import openvino

        core = openvino.Core()
        self.model = core.compile_model(
            f"{MODEL}/model.onnx", "CPU", {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
        self.type = self.model.inputs[0].element_type.to_dtype()

    def __call__(self, batch):
        found = [int(self.model(tensor(data).astype(self.type))[0].argmax()) for data in batch["bytes"]]
        return {"path": batch["path"], "index": found}


def ray_way(actor, arguments):
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

    def run(count):
        names = sorted(os.path.join(FOLDER, name) for name in os.listdir(FOLDER))[:count]
        photos = ray.data.read_binary_files(names, include_paths=True, override_num_blocks=max(2, count // 64))
        return photos.map_batches(actor, batch_size=32, **arguments).count()

    return run


def spark_way(make):
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1").config("spark.sql.execution.arrow.maxRecordsPerBatch", 64)
        .config("spark.sql.files.maxPartitionBytes", 8 << 20).getOrCreate())

    def run(count):
        photos = spark.read.format("binaryFile").option("pathGlobFilter", "*").load(FOLDER).select("path", "content").limit(count) \
            if count < COUNT else spark.read.format("binaryFile").load(FOLDER).select("path", "content")
        return make(photos)

    return run


def way():
    if WAY == "ocelli --jsonl":
        def run(count):
            names = sorted(os.path.join(FOLDER, name) for name in os.listdir(FOLDER))[:count]
            with tempfile.NamedTemporaryFile("w+") as answers:
                subprocess.run(
                    [os.environ["OCELLI"], "classify", f"--models={MODEL}", "--jsonl"], input="\n".join(names).encode(), stdout=answers, check=True)
                return sum(1 for _ in open(answers.name))

        return run
    if WAY == "ocelli.ray":
        import ocelli

        return ray_way(ocelli.ray.Classify, {
            "fn_constructor_kwargs": {"models": MODEL, "column": "bytes"}, "batch_format": "pyarrow", "concurrency": 2, "num_cpus": 0.1})
    if WAY == "Ray Data, OpenVINO":
        # Half a processor each for the scheduler, so that the other is left to read the files; else nothing is ever read.
        return ray_way(OpenVINOActor, {"concurrency": 2, "num_cpus": 0.5})
    if WAY == "ocelli.spark":
        import ocelli

        def make(photos):
            return photos.mapInArrow(
                ocelli.spark.classify(models=MODEL, column="content"), schema=ocelli.spark.schema("classify", photos)).select("path", "error") \
                .toPandas().shape[0]

        return spark_way(make)

    def make(photos):
        from typing import Iterator

        import pandas
        from pyspark.sql.functions import pandas_udf

        @pandas_udf("long")
        def classify(batches: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
            import numpy
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            session = onnxruntime.InferenceSession(f"{MODEL}/model.onnx", options, providers=["CPUExecutionProvider"])
            port = session.get_inputs()[0]
            kind = numpy.float16 if port.type == "tensor(float16)" else numpy.float32
            for contents in batches:
                yield pandas.Series(
                    [int(session.run(None, {port.name: tensor(content).astype(kind)})[0].argmax()) for content in contents])

        return photos.select("path", classify("content").alias("index")).toPandas().shape[0]

    return spark_way(make)


if __name__ == "__main__":
    run = way()
    run(min(WARM, COUNT))
    print("warm", flush=True)
    sys.stdin.readline()
    print("done", run(COUNT), flush=True)
    sys.stdin.readline()
