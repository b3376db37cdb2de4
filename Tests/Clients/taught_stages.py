#!/usr/bin/env python3
"""Compares a stage with a taught model with separate requests that classify Pillow's crops of the same boxes.

usage: taught_stages.py URL PIPELINE STAGE TAUGHT MARGIN CENTER PICTURES...

The crops are squares; the embedder gives the mean colour of 16 pixels square. CENTER is the mean of the taught colours (R,G,B in levels):
classes are directions from it, so that half a level counts more the nearer a crop's colour is to it. Prints a line for each comparison that
fails; the exit status is 0 if all hold. Needs numpy, Pillow and requests."""
import io
import sys

import numpy as np
import requests
from PIL import Image, ImageOps

import comparisons
from comparisons import check
from pipeline_client import cut, grown

url, pipeline, stage, taught, margin = sys.argv[1:6]
center = np.array([float(level) for level in sys.argv[6].split(",")])
compared = 0


def ask(path, body):
    answer = requests.post(url + path, data=body, timeout=120)
    assert answer.status_code == 200, (path, answer.status_code, answer.text[:300])
    return answer.json()


for name in sys.argv[7:]:
    body = open(name, "rb").read()
    picture = ImageOps.exif_transpose(Image.open(name)).convert("RGB")
    for place, one in enumerate(ask(f"/v1/models/{pipeline}/detect", body)["detections"]):
        box = grown([one["box"][side] for side in ("x", "y", "width", "height")], float(margin), True)
        file = io.BytesIO()
        pixels = np.floor(cut(picture, box, 16) + 0.5).astype(np.uint8)
        Image.fromarray(pixels).save(file, "PNG")
        turn = 1 / max(np.linalg.norm(pixels.reshape(-1, 3).mean(0) - center), 1)
        alone, found = ask(f"/v1/models/{taught}/classify", file.getvalue()), one[stage]
        want = {entry["label"]: entry["confidence"] for entry in alone["classifications"]}
        got = {entry["label"]: entry["confidence"] for entry in found["classifications"]}
        off = max(abs(got.get(label, 9) - share) for label, share in want.items())
        compared += 1
        # Scores are ten times the cosines.
        check(f"{name}: find {place}", got.keys() == want.keys() and off < 0.005 + 10 * turn, f"{got} {want} {turn}")
        apart = abs(found["distance"] - alone["distance"])
        check(f"{name}: distance of find {place}", apart < 0.001 + 2 * turn, f"{found} {alone} {turn}")
print(f"{compared} crops compared, {comparisons.failures} comparisons failed")
sys.exit(comparisons.failures > 0 or compared < 10)
