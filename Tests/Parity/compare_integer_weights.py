"""See Tests/Parity/compare-integer-weights."""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import urllib.request

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image, ImageOps

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Operations"))
from daemon import LOADED, Daemon

SEED = 7
TYPES = {"UINT8": np.uint8, "FP32": np.float32, "INT8": np.int8}


def pictures(width, height, count):
    """The folder's pictures, cropped in the middle; and random crops of them, brighter and darker, some mirrored."""
    opened = []
    for path in sorted(pathlib.Path(os.environ["IMAGES"]).rglob("*")):
        try:
            opened.append(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
        except (OSError, ValueError):
            continue

    def crop(picture, left, top, side):
        box = (left, top, left + side, top + side)
        return np.asarray(picture.resize((width, height), Image.BILINEAR, box=box))

    real = []
    for picture in opened:
        side = min(picture.size)
        real.append(crop(picture, (picture.size[0] - side) // 2, (picture.size[1] - side) // 2, side))
    random, generated = np.random.default_rng(SEED), []
    for _ in range(count):
        picture = opened[random.integers(len(opened))]
        side = random.uniform(0.2, 0.9) * min(picture.size)
        made = crop(picture, random.uniform(0, picture.size[0] - side), random.uniform(0, picture.size[1] - side), side)
        made = np.clip(made * random.uniform(0.6, 1.4) + random.uniform(-30, 30), 0, 255).astype(np.uint8)
        generated.append(np.ascontiguousarray(made[:, ::-1] if random.random() < 0.5 else made))
    return real, generated


class Server(Daemon):
    """`ocelli serve` with one model and one thread of the engine."""

    def __init__(self, models, setting):
        super().__init__(
            ["--listen=127.0.0.1:0", f"--models={models}", "--threads=1", "--cache-dir=", f"--integer-weights={setting}", "--access-log=false",
             "--load-trial=false"], ready=LOADED, program=os.environ["OCELLI"])
        self.model = json.load(urllib.request.urlopen(self.url + "/v1/models/model"))

    def infer(self, tensor):
        head = json.dumps({"inputs": [{
            "name": self.model["inputs"][0]["name"], "shape": list(tensor.shape), "datatype": "UINT8",
            "parameters": {"binary_data_size": tensor.nbytes}}], "parameters": {"binary_data_output": True}}).encode()
        request = urllib.request.Request(
            self.url + "/v2/models/model/infer", head + tensor.tobytes(),
            {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"})
        with urllib.request.urlopen(request) as answer:
            size, body = int(answer.headers["Inference-Header-Content-Length"]), answer.read()
        outputs, place = {}, size
        for output in json.loads(body[:size])["outputs"]:
            length = output["parameters"]["binary_data_size"]
            outputs[output["name"]] = np.frombuffer(body[place:place + length], TYPES[output["datatype"]])
            place += length
        return outputs


def levels(values):
    """On a scale of 0 to 255."""
    return values.astype(float) * (255 if values.dtype == np.float32 else 1)


def compare(path):
    reference = Interpreter(path, num_threads=1)
    reference.allocate_tensors()
    source, targets = reference.get_input_details()[0], reference.get_output_details()
    # Of a detector the scores, which are in order; else the only output.
    target = targets[2 if len(targets) == 4 else 0]

    def expected(tensor):
        reference.set_tensor(source["index"], tensor)
        reference.invoke()
        return levels(reference.get_tensor(target["index"]).reshape(-1))

    def found(outputs):
        return levels(outputs[target["name"]] if len(outputs) > 1 else next(iter(outputs.values())))

    _, height, width, _ = source["shape"]
    real, generated = pictures(width, height, int(os.environ["GENERATED"]))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, folder + "/model.tflite")
        daemons = {"off": Server(folder, "false"), "on": Server(folder, "true")}
        weights = daemons["on"].model.get("integer_weights")
        print(f"\n{path}: {weights}\n")
        print("| pictures | integer weights | median | 95 % | most | mean | first class | CPU ms a prediction |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for name, tensors in (("the folder's", real), ("generated", generated)):
            truth = [expected(t[None]) for t in tensors]
            results = {key: [] for key in daemons}
            seconds = dict.fromkeys(daemons, 0.0)
            # In turns, ten at a time: a busy machine is busy for both.
            for start in range(0, len(tensors), 10):
                for key, daemon in daemons.items():
                    before = daemon.processor_seconds()
                    results[key] += [found(daemon.infer(t[None])) for t in tensors[start:start + 10]]
                    seconds[key] += daemon.processor_seconds() - before
            for key, values in results.items():
                apart = [np.abs(a - b).max() for a, b in zip(values, truth)]
                first = sum(b[a.argmax()] == b.max() for a, b in zip(values, truth))
                print(f"| {len(tensors)} {name} | {key} | {np.median(apart):.1f} | {np.percentile(apart, 95):.1f} | "
                      f"{max(apart):.0f} | {np.mean(apart):.2f} | {first} of {len(tensors)} | "
                      f"{1000 * seconds[key] / len(tensors):.2f} |")
        for daemon in daemons.values():
            daemon.stop()


for path in sys.argv[1:]:
    compare(path)
