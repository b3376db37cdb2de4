"""Writes sets of embeddings for teachbench: NAME.npy (float32, [pictures, numbers]) and NAME.txt (the class of each).

usage: sets.py FOLDER [OCELLI EMBEDDER PICTURES]

- digits: scikit-learn's digits, 64 grey levels each, ten classes.
- drawn-apart, drawn-close, drawn-overlapping: 20 classes of normally distributed vectors of 128 numbers.
- drawn-shapes: ten classes, each of two clusters.
- photos: parts of photographs, cut out at random and turned, embedded by EMBEDDER in OCELLI: the class is the photograph.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np


def save(folder, name, rows, labels):
    np.save(folder / (name + ".npy"), np.ascontiguousarray(rows, np.float32))
    (folder / (name + ".txt")).write_text("\n".join(labels) + "\n")


def drawn(random, classes, each, dimension, spread, clusters=1):
    centres = random.normal(0, 1, (classes, clusters, dimension)) + 1
    labels = np.repeat(np.arange(classes), each)
    rows = centres[labels, random.integers(0, clusters, len(labels))] + spread * random.normal(0, 1, (len(labels), dimension))
    return rows, [f"class {label:02}" for label in labels]


def photos(folder, program, embedder, pictures):
    import json
    from PIL import Image

    random = np.random.default_rng(32)
    rows, labels = [], []
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(pathlib.Path(pictures).glob("*.jpg")) + sorted(pathlib.Path(pictures).glob("*.png")):
            with Image.open(path) as image:
                image = image.convert("RGB")
            image.thumbnail((640, 640))
            if min(image.size) < 160:
                continue
            for number in range(60):
                side = int(min(image.size) * random.uniform(0.45, 0.8))
                left, top = (int(random.integers(0, size - side + 1)) for size in image.size)
                part = image.crop((left, top, left + side, top + side)).resize((224, 224)).rotate(random.uniform(-20, 20))
                part.save(f"{work}/{path.stem}-{number:02}.jpg", quality=90)
        result = subprocess.run([program, "embed", "--model", f"e={embedder}", "--default-model", "e", "--jsonl", work],
                                capture_output=True, text=True)
        for line in result.stdout.splitlines():
            answer = json.loads(line)
            rows.append(answer["embedding"])
            labels.append(answer["file"].rsplit("/", 1)[-1].rsplit("-", 1)[0])
    if not rows:
        raise SystemExit(f"{program} embed: {result.stderr}")
    save(folder, "photos", rows, labels)


def main():
    from sklearn.datasets import load_digits

    folder = pathlib.Path(sys.argv[1])
    digits = load_digits()
    save(folder, "digits", digits.data, [f"digit {label}" for label in digits.target])
    random = np.random.default_rng(7)
    for name, spread in (("drawn-apart", 1.0), ("drawn-close", 2.0), ("drawn-overlapping", 3.5)):
        save(folder, name, *drawn(random, 20, 120, 128, spread))
    save(folder, "drawn-shapes", *drawn(random, 10, 120, 128, 0.6, clusters=2))
    if len(sys.argv) == 5:
        photos(folder, *sys.argv[2:])


main()
