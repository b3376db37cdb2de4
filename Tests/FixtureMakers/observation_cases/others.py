"""Masks, points and embeddings: random outputs, and what they mean by plain numpy."""
import json
import struct

import numpy as np

from .detectors import Unsure, sigmoid, single
from .geometry import seen
from .onnx_models import Output


def middles(axis, side, cells, length):
    """Where the middles of the picture's pixels lie on a grid over the tensor: the cell before, the next one, how far between."""
    scale, start = axis
    place = ((np.arange(length) + 0.5 - start) / scale) * cells / side - 0.5
    place = np.clip(place, 0, cells - 1)
    before = np.floor(place).astype(int)
    return before, np.minimum(before + 1, cells - 1), place - before


def spread(values, x, y):
    """[h, w] or [channels, h, w] scaled up to the picture, linearly."""
    (x0, x1, fx), (y0, y1, fy) = x, y
    rows = values[..., y0, :] * (1 - fy)[:, None] + values[..., y1, :] * fy[:, None]
    return rows[..., x0] * (1 - fx) + rows[..., x1] * fx


def instance_mask(coefficients, prototypes, least, box, axes, picture, width, height):
    """Which pixels of the picture are in a detection's mask, and which single precision may decide. `box`: left, top, width, height."""
    field = np.tensordot(coefficients, prototypes, 1)
    value = spread(field, middles(axes[0], picture.width, field.shape[1], width), middles(axes[1], picture.height, field.shape[0], height))
    xs, ys = np.arange(width) + 0.5, np.arange(height) + 0.5
    inside = ((xs >= box[0]) & (xs < box[0] + box[2]))[None] & ((ys >= box[1]) & (ys < box[1] + box[3]))[:, None]
    near = lambda v, edge: np.abs(v - edge) < 1e-3
    edge = (near(xs, box[0]) | near(xs, box[0] + box[2]))[None] | (near(ys, box[1]) | near(ys, box[1] + box[3]))[:, None]
    return (value >= least) & inside, (np.abs(value - least) < 1e-3) | edge


def runs(text):
    """COCO's compressed run lengths."""
    result, place, data = [], 0, text.encode()
    while place < len(data):
        value, shift, more = 0, 0, True
        while more:
            group = data[place] - 48
            value |= (group & 0x1F) << (5 * shift)
            more = bool(group & 0x20)
            place, shift = place + 1, shift + 1
            if not more and group & 0x10:
                value |= -1 << (5 * shift)
        if len(result) > 2:
            value += result[-2]
        result.append(value)
    return result


def pixels(mask):
    """The mask of run lengths as an array."""
    height, width = mask["size"]
    lengths = runs(mask["counts"])
    flat = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    assert len(flat) == height * width, f"{len(flat)} pixels in run lengths of {height} x {width}"
    return flat.reshape(width, height).T


