#!/usr/bin/env python3
"""Compares what a daemon's pipelines of real detectors answer with separate requests for the same crops, which Pillow makes.

usage: pipeline_things.py URL PICTURES...

The pipelines "people" (faces, their classes) and "things" (things, their vectors, and the vectors of those with a margin) and their models
are served there; their crops are squares. Prints a line for each comparison that fails; the exit status is 0 if all hold. Needs numpy,
Pillow and requests."""
import io
import sys

import numpy as np
import requests
from PIL import Image, ImageOps

import comparisons
from comparisons import check
from pipeline_client import cut, grown

url, names = sys.argv[1], sys.argv[2:]
compared = 0


def ask(path, body):
    answer = requests.post(url + path, data=body, timeout=120)
    assert answer.status_code == 200, (path, answer.status_code, answer.text[:300])
    return answer.json()


def part(picture, box, side):
    """What a model with an input of this size sees of a box, as a file of that size."""
    file = io.BytesIO()
    Image.fromarray(cut(picture, box, side).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def places(answer):
    return [(one["index"], one["confidence"], *[one["box"][side] for side in ("x", "y", "width", "height")])
            for one in answer["detections"]]


for name in names:
    body = open(name, "rb").read()
    picture = ImageOps.exif_transpose(Image.open(name)).convert("RGB")
    for pipeline, detector in (("people", "ultraface"), ("things", "yolox_nano")):
        answer, alone = ask(f"/v1/models/{pipeline}/detect", body), ask(f"/v1/models/{detector}/detect", body)
        found, expected = np.array(places(answer)), np.array(places(alone))
        check(f"{name}: {pipeline} finds as many as its detector", found.shape == expected.shape, f"{found} {expected}")
        if len(found) and found.shape == expected.shape:
            off = np.abs(found - expected)
            # The detector alone may decode a large picture at a part of its size.
            check(f"{name}: {pipeline} finds the same", off[:, :2].max() < 0.05 and off.max() < 4, f"{off.max(0)}")
        for place, one in enumerate(answer["detections"]):
            box = [one["box"][side] for side in ("x", "y", "width", "height")]
            stages = {"people": [("kind", 0.1)], "things": [("vector", 0), ("wide", 0.25)]}[pipeline]
            for stage, margin in stages:
                file = part(picture, grown(box, margin, True), 224)
                what = f"{name}: {stage} of {one['label']} {place}"
                compared += 1
                if pipeline == "people":
                    said = ask("/v1/models/mobilenet/classify?top=5", file)["classifications"]
                    want = {entry["index"]: entry["confidence"] for entry in said}
                    got = {entry["index"]: entry["confidence"] for entry in one[stage]["classifications"]}
                    off = max(abs(got[index] - share) for index, share in want.items() if index in got)
                    check(what, said[0]["index"] == max(got, key=got.get) and off < 0.03, f"{got} {want}")
                else:
                    said = np.array(ask("/v1/models/embedder/embed", file)["embedding"])
                    got = np.array(one[stage]["embedding"])
                    cosine = said @ got / np.linalg.norm(said) / np.linalg.norm(got)
                    check(what, cosine > 0.995, f"cosine {cosine}")
print(f"{compared} crops compared, {comparisons.failures} comparisons failed")
sys.exit(comparisons.failures > 0 or compared < 10)
