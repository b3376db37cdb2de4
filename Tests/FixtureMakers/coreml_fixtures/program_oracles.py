"""What numpy makes of the operations that it does not have: windows, interpolation, recurrent steps."""

import math

import numpy as np
from scipy import special


def sigmoid(x):
    return special.expit(x)


def windows(x, kernel, strides, dilations, before, after, fill=0.0):
    """All windows of x [n, c, *spatial] after padding: [n, c, *out, *kernel]."""
    rank = len(kernel)
    padded = np.pad(x, [(0, 0), (0, 0)] + list(zip(before, after)), constant_values=fill).astype(np.float64)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    view = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=tuple(range(2, 2 + rank)))
    steps = tuple(slice(None, None, s) for s in strides)
    taps = tuple(slice(None, None, d) for d in dilations)
    return view[(slice(None), slice(None)) + steps + taps]


def same(size, kernel, strides, dilations, lower=False):
    before, after = [], []
    for i, k, s, d in zip(size, kernel, strides, dilations):
        total = max(0, (math.ceil(i / s) - 1) * s + (k - 1) * d + 1 - i)
        small, large = total // 2, total - total // 2
        before.append(large if lower else small)
        after.append(small if lower else large)
    return before, after


def convolve(x, w, b=None, strides=None, dilations=None, before=None, after=None, groups=1):
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    before, after = before or [0] * rank, after or [0] * rank
    parts = []
    for xs, ws in zip(np.split(x, groups, 1), np.split(w, groups, 0)):
        view = windows(xs, w.shape[2:], strides, dilations, before, after)
        axes = [1] + list(range(2 + rank, 2 + 2 * rank))
        out = np.tensordot(view, ws.astype(np.float64), (axes, list(range(1, 2 + rank))))
        parts.append(np.moveaxis(out, -1, 1))
    out = np.concatenate(parts, 1)
    return out if b is None else out + b.reshape([1, -1] + [1] * rank)


def deconvolve(x, w, b=None, strides=None, dilations=None, groups=1):
    """Transposed convolution without padding: every input element adds its scaled kernel. w [in, out/groups, *kernel]."""
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    size = [(i - 1) * s + (k - 1) * d + 1 for i, s, k, d in zip(x.shape[2:], strides, w.shape[2:], dilations)]
    out = np.zeros([x.shape[0], w.shape[1] * groups] + size)
    inner, outer = x.shape[1] // groups, w.shape[1]
    for c in range(x.shape[1]):
        group = c // inner
        for place in np.ndindex(*x.shape[2:]):
            at = tuple(slice(p * s, p * s + (k - 1) * d + 1, d) for p, s, k, d in zip(place, strides, w.shape[2:], dilations))
            value = x[(slice(None), c) + place].reshape([-1] + [1] * (1 + rank))
            out[(slice(None), slice(group * outer, (group + 1) * outer)) + at] += value * w[c][None]
    return out if b is None else out + b.reshape([1, -1] + [1] * rank)


def grid(size_in, size_out, mode):
    """Where the points of a resized line lie, by the sampling modes of resize_bilinear."""
    i = np.arange(size_out, dtype=np.float64)
    if mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        if size_out == 1:
            points = np.array([(size_in - 1) / 2 if mode == "ALIGN_CORNERS" else 0.0])
        else:
            points = i * (size_in - 1) / (size_out - 1)
    elif mode == "DEFAULT":
        points = i * (0 if size_out == 1 else (size_in - size_in / size_out) / (size_out - 1))
    elif mode == "OFFSET_CORNERS":
        delta = max(1, size_in - 1) / size_out
        points = 0.5 * delta + i * delta
    else:
        points = (i + 0.5) * size_in / size_out - 0.5
    return np.clip(points, 0, size_in - 1)


def interpolate(x, axis, points):
    low = np.floor(points).astype(int)
    high = np.minimum(low + 1, x.shape[axis] - 1)
    part = (points - low).reshape([-1] + [1] * (x.ndim - 1 - axis % x.ndim))
    return np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part


def bilinear(x, height, width, mode):
    x = interpolate(x.astype(np.float64), x.ndim - 2, grid(x.shape[-2], height, mode))
    return interpolate(x, x.ndim - 1, grid(x.shape[-1], width, mode))


def nearest(x, height, width):
    rows = np.floor(np.arange(height) * (x.shape[-2] / height) + 1e-6).astype(int)
    columns = np.floor(np.arange(width) * (x.shape[-1] / width) + 1e-6).astype(int)
    return x[..., rows, :][..., columns]


def gate(name):
    return {"sigmoid": sigmoid, "tanh": np.tanh, "relu": lambda v: np.maximum(v, 0), "linear": lambda v: v,
            "hard_sigmoid": lambda v: np.clip(0.2 * v + 0.5, 0, 1), "sigmoid_hard": lambda v: np.clip(0.2 * v + 0.5, 0, 1),
            # Without numbers: coremltools' own test_recurrent.py.
            "scaled_tanh": np.tanh}[name]


def lstm_steps(x, h, c, wi, wh, b, peephole=None, inner="sigmoid", cell="tanh", outer="tanh", clip=None):
    size = wh.shape[1]
    p = np.zeros(3 * size) if peephole is None else peephole
    sequence = []
    for step in x:
        z = step @ wi.T + h @ wh.T + b
        i, f, o, g = (z[:, k * size : (k + 1) * size] for k in range(4))
        i, f = gate(inner)(i + p[:size] * c), gate(inner)(f + p[size : 2 * size] * c)
        c = f * c + i * gate(cell)(g)
        c = c if clip is None else np.clip(c, -clip, clip)
        o = gate(inner)(o + p[2 * size :] * c)
        h = o * gate(outer)(c)
        sequence.append(h)
    return np.stack(sequence), h, c


def keep_boxes(boxes, scores, overlap, threshold, most, per_class):
    """Non-maximum suppression as coremltools' own tests state it: boxes [n, 4] (center x, y, width, height), scores [n, classes].

    Gives boxes [most, 4] and scores [most, classes] with zeros behind the last, places [most] with -1, and how many."""
    best, owner = scores.max(1), scores.argmax(1)
    low, high = boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2
    kept = []
    for place in np.argsort(-best, kind="stable"):
        if best[place] <= threshold or len(kept) == most:
            continue

        def common(other):
            sides = np.maximum(np.minimum(high[place], high[other]) - np.maximum(low[place], low[other]), 0)
            return sides.prod() / (boxes[place, 2:].prod() + boxes[other, 2:].prod() - sides.prod())

        if all(common(other) <= overlap for other in kept if not per_class or owner[other] == owner[place]):
            kept.append(place)
    kept = kept or [best.argmax()]
    count = len(kept)
    found = (np.zeros((most, 4), np.float32), np.zeros((most, scores.shape[1]), np.float32), np.full(most, -1), count)
    found[0][:count], found[1][:count], found[2][:count] = boxes[kept], scores[kept], kept
    return found
