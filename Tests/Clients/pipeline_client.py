#!/usr/bin/env python3
"""Compares what a daemon's pipelines see and answer with Pillow and numpy, and with separate requests for the same crops.

usage: pipeline_client.py URL PICTURES...     with the models of Tests/Fixtures/pipelines

Prints a line for each comparison; the exit status is 0 if all hold. Needs numpy, Pillow and requests."""
import io
import math
import sys

import numpy as np
import requests
from PIL import Image, ImageOps

from comparisons import check, end

url = sys.argv[1]
TEMPLATE = np.array([[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]])


def ask(path, body, **headers):
    answer = requests.post(url + path, data=body, headers=headers, timeout=120)
    assert answer.status_code == 200, (path, answer.status_code, answer.text[:300])
    return answer


def seen(pipeline, stage, find, body):
    """The tensor of a stage, as levels of 8 bits, height by width by colours."""
    answer = ask(f"/v1/models/{pipeline}/detect?explain=npy&stage={stage}&find={find}", body)
    return np.load(io.BytesIO(answer.content))[0].transpose(1, 2, 0) * 255


def grown(box, margin, square):
    x, y, width, height = box
    x, y, width, height = x - width * margin, y - height * margin, width * (1 + 2 * margin), height * (1 + 2 * margin)
    if square:
        side = max(width, height)
        x, y, width, height = x - (side - width) / 2, y - (side - height) / 2, side, side
    return x, y, width, height


def cut(picture, box, side):
    """Pillow's crop, then its resize of the box itself."""
    x, y, width, height = (round(number, 6) for number in box)
    hull = (math.floor(x), math.floor(y), math.ceil(round(x + width, 6)), math.ceil(round(y + height, 6)))
    inner = (x - hull[0], y - hull[1], x - hull[0] + width, y - hull[1] + height)
    return np.asarray(picture.crop(hull).resize((side, side), Image.BILINEAR, box=inner)).astype(float)


def similarity(source, target):
    """Umeyama's transform without reflection, as a matrix."""
    a, b = source - source.mean(0), target - target.mean(0)
    along = (a * b).sum() / (a * a).sum()
    across = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum() / (a * a).sum()
    turn = np.array([[along, -across], [across, along]])
    move = target.mean(0) - turn @ source.mean(0)
    return np.vstack([np.column_stack([turn, move]), [0, 0, 1]])


def aligned(picture, points):
    """A face of 112 pixels, interpolated between pixels' middles; black outside."""
    inverse = np.linalg.inv(similarity(np.array(points), TEMPLATE))
    columns, rows = np.meshgrid(np.arange(112), np.arange(112))
    x, y, _ = inverse @ np.stack([columns.ravel(), rows.ravel(), np.ones(112 * 112)])
    pixels = np.pad(np.asarray(picture).astype(float), ((2, 2), (2, 2), (0, 0)))
    left, top = np.floor(x), np.floor(y)
    result = np.zeros((112 * 112, 3))
    for right, down in [(0, 0), (1, 0), (0, 1), (1, 1)]:
        weight = np.where(right, x - left, 1 - x + left) * np.where(down, y - top, 1 - y + top)
        column = np.clip(left + right + 2, 0, pixels.shape[1] - 1).astype(int)
        row = np.clip(top + down + 2, 0, pixels.shape[0] - 1).astype(int)
        result += weight[:, None] * pixels[row, column]
    return Image.fromarray(np.floor(result + 0.5).clip(0, 255).astype(np.uint8).reshape(112, 112, 3))


def runs(mask):
    """COCO's compressed run lengths as a picture of zeros and ones."""
    height, width = mask["size"]
    counts, text, place = [], mask["counts"].encode(), 0
    while place < len(text):
        value, shift, more = 0, 0, True
        while more:
            byte = text[place] - 48
            value |= (byte & 31) << shift
            more, place, shift = byte & 32, place + 1, shift + 5
        if byte & 16:
            value |= -1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
    flat = np.repeat(np.arange(len(counts)) % 2, counts)
    return flat.reshape(width, height).T


