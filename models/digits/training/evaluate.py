"""Measures models/digits/digits.onnx on pictures that its training has not seen, and prints the tables of its README.

    python models/digits/training/evaluate.py [--model models/digits/digits.onnx] [--fonts DIR] [--failures DIR]
                                                          [--sweeps]

Every picture goes the server's way: grey, letterboxed to 64x64 by Pillow's antialiased bilinear filter on white,
divided by 255, run by OpenVINO. The same seed makes the same pictures.
"""

import argparse
import time
from pathlib import Path

import cv2
import numpy as np
import openvino
from PIL import Image

import canvas
import render
import shapes
import strokes
from train import SEED

SIZES = [(64, 64), (200, 200), (280, 280), (400, 300), (500, 500), (800, 600), (600, 800), (1080, 1920), (1600, 900)]
COLOURS = [  # paper, ink
    ((255, 255, 255), (0, 0, 0)),
    ((0, 0, 0), (255, 255, 255)),
    ((255, 255, 255), (200, 30, 30)),
    ((30, 60, 120), (250, 240, 120)),
    ((250, 250, 235), (20, 40, 160)),
    ((25, 25, 25), (80, 220, 90)),
]


def clean(split):
    """The UCI pictures as they are: 8x8, light on dark, and their negatives."""
    for picture, label in zip(*split["test"]):
        grey = np.clip(np.rint(picture * 255 / 16), 0, 255).astype(np.uint8)
        yield grey, label
        yield 255 - grey, label


def redrawn(split, rng, times=10):
    """The test samples through the training's own drawing: all sizes, pens, colours, lights and codecs."""
    fields = shapes.shape_fields(*split["test"])
    for _ in range(times):
        for one, label in zip(fields, split["test"][1]):
            yield render.training_picture(one, rng)[0], label


def painted(split, rng):
    """The test samples as hard-edged shapes of one colour on another, anywhere on canvases of 64 to 1920 pixels."""
    fields = shapes.shape_fields(*split["test"])
    for one, label in zip(fields, split["test"][1]):
        for size in SIZES:
            box = place(size, rng, 0.25, 0.95, 0.85 * shapes.FIELD / shapes.BOX)
            paper, ink = COLOURS[rng.integers(len(COLOURS))]
            yield canvas.outline(one.outline, size, box, paper, ink), label


def place(size, rng, low, high, aspect):
    tall = rng.uniform(low, high) * min(size)
    wide = min(tall * aspect, 0.98 * size[0])
    left, top = rng.uniform(0, size[0] - wide), rng.uniform(0, max(1, size[1] - tall))
    return left, top, left + wide, top + tall


def penned(rng, times=6):
    """Hand-designed pen strokes that are not among the training's, jittered, thin to thick."""
    for digit, designs in strokes.TESTING.items():
        for design in designs:
            for size in SIZES:
                for _ in range(times):
                    left, top, right, bottom = place(size, rng, 0.25, 0.85, rng.uniform(0.5, 0.85))
                    width = (bottom - top) * np.exp(rng.uniform(np.log(0.025), np.log(0.16)))
                    curves = strokes.draw(design, rng, 0.03)
                    paper, ink = COLOURS[rng.integers(len(COLOURS))]
                    box = (left + width / 2, top + width / 2, right - width / 2, bottom - width / 2)
                    yield canvas.pen(curves, size, box, width, paper, ink, rng.random() < 0.5), digit


def fonts(paths, rng, times=3):
    """Printed digits of every font found, a little turned."""
    for path in paths:
        for digit in range(10):
            for _ in range(times):
                size = SIZES[rng.integers(1, len(SIZES))]
                tall = rng.uniform(0.3, 0.8) * min(size)
                centre = tuple(rng.uniform(0.55 * tall, s - 0.55 * tall) for s in size)
                paper, ink = COLOURS[rng.integers(len(COLOURS))]
                yield canvas.letter(str(digit), str(path), size, tall, centre, paper, ink, rng.normal(0, 4)), digit


def sweeps(reader):
    """Where reading ends: one thing varied at a time, on the unseen pen designs. Prints a line for each."""
    light, dark = COLOURS[0], COLOURS[5]
    kinds = {
        "height, parts of the longer side": [
            (640, 640, 640 * h, 0.08, 0, light) for h in (0.08, 0.11, 0.125, 0.2, 0.3)
        ],
        "pen, parts of the digit's height": [
            (1000, 1000, 500, w, 0, light) for w in (0.002, 0.01, 0.1, 0.2, 0.24, 0.28)
        ],
        "angle, degrees": [(400, 400, 240, 0.08, angle, light) for angle in (0, 10, 15, 20, 30, 45)],
        "long side over short": [(300 * k, 300, 150, 0.08, 0, light) for k in (1, 2, 3, 4)],
        "the same, dark, between white bars": [(300 * k, 300, 200, 0.08, 0, dark) for k in (1, 1.5, 2, 2.5, 3)],
    }
    column = {"height": lambda c: c[2] / c[0], "pen": lambda c: c[3], "angle": lambda c: c[4]}
    for name, cases in kinds.items():
        value = column.get(name.split(",")[0], lambda c: c[0] / c[1])
        print(f"- {name}: " + ", ".join(f"{value(case):g}: {sweep(reader, *case):.0f} %" for case in cases))


