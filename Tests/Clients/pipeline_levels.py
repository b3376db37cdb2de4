#!/usr/bin/env python3
"""Compares what a daemon's pipelines find in three levels, in a grid of tiles, of some classes and in batches with numpy and Pillow.

usage: pipeline_levels.py URL PICTURES...     with the models of Tests/Fixtures/pipelines; deep is the default model

Prints a line for each comparison that fails; the exit status is 0 if all hold. Needs numpy, Pillow and requests."""
import io
import sys

import numpy as np
import requests
from PIL import Image, ImageOps

from comparisons import check, end
from pipeline_client import cut, grown, seen

SIDES = ("x", "y", "width", "height")
url = sys.argv[1]


def ask(path, body, status=200):
    answer = requests.post(url + path, data=body, timeout=120)
    assert answer.status_code == status, (path, answer.status_code, answer.text[:300])
    return answer.json()


def box(one):
    return np.array([one["box"][side] for side in SIDES])


def within(outer, part):
    """A part of a box, as the same model finds it in everything that it sees."""
    return np.concatenate([outer[:2] + part[:2] * outer[2:], part[2:] * outer[2:]])


def close(what, found, expected):
    off = np.abs(found - expected).max()
    check(what, off < 0.01, f"{found} {expected}")


def deep(name, body, picture, parts):
    answer = ask("/v1/detect", body)
    check(f"{name}: the default model", answer["model"] == "deep" and "skipped" not in answer, answer["model"])
    first = answer["detections"]
    check(f"{name}: the first level", len(first) == len(parts))
    for a, one in enumerate(first):
        second = one["one"]["detections"]
        check(f"{name}: level two of {a}", len(second) == len(parts))
        for b, two in enumerate(second):
            close(f"{name}: find {a}.{b}", box(two), within(box(one), parts[b]))
            third = two["two"]["detections"]
            check(f"{name}: level three of {a}.{b}", len(third) == len(parts))
            for c, three in enumerate(third):
                close(f"{name}: find {a}.{b}.{c}", box(three), within(box(two), parts[c]))
                expected = cut(picture, grown(box(three), 0.1, True), 16)
                got = seen("deep", "mean", f"{a}.{b}.{c}", body)
                off = np.abs(got - expected).max()
                check(f"{name}: crop {a}.{b}.{c}", off <= 1.01, f"{off:.2f} levels")
                mean = np.array(three["mean"]["embedding"]) * 255
                check(f"{name}: answer {a}.{b}.{c}", np.abs(mean - got.mean((0, 1))).max() < 0.01, mean)


def overlap(a, b):
    across = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    down = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = max(0, across) * max(0, down)
    return both / (a[2] * a[3] + b[2] * b[3] - both)


def starts(length, size=64, step=48):
    begins = list(range(0, max(1, length - size + 1), step))
    if length > size and begins[-1] + size < length:
        begins.append(length - size)
    return begins


def grid(name, body, picture):
    found = []
    for top in starts(picture.height):
        for left in starts(picture.width):
            file = io.BytesIO()
            picture.crop((left, top, min(left + 64, picture.width), min(top + 64, picture.height))).save(file, "PNG")
            for one in ask("/v1/models/spots/detect?threshold=0.9", file.getvalue())["detections"]:
                found.append((one["confidence"], one["index"], box(one) + [left, top, 0, 0]))
    kept = []
    for one in sorted(found, key=lambda one: -one[0]):
        if all(other[1] != one[1] or overlap(other[2], one[2]) <= 0.4 for other in kept):
            kept.append(one)
    kept = kept[:64]
    answer = ask("/v1/models/grid/detect", body)["detections"]
    check(f"{name}: finds of the grid", len(answer) == len(kept), f"{len(answer)} {len(kept)}")
    for place, (one, (confidence, index, expected)) in enumerate(zip(answer, kept)):
        close(f"{name}: find {place} of the grid", box(one), expected)
        check(f"{name}: class {place} of the grid", one["index"] == index and abs(one["confidence"] - confidence) < 1e-4)
    few = ask("/v1/models/grid/detect?top=3&threshold=0.95", body)["detections"]
    check(f"{name}: top of the grid", [box(one).tolist() for one in few] == [box(one).tolist() for one in answer[:3]])


def chosen(name, body):
    found = ask("/v1/models/chosen/detect", body)["detections"]
    check(f"{name}: classes of a pipeline", {one["label"] for one in found} == {"even"} and all("mean" in one for one in found))
    for query, labels in (("odd", {"odd"}), ("1,even", {"even", "odd"})):
        found = ask(f"/v1/models/chosen/detect?classes={query}", body)["detections"]
        check(f"{name}: a request's classes go before", {one["label"] for one in found} == labels, query)
        check(f"{name}: classes of a stage", all(("mean" in one) == (one["label"] == "even") for one in found), query)


def crowded(name, body):
    """A batch that fails for all because of one is computed again for each: the number of those that fail."""
    found = ask("/v1/models/crowded/detect", body)["detections"]
    looked = [one for one in found if "picky" in one]
    check(f"{name}: a crop for each find", len(looked) == 64, len(looked))
    failed = 0
    for one in looked:
        mean = np.array(one["mean"]["embedding"], np.float32)
        if mean.mean() > 0.5:
            failed += 1
            check(f"{name}: a bright crop fails alone", one["picky"].get("code") == "internal", one["picky"])
        else:
            got = one["picky"].get("embedding")
            check(f"{name}: a dark crop is answered", got and np.abs(np.array(got) - mean).max() < 1e-5, one["picky"])
    return failed


def halves(dark):
    """A picture that is bright below a line."""
    pixels = np.random.default_rng(34).integers(0, 40, (200, 200, 3), np.uint8)
    pixels[dark:] += 200
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


if __name__ == "__main__":
    for name in sys.argv[2:]:
        body = open(name, "rb").read()
        picture = ImageOps.exif_transpose(Image.open(name)).convert("RGB")
        parts = [box(one) / [*picture.size, *picture.size] for one in ask("/v1/models/spots/detect?threshold=0.975", body)["detections"]]
        check(f"{name}: two parts", len(parts) == 2)
        deep(name, body, picture, parts)
        grid(name, body, picture)
        chosen(name, body)
    check("dark: none fails", crowded("dark", halves(200)) == 0)
    failed = crowded("two halves", halves(120))
    check("two halves: some fail", 5 < failed < 59, failed)
    end()