def main(names):
    worst = 0
    for name in names:
        body = open(name, "rb").read()
        picture = ImageOps.exif_transpose(Image.open(name)).convert("RGB")
        answer = ask("/v1/models/looks/detect", body).json()
        shown = answer["image"]["displayed"]
        check(f"{name}: displayed size", (shown["width"], shown["height"]) == picture.size, f"{shown} {picture.size}")
        for find in (0, 1, 2, 3, 4, 10):
            one = answer["detections"][find]
            box = [one["box"][side] for side in ("x", "y", "width", "height")]
            for stage, margin, square in (("color", 0.2, True), ("plain", 0, False)):
                got, expected = seen("looks", stage, find, body), cut(picture, grown(box, margin, square), 16)
                off = np.abs(got - expected).max()
                worst = max(worst, off)
                check(f"{name}: {stage} of find {find}", off <= 1.01, f"{off:.2f} levels")
                # The classifier gives the means of what it sees.
                said = one[stage]
                if stage == "plain":
                    means = np.array(said["embedding"])
                else:
                    means = np.full(3, np.nan)
                    for entry in said["classifications"]:
                        means[entry["index"]] = entry["confidence"]
                    check(f"{name}: two classes", np.isfinite(means).sum() == 2)
                error = np.nanmax(np.abs(means * 255 - got.mean((0, 1))))
                check(f"{name}: {stage}'s answer for find {find}", error < 0.01, f"{error}")
            points = one["keypoints"]
            if "face" in one and all(points):
                face = aligned(picture, [(point["x"], point["y"]) for point in points])
                expected = np.asarray(face.resize((16, 16), Image.BILINEAR)).astype(float)
                off = np.abs(seen("looks", "face", find, body) - expected).max()
                worst = max(worst, off)
                check(f"{name}: face of find {find}", off <= 1.01, f"{off:.2f} levels")
            elif "face" in one:
                check(f"{name}: no face of find {find}", one["face"].get("code") == "invalid_input", one["face"])
            # The same crop in a request of its own: of whole pixels, so that the file has all of it.
            whole = [math.floor(box[0]), math.floor(box[1]), math.ceil(box[0] + box[2]), math.ceil(box[1] + box[3])]
            if [whole[0], whole[1], whole[2] - whole[0], whole[3] - whole[1]] == box:
                file = io.BytesIO()
                picture.crop(whole).save(file, "PNG")
                alone = ask("/v1/models/means/embed", file.getvalue()).json()["embedding"]
                error = np.abs(np.array(alone) - np.array(one["plain"]["embedding"])).max()
                check(f"{name}: separate request for find {find}", error * 255 <= 1, f"{error}")
        # Masks: what lies outside of the find's mask is black.
        answer = ask("/v1/models/cut/detect", body).json()
        check(f"{name}: five shapes", len(answer["detections"]) == 5)
        for find, one in enumerate(answer["detections"]):
            masked = np.asarray(picture) * runs(one["mask"])[..., None]
            box = [one["box"][side] for side in ("x", "y", "width", "height")]
            for stage, margin, square in (("inside", 0, False), ("wide", 0.3, True)):
                expected = cut(Image.fromarray(masked.astype(np.uint8)), grown(box, margin, square), 16)
                off = np.abs(seen("cut", stage, find, body) - expected).max()
                worst = max(worst, off)
                check(f"{name}: {stage} of shape {find}", off <= 1.01, f"{off:.2f} levels")
                mean = np.array(one[stage]["embedding"]) * 255
                check(f"{name}: {stage}'s answer for shape {find}", np.abs(mean - expected.mean((0, 1))).max() <= 1)
    end(f"; the largest difference of a crop from Pillow's is {worst:.2f} levels")


if __name__ == "__main__":
    main([name for name in sys.argv[2:] if name != "-v"])
