"""Draws examples/ and checks that the model reads each as what its name says.

python models/digits/training/examples.py [--check]        (--check draws nothing)
"""

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageOps

import canvas
import strokes

WHITE, BLACK = (255, 255, 255), (0, 0, 0)
NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def drawn(digit, design, seed, size, box, width, paper, ink, smooth=True):
    curves = strokes.draw(strokes.TESTING[digit][design], np.random.default_rng(seed), 0.012)
    return canvas.pen(curves, size, box, width, paper, ink, smooth)


def photo(picture, seed):
    """As a phone sees a sheet of ruled paper: light from one side, a soft lens, a grainy sensor."""
    rng = np.random.default_rng(seed)
    pixels = np.asarray(picture, np.float32)
    height, width = pixels.shape[:2]
    for y in range(40, height, 72):
        pixels[y : y + 2] *= (0.80, 0.86, 0.93)
    ys, xs = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j].astype(np.float32)
    light = 0.95 - 0.42 * xs - 0.18 * ys * ys
    pixels = cv2.GaussianBlur(pixels * light[..., None], (0, 0), 2.0)
    pixels = pixels * (0.98, 0.95, 0.88) + rng.normal(0, 11, pixels.shape)
    return Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))


def draw(folder):
    folder.mkdir(parents=True, exist_ok=True)
    square = (256, 256)

    def png(name, picture):
        picture.save(folder / name, optimize=True)

    png("seven.png", drawn(7, 0, 1, square, (76, 52, 180, 204), 14, WHITE, BLACK).convert("L"))
    png("three.png", drawn(3, 1, 2, square, (80, 50, 176, 206), 16, BLACK, WHITE).convert("L"))
    png("five-small-on-wide-canvas.png", drawn(5, 0, 3, (800, 600), (560, 70, 650, 210), 9, WHITE, BLACK).convert("L"))
    png("two-thin-pen.png", drawn(2, 0, 4, (640, 480), (220, 90, 420, 390), 3, WHITE, (20, 40, 160), smooth=False))
    png("eight-thick-brush.png", drawn(8, 0, 5, (400, 400), (120, 60, 280, 340), 44, WHITE, (200, 30, 30)))
    png("six-tiny.png", drawn(6, 0, 6, (28, 28), (8, 4, 20, 24), 2.6, BLACK, WHITE).convert("L"))
    png("zero-colours.png", drawn(0, 0, 7, (500, 500), (150, 110, 350, 400), 24, (30, 60, 120), (250, 240, 120)))
    png("one-tall-canvas.png", drawn(1, 1, 8, (360, 640), (110, 180, 220, 480), 18, (25, 25, 25), (80, 220, 90)))

    nine = drawn(9, 0, 9, (1024, 768), (400, 180, 620, 580), 18, (245, 243, 236), (35, 45, 95))
    photo(nine, 9).save(folder / "nine-photo.jpg", quality=62)

    upright = drawn(4, 0, 10, (480, 640), (130, 160, 350, 470), 22, (252, 250, 244), (40, 40, 45))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter clockwise for display
    upright.transpose(Image.Transpose.ROTATE_90).save(folder / "four-exif-orientation-6.jpg", quality=85, exif=exif)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[3]
    parser.add_argument("--folder", type=Path, default=root / "examples")
    parser.add_argument("--model", type=Path, default=root / "models/digits/digits.onnx")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.check:
        draw(options.folder)
    from evaluate import Reader

    reader = Reader(options.model)
    failed = False
    for path in sorted(p for p in options.folder.iterdir() if p.suffix in (".png", ".jpg")):
        scores = reader(ImageOps.exif_transpose(Image.open(path)))
        wanted = NAMES.index(path.stem.split("-")[0])
        good = scores.argmax() == wanted and scores[wanted] >= 0.9
        failed |= not good
        print(f"{path.name:32} {scores.argmax()} {scores.max():.3f}{'' if good else '   <- wanted ' + str(wanted)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
