"""The common part of the servers in this folder: the model in OpenVINO, pictures with Pillow, as in a Python service."""
import io
import json
import os
import pathlib

import numpy
import openvino
from PIL import Image, ImageOps

BUNDLE = pathlib.Path(os.environ["OTHERS_BUNDLE"])
THREADS = int(os.environ.get("OTHERS_THREADS", os.cpu_count()))


class Classifier:
    """A MobileNet of ../shared/data, uint8 or float. `classify` may be called from several threads."""

    def __init__(self, hint="THROUGHPUT", threads=THREADS):
        core = openvino.Core()
        # Each process would pin its threads to the same first processors.
        properties = {
            "PERFORMANCE_HINT": hint, "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False,
        }
        self.model = core.compile_model(BUNDLE / "model.tflite", "CPU", properties)
        self.labels = (BUNDLE / "labels.txt").read_text().splitlines()
        self.quantized = json.loads((BUNDLE / "model.json").read_text())["model"]["quantized"]

    def tensor(self, data):
        picture = Image.open(io.BytesIO(data))
        picture.draft("RGB", (224, 224))
        picture = ImageOps.exif_transpose(picture).convert("RGB")
        pixels = numpy.asarray(ImageOps.fit(picture, (224, 224), Image.BILINEAR))[None]
        return pixels if self.quantized else pixels * numpy.float32(1 / 127.5) - numpy.float32(1)

    def top(self, scores, count=5):
        best = numpy.argsort(scores)[::-1][:count]
        return [
            {"index": int(index), "label": self.labels[index], "confidence": float(scores[index]) / (256 if self.quantized else 1)}
            for index in best
        ]

    def classify(self, data):
        request = self.model.create_infer_request()
        scores = request.infer([self.tensor(data)])[0][0]
        return {"classifications": self.top(scores)}