def sweep(reader, width, height, tall, thick, angle, colours):
    rng = np.random.default_rng(5)
    hits = []
    size, wide, pen, (paper, ink) = (round(width), height), tall * 0.65, max(1, thick * tall), colours
    for digit, designs in strokes.TESTING.items():
        for curves in [strokes.draw(design, rng, 0.02) for design in designs for _ in range(6)]:
            left, top = (
                rng.uniform(0.5 if angle else 0, 0.5 if angle else 1) * room for room in (width - wide, height - tall)
            )
            box = (left + pen / 2, top + pen / 2, left + wide - pen / 2, top + tall - pen / 2)
            picture = canvas.pen(curves, size, box, pen, paper, ink)
            if angle:
                picture = picture.rotate(angle * rng.choice([-1, 1]), Image.Resampling.BILINEAR, fillcolor=paper)
            hits.append(reader(picture).argmax() == digit)
    return 100 * np.mean(hits)


class Reader:
    def __init__(self, path, precision="f32"):
        settings = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
        self.model = openvino.Core().compile_model(path, "CPU", settings)

    def __call__(self, picture):
        """The ten scores of a PIL picture or a grey array."""
        grey = np.asarray(picture.convert("L")) if isinstance(picture, Image.Image) else picture
        tensor = render.fit(grey, 255).astype(np.float32)[None, None] / 255
        return next(iter(self.model(tensor).values()))[0]


def measure(name, pairs, reader, failures):
    confusion = np.zeros((10, 10), int)
    sure, sure_wrong, wrong = 0, 0, []
    for picture, label in pairs:
        scores = reader(picture)
        said = scores.argmax()
        confusion[label, said] += 1
        if scores.max() >= 0.9:
            sure += 1
            sure_wrong += said != label
        if said != label and len(wrong) < 400:
            grey = np.asarray(picture.convert("L")) if isinstance(picture, Image.Image) else picture
            tile = np.pad(render.fit(grey, 255), 4, constant_values=128)
            cv2.putText(tile, f"{label}>{said}", (2, 12), cv2.FONT_HERSHEY_PLAIN, 0.7, 100)
            wrong.append(tile)
    if failures and wrong:
        failures.mkdir(parents=True, exist_ok=True)
        wrong += [np.full_like(wrong[0], 128)] * (-len(wrong) % 16)
        rows = [np.concatenate(wrong[at : at + 16], axis=1) for at in range(0, len(wrong), 16)]
        Image.fromarray(np.concatenate(rows)).save(failures / f"{name}.png")
    return confusion, sure, sure_wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[3]
    parser.add_argument("--model", type=Path, default=root / "models/digits/digits.onnx")
    parser.add_argument("--fonts", type=Path, action="append", default=[], help="folders of .ttf and .otf files")
    parser.add_argument("--failures", type=Path, help="write the misread pictures there, a sheet for each set")
    parser.add_argument(
        "--sweeps", action="store_true", help="print instead where reading ends: size, pen, angle, canvas"
    )
    parser.add_argument("--precision", default="f32", help="OpenVINO's INFERENCE_PRECISION_HINT: f32, bf16, f16")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    reader = Reader(options.model, options.precision)
    split = shapes.load_split(SEED)
    sets = {
        "clean": clean(split),
        "redrawn": redrawn(split, np.random.default_rng(11)),
        "painted": painted(split, np.random.default_rng(12)),
        "penned": penned(np.random.default_rng(13)),
    }
    for folder in options.fonts:
        paths = sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".ttf", ".otf"))
        sets[f"fonts {folder.name}"] = fonts(paths, np.random.default_rng(14))
    if options.sweeps:
        return sweeps(reader)
    tables = []
    print("| set | pictures | right | at 0.9 and above | of those wrong |")
    print("| --- | --- | --- | --- | --- |")
    for name, pairs in sets.items():
        confusion, sure, sure_wrong = measure(name, pairs, reader, options.failures)
        count = confusion.sum()
        right = 100 * np.trace(confusion) / count
        share, bad = 100 * sure / count, 100 * sure_wrong / max(1, sure)
        print(f"| {name} | {count} | {right:.2f} % | {share:.1f} % | {bad:.2f} % |", flush=True)
        tables.append((name, confusion))
    for name, confusion in tables:
        print(f"\n{name} (rows: what it is; columns: what was read)\n")
        print("|   | " + " | ".join(map(str, range(10))) + " |\n|" + " --- |" * 11)
        for digit, row in enumerate(confusion):
            print(f"| **{digit}** | " + " | ".join(str(n) if n else "·" for n in row) + " |")
    tensor = np.full((1, 1, 64, 64), 0.5, np.float32)
    request = reader.model.create_infer_request()
    times = []
    for _ in range(2000):
        start = time.perf_counter()
        request.infer({0: tensor}, share_inputs=True, share_outputs=True)
        times.append(time.perf_counter() - start)
    print(f"\none inference, one thread, through Python: median {1e3 * np.median(times):.3f} ms")


if __name__ == "__main__":
    main()
