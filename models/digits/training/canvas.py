"""Draws digits as a paint program does, at real sizes, without the training's drawing code: for tests and examples."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont


def pen(curves, size, box, width, paper, ink, smooth=True):
    """Curves of the unit box on a canvas of `size`, within `box` (left, top, right, bottom), by a round pen.

    `paper` and `ink` are RGB. Not `smooth`: hard edges, as simple paint programs draw.
    """
    times = 4 if smooth and max(size) <= 800 else 2 if smooth else 1
    image = Image.new("L", (size[0] * times, size[1] * times), 0)
    draw = ImageDraw.Draw(image)
    radius = max(width * times, 1) / 2
    left, top, right, bottom = (value * times for value in box)
    for curve in curves:
        points = [(left + x * (right - left), top + y * (bottom - top)) for x, y in curve]
        draw.line(points, fill=255, width=max(1, round(2 * radius)))
        if radius > 0.75:
            for x, y in points:
                draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    if times > 1:
        image = image.resize(size, Image.Resampling.BOX)
    return tinted(image, paper, ink)


def letter(text, font, size, tall, centre, paper, ink, angle=0):
    """A character of a font, `tall` pixels high, its box centred at `centre`."""
    face = ImageFont.truetype(font, 200)
    left, top, right, bottom = face.getbbox(text)
    face = ImageFont.truetype(font, max(4, round(200 * tall / max(1, bottom - top))))
    image = Image.new("L", size, 0)
    left, top, right, bottom = face.getbbox(text)
    at = (centre[0] - (left + right) / 2, centre[1] - (top + bottom) / 2)
    ImageDraw.Draw(image).text(at, text, font=face, fill=255)
    if angle:
        image = image.rotate(angle, Image.Resampling.BICUBIC, center=centre)
    return tinted(image, paper, ink)


def outline(distance, size, box, paper, ink):
    """A shape given by its field of distances (negative in ink), stretched to `box`, with hard edges."""
    width, height = max(1, round(box[2] - box[0])), max(1, round(box[3] - box[1]))
    field = Image.fromarray(np.asarray(distance, np.float32)).resize((width, height), Image.Resampling.BICUBIC)
    mask = Image.new("L", size, 0)
    mask.paste(Image.fromarray(((np.asarray(field) < 0) * 255).astype(np.uint8)), (round(box[0]), round(box[1])))
    return tinted(mask, paper, ink)


def tinted(coverage, paper, ink):
    return Image.composite(Image.new("RGB", coverage.size, ink), Image.new("RGB", coverage.size, paper), coverage)