class Mask:
    """A semantic mask."""

    def __init__(self, rng, picture):
        self.rng, self.picture, self.files, self.kept = rng, picture, {}, None
        layout = str(rng.choice(["classes", "classes", "sigmoid", "probabilities", "indices"]))
        self.layout = "mask, " + layout
        self.entry = {"name": "output", "type": "mask", "layout": layout}
        if layout == "classes" and rng.random() < 0.3:
            del self.entry["layout"]
        classes = int(rng.choice([2, 3, 4, 7, 21, 300]))
        h, w = (int(v) for v in rng.integers(4, 50, 2))
        if classes == 300:
            h, w = min(h, 12), min(w, 12)
        self.threshold, self.first = None, 0
        ys, xs = (np.arange(h) * 5 // h), (np.arange(w) * 5 // w)
        kind = str(rng.choice(["f32", "f16"], p=[0.8, 0.2]))
        if layout == "indices":
            self.values = rng.integers(0, classes, (5, 5))[ys][:, xs].astype(float)[None]
            kind = str(rng.choice(["f32", "i64", "i32", "u8"])) if classes < 256 else str(rng.choice(["f32", "i64", "i32"]))
            self.count = classes
            rank = int(rng.choice([2, 3, 4]))
            tensor = self.values[0] if rank == 2 else self.values if rank == 3 else self.values[None]
            if rank == 4 and rng.random() < 0.5:
                tensor = self.values[0][None, :, :, None]
                if h == 1:
                    self.entry["channels"] = "last"
            if rank == 4:
                self.entry["channels"] = "last" if tensor.shape[-1] == 1 and tensor.shape[1] != 1 else "first"
            batch = rank > 2
        else:
            coarse = rng.normal(0, 3, (classes, 5, 5))
            # Of many classes a picture has few.
            coarse[rng.permutation(classes)[6:]] -= 12
            smooth = coarse[:, ys][:, :, xs] + rng.normal(0, 0.3, (classes, h, w))
            if layout == "probabilities":
                smooth = sigmoid(smooth - 1)
            self.values = single(smooth, kind)
            if layout == "classes":
                self.count = classes
            else:
                self.first, self.count = 1, classes + 1
                if rng.random() < 0.5:
                    self.entry["threshold"] = round(float(rng.uniform(0.2, 0.8)), 2)
                self.threshold = self.entry.get("threshold", 0.5)
            is_last = rng.random() < 0.5
            tensor = (self.values.transpose(1, 2, 0) if is_last else self.values)[None]
            if classes in (h, w) or self.count in (h, w) or rng.random() < 0.3:
                self.entry["channels"] = "last" if is_last else "first"
            batch = True
        self.labels = True
        self.classes = self.count
        self.outputs = [Output("output", tensor, kind, batch=batch)]

    def classes_at(self, axes, width, height, threshold=None):
        """The class of each pixel of the picture (-1: not seen), and the pixels that single precision may decide."""
        h, w = self.values.shape[1:]
        x, y = middles(axes[0], self.picture.width, w, width), middles(axes[1], self.picture.height, h, height)
        if self.entry.get("layout") == "indices":
            (x0, x1, fx), (y0, y1, fy) = x, y
            result = self.values[0].astype(int)[np.where(fy < 0.5, y0, y1)][:, np.where(fx < 0.5, x0, x1)]
            unsure = (np.abs(fx - 0.5) < 1e-4)[None] | (np.abs(fy - 0.5) < 1e-4)[:, None]
        else:
            scores = spread(self.values, x, y)
            if self.first:
                threshold = self.threshold if threshold is None else threshold
                least = np.log(threshold / (1 - threshold)) if self.entry["layout"] == "sigmoid" else threshold
                scores = np.concatenate([np.full((1, height, width), least), scores])
            top = np.sort(scores, 0)[-2:]
            result, unsure = scores.argmax(0), top[1] - top[0] < 2e-3
        for length, axis, side, place in ((width, axes[0], self.picture.width, 1), (height, axes[1], self.picture.height, 0)):
            low, high = seen(axis, side, length)
            middle = np.arange(length) + 0.5
            out, edge = (middle < low) | (middle > high), (np.abs(middle - low) < 1e-6) | (np.abs(middle - high) < 1e-6)
            out, edge = (out[None], edge[None]) if place else (out[:, None], edge[:, None])
            result = np.where(out, -1, result)
            unsure = unsure | edge
        return result, unsure


class Points:
    """One set of points a picture."""

    def __init__(self, rng, picture):
        self.rng, self.picture, self.files, self.kept, self.labels = rng, picture, {}, None, False
        layout = str(rng.choice(["points", "heatmaps"]))
        self.layout = "keypoints, " + layout
        self.entry = {"name": "output", "type": "keypoints", "layout": layout}
        if layout == "points" and rng.random() < 0.3:
            del self.entry["layout"]
        kind = str(rng.choice(["f32", "f16"], p=[0.8, 0.2]))
        count = int(rng.integers(1, 30))
        if layout == "heatmaps" or rng.random() < 0.6:
            if rng.random() < 0.6:
                self.entry["names"] = [f"point {i}" for i in range(count)]
            else:
                self.entry["points"] = count
        self.names = self.entry.get("names") or [str(i) for i in range(count)]
        self.threshold = 0.0
        if rng.random() < 0.6:
            self.threshold = self.entry["threshold"] = round(float(rng.uniform(0.1, 0.6)), 2)
        scores = "sigmoid" if rng.random() < 0.4 else "probabilities"
        if scores == "sigmoid":
            self.entry["scores"] = scores
        side = np.array([picture.width, picture.height], float)
        if layout == "points":
            order = str(rng.choice(["x y score", "y x score", "x y", "y x"]))
            if order != "y x score":
                self.entry["point"] = order
            units = str(rng.choice(["pixels", "fractions"]))
            if units != "fractions":
                self.entry["units"] = units
            xy = rng.uniform(-0.1, 1.1, (count, 2)) * (side if units == "pixels" else 1)
            xy, shown = single(xy, kind), single(rng.uniform(0, 1, count) * (6 if scores == "sigmoid" else 1) - (3 if scores == "sigmoid" else 0), kind)
            rows = xy[:, ::-1] if order.startswith("y") else xy
            self.confidence = (sigmoid(shown) if scores == "sigmoid" else shown) if "score" in order else None
            if "score" in order:
                rows = np.concatenate([rows, shown[:, None]], 1)
            self.xy = xy * (side if units == "fractions" else 1)
            shapes = [rows[None], rows[None, None], rows.reshape(1, -1)]
            tensor = shapes[int(rng.integers(3))]
        else:
            if rng.random() < 0.4:
                self.entry["refine"] = str(rng.choice(["none", "quarter"]))
            h, w = (int(v) for v in rng.integers(3, 40, 2))
            if count in (h, w):
                self.entry["channels"] = "first"
            ys, xs = np.mgrid[0:h, 0:w]
            maps, self.xy = [], np.zeros((count, 2))
            for _ in range(count):
                cx, cy, s = rng.uniform(-0.5, w - 0.5), rng.uniform(-0.5, h - 0.5), rng.uniform(0.8, 3)
                peak = rng.uniform(0.05, 1) * np.exp(-((xs - cx) ** 2 + (ys - cy) ** 2) / (2 * s * s))
                maps.append(peak * 6 - 3 if scores == "sigmoid" else peak)
            maps = single(np.array(maps), kind)
            self.confidence = np.zeros(count)
            for index, one in enumerate(maps):
                flat = np.sort(one.ravel())
                if len(flat) > 1 and flat[-1] == flat[-2]:
                    raise Unsure
                row, column = np.unravel_index(one.argmax(), one.shape)
                x, y = column + 0.5, row + 0.5
                if self.entry.get("refine") != "none":
                    if 0 < column < w - 1:
                        x += 0.25 * np.sign(one[row, column + 1] - one[row, column - 1])
                    if 0 < row < h - 1:
                        y += 0.25 * np.sign(one[row + 1, column] - one[row - 1, column])
                self.xy[index] = x * side[0] / w, y * side[1] / h
                self.confidence[index] = sigmoid(one.max()) if scores == "sigmoid" else one.max()
            is_last = "channels" not in self.entry and rng.random() < 0.5
            tensor = (maps.transpose(1, 2, 0) if is_last else maps)[None]
            if "names" not in self.entry and "points" not in self.entry:
                self.entry["channels"] = "last" if is_last else "first"
        if self.confidence is not None and (np.abs(self.confidence - self.threshold) < 1e-5).any():
            raise Unsure
        self.outputs = [Output("output", tensor, kind)]


class Embedding:
    """A vector, and with `classes.safetensors` the probabilities of classes."""

    def __init__(self, rng, picture):
        self.rng, self.picture, self.files, self.kept, self.labels = rng, picture, {}, None, False
        kind = str(rng.choice(["f32", "f16"], p=[0.8, 0.2]))
        dimension = int(rng.choice([1, 2, 12, 128, 512, 1024]))
        self.layout = "embedding"
        self.entry = {"name": "output", "type": "embedding"}
        self.vector = single(rng.normal(0, rng.choice([0.01, 1, 50]), dimension), kind)
        self.value = self.vector
        if rng.random() < 0.3:
            self.entry["normalize"] = str(rng.choice(["l2", "none"]))
        if self.entry.get("normalize") != "none":
            self.value = self.vector / np.linalg.norm(self.vector)
        self.probabilities = None
        if rng.random() < 0.6:
            self.zero_shot(dimension)
        shape = [(1, dimension), (1, dimension, 1, 1), (1, 1, 1, dimension)][int(rng.integers(3))]
        self.outputs = [Output("output", self.vector.reshape(shape), kind)]

    def zero_shot(self, dimension):
        rng = self.rng
        self.layout = "embedding, zero-shot"
        classes = int(rng.choice([1, 2, 5, 1000]))
        unit = self.vector / np.linalg.norm(self.vector)
        vectors = rng.normal(0, 1, (classes, dimension)) / np.sqrt(dimension) + unit * rng.uniform(-0.5, 1, (classes, 1))
        vectors *= rng.uniform(0.5, 30, (classes, 1))
        dtype = str(rng.choice(["F32", "F16", "BF16", "F64"]))
        if dtype == "BF16":
            bits = vectors.astype("<f4").view("<u4") >> 16
            data, vectors = bits.astype("<u2").tobytes(), (bits << 16).astype("<u4").view("<f4").astype(float)
        else:
            stored = vectors.astype({"F32": "<f4", "F16": "<f2", "F64": "<f8"}[dtype])
            data, vectors = stored.tobytes(), stored.astype(float)
        metadata = {}
        self.names = [f"kind {i}" for i in range(classes)]
        if rng.random() < 0.5:
            metadata["labels"] = "\n".join(self.names)
        else:
            self.files["names.txt"] = "\n".join(self.names) + "\n"
            self.entry["labels"] = "names.txt"
        scale = 100.0
        if rng.random() < 0.5:
            scale = float(rng.choice([1.0, 14.2857, 27.5]))
            metadata["scale"] = repr(scale)
        if rng.random() < 0.4:
            scale = self.entry["scale"] = float(rng.choice([3.5, 20.0, 117.33]))
        header = {"classes": {"dtype": dtype, "shape": [classes, dimension], "data_offsets": [0, len(data)]}}
        if metadata or rng.random() < 0.5:
            header["__metadata__"] = metadata
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        self.files["classes.safetensors"] = struct.pack("<Q", len(text)) + text + data
        self.entry["classes"] = "classes.safetensors"
        logits = scale * (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)) @ unit
        e = np.exp(logits - logits.max())
        self.probabilities = e / e.sum()
