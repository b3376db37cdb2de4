"""What the servers of this folder share: the model by OpenVINO, pictures by Pillow, as a Python service would have it."""
import io
import os
import pathlib

import numpy
import openvino
from PIL import Image, ImageOps

BUNDLE = pathlib.Path(os.environ["OTHERS_BUNDLE"])
THREADS = int(os.environ.get("OTHERS_THREADS", os.cpu_count()))


class Classifier:
    """MobileNet of ../shared/data. `classify` may be called from several threads."""

    def __init__(self, hint="THROUGHPUT", threads=THREADS):
        core = openvino.Core()
        properties = {"PERFORMANCE_HINT": hint, "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
        self.model = core.compile_model(BUNDLE / "model.tflite", "CPU", properties)
        self.labels = (BUNDLE / "labels.txt").read_text().splitlines()

    @staticmethod
    def tensor(data):
        picture = Image.open(io.BytesIO(data))
        picture.draft("RGB", (224, 224))
        picture = ImageOps.exif_transpose(picture).convert("RGB")
        return numpy.asarray(ImageOps.fit(picture, (224, 224), Image.BILINEAR))[None]

    def top(self, scores, count=5):
        best = numpy.argsort(scores)[::-1][:count]
        return [
            {"index": int(index), "label": self.labels[index], "confidence": float(scores[index]) / 256} for index in best]

    def classify(self, data):
        request = self.model.create_infer_request()
        scores = request.infer([self.tensor(data)])[0][0]
        return {"classifications": self.top(scores)}
