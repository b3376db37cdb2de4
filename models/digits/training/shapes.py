"""The UCI digits as shapes: from 8x8 grey counts to distance fields that can be drawn at any size with any pen.

A count is how many of the 16 bits of one 4x4 block were ink. `shape_fields` looks for the smooth outline whose blocks
hold just those counts, which gives back much of what the counting threw away, and then measures two distances from it:
to the outline (the pen that the writer had) and to the middle line (any pen).
"""

from typing import NamedTuple

import cv2
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

CELL = 8  # field pixels for one pixel of the 8x8 picture
MARGIN = 2 * CELL  # field pixels of empty paper on each side
FIELD = 8 * CELL + 2 * MARGIN  # the field is FIELD x FIELD; the digit's box is 8 * CELL high
BOX = 8 * CELL


class Fields(NamedTuple):
    """Distances in field pixels, FIELD x FIELD, float32; either may be None."""

    outline: np.ndarray | None  # signed, to the outline, negative in ink: the writer's own pen
    pen: np.ndarray | None  # to the middle line: any pen
    counts: np.ndarray | None = None  # the 8x8 picture itself


def load_split(seed):
    """The 1797 samples, split by sample and stratified by digit before anything is made of them.

    Returns {"train": (pictures, labels), "validation": ..., "test": ...}; pictures are [n, 8, 8], 0 to 16.
    """
    digits = load_digits()
    index = np.arange(len(digits.target))
    rest, test = train_test_split(index, test_size=360, stratify=digits.target, random_state=seed)
    train, validation = train_test_split(rest, test_size=180, stratify=digits.target[rest], random_state=seed)
    return {
        name: (digits.images[chosen], digits.target[chosen])
        for name, chosen in (("train", train), ("validation", validation), ("test", test))
    }


def shape_fields(pictures, labels):
    """The fields of each picture. `pen` is None where the middle line has lost what makes the digit: an 8 whose upper
    loop the writer's thick pen had filled would become a 6.
    """
    target = np.pad(pictures / 16.0, ((0, 0), (2, 2), (2, 2))).astype(np.float32)
    cells = target.shape[1]
    level = enlarge(target)
    for _ in range(24):  # smooth, then pay back what each block lost: converges to a smooth set with the right areas
        level = blur(level, 2.2)
        ink = 1 / (1 + np.exp(-12 * (level - 0.5)))
        counted = ink.reshape(-1, cells, CELL, cells, CELL).mean(axis=(2, 4))
        level += 0.9 * blur(enlarge(target - counted), 2.2)
    masks = blur(level, 1.2) > 0.5
    fields = []
    for mask, middle, label, picture in zip(masks, thin(masks), labels, pictures):
        outline = distance_to(mask) - distance_to(~mask)
        whole = holes(middle) in HOLES[label]
        pen = middle_distance(middle) if whole else None
        fields.append(Fields(cv2.GaussianBlur(outline, (0, 0), 1.0), pen, picture))
    return fields


# How many holes a digit's middle line may have.
HOLES = [{1}, {0}, {0, 1}, {0}, {0, 1}, {0}, {1}, {0}, {2}, {1}]


def holes(line):
    paper, _ = cv2.connectedComponents((~line).astype(np.uint8), connectivity=4)
    return paper - 2  # less the background's own label, and the paper round the digit


def enlarge(cells):
    return cells.repeat(CELL, axis=1).repeat(CELL, axis=2)


def blur(stack, sigma):
    return np.stack([cv2.GaussianBlur(one, (0, 0), sigma) for one in stack])


def middle_distance(middle):
    """Distance to a one-pixel line, smoothed so that its stairs do not show when it is enlarged."""
    return np.maximum(cv2.GaussianBlur(distance_to(middle), (0, 0), 1.0) - 0.5, 0)


def stroke_fields(curves):
    """The fields of a hand-designed digit, given as curves in the unit box; it has no outline, only a pen's path."""
    line = np.zeros((FIELD, FIELD), np.uint8)
    for curve in curves:
        points = np.stack([(curve[:, 0] - 0.5) * 0.72 * BOX + FIELD / 2, curve[:, 1] * (BOX - 1) + MARGIN], axis=1)
        cv2.polylines(line, [np.rint(points).astype(np.int32)], False, 1)
    return Fields(None, middle_distance(line > 0))


def distance_to(mask):
    """Euclidean distance of every pixel to the nearest true one."""
    return cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)


def thin(masks):
    """Zhang and Suen's thinning (CACM 27(3), 1984), for a whole batch of masks at once."""
    masks = np.pad(masks, ((0, 0), (1, 1), (1, 1)))
    height, width = masks.shape[1:]
    changed = True
    while changed:
        changed = False
        for first in (True, False):
            p = [
                np.roll(masks, (-dy, -dx), axis=(1, 2))
                for dy, dx in ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
            ]
            count = np.sum(p, axis=0, dtype=np.int8)
            steps = np.sum([~p[k] & p[(k + 1) % 8] for k in range(8)], axis=0, dtype=np.int8)
            n, e, s, w = p[0], p[2], p[4], p[6]
            corner = ~(n & e & s) & ~(e & s & w) if first else ~(n & e & w) & ~(n & s & w)
            peel = masks & (count >= 2) & (count <= 6) & (steps == 1) & corner
            if peel.any():
                masks = masks & ~peel
                changed = True
    return masks[:, 1 : height - 1, 1 : width - 1]
