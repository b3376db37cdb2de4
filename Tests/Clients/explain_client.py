#!/usr/bin/env python3
"""Compares what `?explain` shows of a form with Pillow's pictures, for every task that takes a picture. Asks by curl.

usage: explain_client.py URL PICTURES...     of a daemon with the models of ExplainTests.swift, whose pictures are scaled to the input

Prints a line for each comparison that fails; the exit status is 0 if all hold. Needs curl, numpy and Pillow."""
import base64
import io
import json
import subprocess
import sys

import numpy as np
from PIL import Image, ImageOps

from comparisons import check, end

# Model, task, the name of the picture's part, the input's width, height and layout.
TASKS = [("mixed", "predict", "photo", 20, 24, "NHWC"), ("spots", "detect", "image", 32, 32, "NCHW"),
         ("looks", "detect", "image", 32, 32, "NCHW"), ("classes", "segment", "image", 20, 24, "NHWC"),
         ("points", "keypoints", "file", 20, 24, "NHWC"), ("means", "embed", "upload", 16, 16, "NCHW"),
         ("colors", "classify", "image", 16, 16, "NCHW"), ("spots", "predict", "image", 32, 32, "NCHW")]
VECTOR = "vector=[1, 2.5, -3, 4e2]"
url = sys.argv[1]


def curl(address, *parts):
    flags = [flag for part in parts for flag in ("-F", part)]
    done = subprocess.run(["curl", "-sS", "-w", "\n%{http_code} %{content_type}", *flags, url + address], capture_output=True, check=True)
    body, _, last = done.stdout.rpartition(b"\n")
    status, kind = last.decode().split(" ", 1)
    return int(status), kind, body


for name in sys.argv[2:]:
    picture = ImageOps.exif_transpose(Image.open(name)).convert("RGB")
    for model, task, part, width, height, layout in TASKS:
        what, address = f"{name.split('/')[-1]}: {task} by {model}", f"/v1/models/{model}/{task}?explain="
        form = [f"{part}=@{name}", VECTOR, "comment=mine"][:2 if model == "mixed" else 3]
        expected = np.asarray(picture.resize((width, height), Image.BILINEAR)).astype(float)
        status, kind, npy = curl(address + "npy", *form)
        check(f"{what}: npy", status == 200 and kind == "application/x-npy", f"{status} {kind} {npy[:200]}")
        if status != 200:
            continue
        tensor = np.load(io.BytesIO(npy))
        check(f"{what}: shape", tensor.shape == ((1, height, width, 3) if layout == "NHWC" else (1, 3, height, width)), tensor.shape)
        seen = tensor[0] if layout == "NHWC" else tensor[0].transpose(1, 2, 0)
        off = np.abs(seen * 255 - expected).max()
        check(f"{what}: levels", off <= 1.01, f"{off:.2f}")
        status, kind, png = curl(address + "png", *form)
        check(f"{what}: png", status == 200 and kind == "image/png", f"{status} {kind}")
        off = np.abs(np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(float) - seen * 255).max()
        check(f"{what}: png's levels", off <= 0.51, f"{off:.2f}")
        status, kind, text = curl(address + "preprocess", *form[::-1])
        steps = json.loads(text)
        check(f"{what}: preprocess", status == 200 and [step["operation"] for step in steps["steps"]][0] == "decode"
              and "resize" in [step["operation"] for step in steps["steps"]] and steps["tensor"]["shape"] == list(tensor.shape), text[:300])
        check(f"{what}: the same files", base64.b64decode(steps["npy"]["b64"]) == npy and base64.b64decode(steps["png"]["b64"]) == png)
        # One picture at a time, and there must be one.
        for wrong, words in (([f"{part}=@{name}", f"{'other' if model == 'mixed' else part}=@{name}", VECTOR], b""), ([VECTOR], b"picture")):
            status, _, text = curl(address + "png", *wrong)
            check(f"{what}: {len(wrong)} parts", status == 400 and b'"error"' in text and words in text, f"{status} {text[:200]}")
        # Without explain the same form is answered.
        status, _, text = curl(address.split("?")[0], *form)
        check(f"{what}: an answer", status == 200 and json.loads(text)["model"] == model, text[:200])
end()
