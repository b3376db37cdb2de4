"""Pictures for training: one shape, as a person might draw, photograph or save it.

A picture is drawn on a canvas of up to DRAWN pixels and then brought to the model's input by the way the server takes:
letterboxed ("crop_and_scale": "fit") by an antialiased bilinear filter. With each comes its ink, which is what the
network's first half learns to find.
"""

import cv2
import numpy as np
from PIL import Image

from shapes import BOX, FIELD

SIZE = 64  # the model's input
DRAWN = 256  # the longer side of what is drawn
FAR = 1e3


def fit(picture, fill, size=SIZE):
    """A grey picture (uint8) letterboxed to size x size, as the server does it."""
    height, width = picture.shape
    factor = size / max(height, width)
    inner = (max(1, round(width * factor)), max(1, round(height * factor)))
    scaled = Image.fromarray(picture).resize(inner, Image.Resampling.BILINEAR)
    canvas = Image.new("L", (size, size), int(fill))
    canvas.paste(scaled, ((size - inner[0]) // 2, (size - inner[1]) // 2))
    return np.asarray(canvas)


def training_picture(fields, rng):
    """One picture of a shape (its distance fields), and where its ink is: two uint8 arrays of SIZE x SIZE."""
    if fields.counts is not None and rng.random() < 0.06:
        return as_it_came(fields.counts, rng)
    width, height = canvas_size(rng)
    coverage = draw(fields, width, height, rng)
    grey, fill = colour(coverage, rng)
    grey = degrade(grey, rng)
    picture = fit(grey, fill)
    ink = fit((coverage * 255).astype(np.uint8), 0)
    return picture, ink


def as_it_came(counts, rng):
    """The 8x8 picture itself, perhaps with a margin, which is enlarged eightfold to the model's input."""
    top, bottom, left, right = rng.integers(0, 4, 4) * (rng.random() < 0.6)
    coverage = np.pad(counts / 16, ((top, bottom), (left, right)))
    times = rng.choice([1, 1, 1, 2, 4, 16])
    coverage = coverage.repeat(times, axis=0).repeat(times, axis=1)
    paper, ink = rng.choice(
        [(255, 0), (0, 255), (rng.uniform(200, 255), rng.uniform(0, 90)), (20, rng.uniform(150, 255))]
    )
    grey = to_bytes(paper + (ink - paper) * coverage)
    return fit(grey, 255), fit(to_bytes(coverage * 255), 0)


def canvas_size(rng):
    aspect = rng.choice([1, 1, 1, 4 / 3, 3 / 4, 3 / 2, 2 / 3, 16 / 9, 9 / 16, 2, 0.5, 1.15, 0.87])
    return (DRAWN, round(DRAWN / aspect)) if aspect >= 1 else (round(DRAWN * aspect), DRAWN)


def draw(fields, width, height, rng):
    """The ink's coverage, 0 to 1, of a canvas of width x height."""
    short = min(width, height)
    if rng.random() < 0.12:
        tall = rng.uniform(0.85, 1.0) * short  # a digit cut out to its edges
    else:
        tall = np.exp(rng.uniform(np.log(0.2), np.log(0.95))) * short
    wide = tall * np.exp(rng.normal(0, 0.12))
    angle = np.clip(rng.normal(0, 7), -16, 16) * np.pi / 180
    shear = np.clip(rng.normal(0, 0.12), -0.3, 0.3)

    # From canvas to field: about the digit's centre, turned, slanted, stretched, with a little perspective.
    slack_x, slack_y = max(0, (width - wide) / 2), max(0, (height - tall) / 2)
    centred = rng.random() < 0.4
    spread = 0.15 if centred else 1.0
    cx = width / 2 + rng.uniform(-1, 1) * slack_x * spread
    cy = height / 2 + rng.uniform(-1, 1) * slack_y * spread
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.array([[cos, sin], [-sin, cos]])
    slant = np.array([[1, shear], [0, 1]])
    forward = np.diag([BOX / wide, BOX / tall]) @ slant @ turn
    step = 8 if max(width, height) > 64 else 4
    ys, xs = np.mgrid[0 : height + step : step, 0 : width + step : step].astype(np.float32)
    dx, dy = xs - cx, ys - cy
    tilt = 1 + (rng.normal(0, 0.08) * dx + rng.normal(0, 0.08) * dy) / max(tall, 1)
    u = (forward[0, 0] * dx + forward[0, 1] * dy) / np.clip(tilt, 0.5, 2) + (FIELD - 1) / 2
    v = (forward[1, 0] * dx + forward[1, 1] * dy) / np.clip(tilt, 0.5, 2) + (FIELD - 1) / 2
    if rng.random() < 0.8:  # elastic: the paper pulled about, a bit at a time
        knots = rng.integers(3, 7)
        pull = rng.normal(0, rng.uniform(0.5, 2.8), (2, knots, knots)).astype(np.float32)
        at_x, at_y = np.clip(u / FIELD, 0, 1) * (knots - 1), np.clip(v / FIELD, 0, 1) * (knots - 1)
        u = u + wave(pull[0], at_x, at_y)
        v = v + wave(pull[1], at_x, at_y)
    u = cv2.resize(u.astype(np.float32), None, fx=step, fy=step)[step // 2 :, step // 2 :][:height, :width]
    v = cv2.resize(v.astype(np.float32), None, fx=step, fy=step)[step // 2 :, step // 2 :][:height, :width]

    scale = tall / BOX  # canvas pixels for one field pixel
    if fields.pen is not None and (fields.outline is None or rng.random() < 0.65):
        source = fields.pen
        radius = np.exp(rng.uniform(np.log(0.5), np.log(7.5)))
        radius = max(radius, 0.45 / scale)
    else:
        source = fields.outline
        radius = rng.uniform(-0.8, 3.0)
    distance = cv2.remap(source, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=FAR)
    if rng.random() < 0.15:  # a nib that presses unevenly
        radius = radius * (1 + 0.35 * blotches(height, width, rng))
    return np.clip(0.5 - (distance - radius) * scale, 0, 1)


def wave(pull, x, y):
    return cv2.remap(pull, x.astype(np.float32), y.astype(np.float32), cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)


def blotches(height, width, rng, finest=9):
    """Smooth noise of about -1 to 1."""
    cells = rng.integers(2, finest)
    coarse = rng.uniform(-1, 1, (cells, cells)).astype(np.float32)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)


def colour(coverage, rng):
    """Ink on paper in greys (what a pair of colours becomes): the canvas, and the fill of the letterbox's bars."""
    height, width = coverage.shape
    kind = rng.random()
    if kind < 0.3:
        paper, ink = 255.0, rng.choice([0.0, rng.uniform(0, 120)])
    elif kind < 0.5:
        paper, ink = rng.choice([0.0, rng.uniform(0, 60)]), rng.uniform(190, 255)
    else:
        gap = rng.uniform(55, 255)
        dark = rng.uniform(0, 255 - gap)
        paper, ink = (dark + gap, dark) if rng.random() < 0.55 else (dark, dark + gap)
    if rng.random() < 0.12:  # pencil, chalk, a dry brush
        grain = rng.normal(0, 1, (height, width)).astype(np.float32)
        grain = cv2.GaussianBlur(grain, (0, 0), rng.uniform(0.6, 2.0))
        coverage = coverage * np.clip(0.75 + grain / (grain.std() + 1e-6) * rng.uniform(0.1, 0.3), 0, 1)
    background = np.full((height, width), paper, np.float32)
    if rng.random() < 0.1:
        ruled(background, paper, ink, rng)
    canvas = background + (ink - background) * coverage
    fill = 255 if rng.random() < 0.8 else rng.choice([0, 128, paper])
    return canvas, fill


def ruled(background, paper, ink, rng):
    """Lines or squares on the paper, fainter than the ink; or the edge of the sheet."""
    height, width = background.shape
    line = paper + (ink - paper) * rng.uniform(0.08, 0.35)
    thick = int(rng.integers(1, 3))
    gap = int(rng.integers(16, 90))
    kind = rng.random()
    if kind < 0.75:
        for y in range(int(rng.integers(0, gap)), height, gap):
            background[y : y + thick] = line
    if 0.4 < kind < 0.75:
        for x in range(int(rng.integers(0, gap)), width, gap):
            background[:, x : x + thick] = line
    if kind >= 0.75:
        inset = int(rng.integers(0, 8))
        background[inset : inset + thick] = background[height - inset - thick : height - inset] = line
        background[:, inset : inset + thick] = background[:, width - inset - thick : width - inset] = line


def degrade(grey, rng):
    """What a camera, a scanner, a tiny thumbnail or a JPEG does to it; half of the pictures stay as they were drawn."""
    height, width = grey.shape
    if rng.random() < 0.18:  # it was made small before
        factor = rng.uniform(24, 64) / max(height, width)
        small = (max(8, round(width * factor)), max(8, round(height * factor)))
        grey = cv2.resize(grey, small, interpolation=cv2.INTER_AREA)
        return to_bytes(grey)
    if rng.random() < 0.5:
        return to_bytes(grey)
    if rng.random() < 0.6:
        light = blotches(height, width, rng, 4)
        if rng.random() < 0.6:  # from one side
            a, b = rng.normal(0, 1, 2)
            ys, xs = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j].astype(np.float32)
            light = 0.5 * light + a * xs + b * ys
            light /= max(1, np.abs(light).max())
        grey = grey * (1 + rng.uniform(0.05, 0.4) * light)
    if rng.random() < 0.5:
        grey = cv2.GaussianBlur(grey, (0, 0), np.exp(rng.uniform(np.log(0.5), np.log(4.5))))
    if rng.random() < 0.15:
        for _ in range(rng.integers(1, 6)):
            at = (int(rng.integers(0, width)), int(rng.integers(0, height)))
            cv2.circle(grey, at, int(rng.integers(1, 4)), float(rng.uniform(0, 255)), -1)
    if rng.random() < 0.6:
        noise = rng.standard_normal((height, width), dtype=np.float32)
        grey = grey + noise * rng.uniform(1, 30)
    grey = to_bytes(grey)
    if rng.random() < 0.5:
        _, data = cv2.imencode(".jpg", grey, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(25, 95))])
        grey = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE)
    return grey


def to_bytes(grey):
    return np.clip(np.rint(grey), 0, 255).astype(np.uint8)
