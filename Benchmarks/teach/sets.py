"""Writes sets of embeddings for teachbench: NAME.npy (float32, [pictures, numbers]) and NAME.txt (the class of each).

usage: sets.py FOLDER [OCELLI DATA]

- digits: scikit-learn's digits, 64 grey levels each, ten classes.
- drawn-apart, drawn-close, drawn-overlapping: 20 classes of normally distributed vectors of 128 numbers.
- drawn-shapes: ten classes, each of two clusters.
- photos-mobilenet, photos-timm, photos-vit: parts of photographs of DATA, cut out at random and turned, embedded in OCELLI by
  things/embedder.tflite (1,024 numbers) and by the models of import/timm_convnext and import/vit (means of pixels: 4 and 7 numbers): the class is
  the photograph.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

# Many more than are taught: the accuracy on the others is then near the true one, which the interval is for.
PARTS = 200
# The model file, and its input in model.json.
EMBEDDERS = {
    "mobilenet": ("things/embedder.tflite", {"name": "images"}),
    "timm": ("import/timm_convnext/model.onnx", {
        "name": "pixel_values", "layout": "NCHW", "resampler": "bicubic", "resize_shorter_side": 256,
        "normalize": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}}),
    "vit": ("import/vit/model.onnx", {
        "name": "pixel_values", "layout": "NCHW", "crop_and_scale": "fill", "normalize": {"mean": [0.5] * 3, "std": [0.5] * 3}}),
}


def save(folder, name, rows, labels):
    np.save(folder / (name + ".npy"), np.ascontiguousarray(rows, np.float32))
    (folder / (name + ".txt")).write_text("\n".join(labels) + "\n")


def drawn(random, classes, each, dimension, spread, clusters=1):
    centres = random.normal(0, 1, (classes, clusters, dimension)) + 1
    labels = np.repeat(np.arange(classes), each)
    rows = centres[labels, random.integers(0, clusters, len(labels))] + spread * random.normal(0, 1, (len(labels), dimension))
    return rows, [f"class {label:02}" for label in labels]


def bundle(models, name, file, image):
    """A model of DATA that says in its model.json that its output is an embedding."""
    folder = models / name
    folder.mkdir(parents=True)
    shutil.copy(file, folder)
    output = {"name": "logits" if file.suffix == ".onnx" else "vector", "type": "embedding"}
    (folder / "model.json").write_text(json.dumps({
        "name": name, "id": name, "version": "1", "model": {"file": file.name},
        "inputs": [{"type": "image", "shape": [224, 224, 3], "format": "RGB", **image}], "outputs": [output]}))


def parts(data, folder):
    from PIL import Image

    random = np.random.default_rng(32)
    # One photograph of each: copies that are turned or smaller are the same class.
    for path in sorted([*(data / "images").iterdir(), *(data / "things/pictures").iterdir()]):
        if path.suffix not in (".jpg", ".png") or any(word in path.stem for word in ("exif", "blobs", "720p")):
            continue
        with Image.open(path) as image:
            image = image.convert("RGB")
        image.thumbnail((640, 640))
        if min(image.size) < 160:
            continue
        for number in range(PARTS):
            side = int(min(image.size) * random.uniform(0.45, 0.8))
            left, top = (int(random.integers(0, size - side + 1)) for size in image.size)
            part = image.crop((left, top, left + side, top + side)).resize((224, 224)).rotate(random.uniform(-20, 20))
            part.save(f"{folder}/{path.stem}-{number:03}.jpg", quality=90)


def photos(folder, program, data):
    with tempfile.TemporaryDirectory() as work:
        models, pictures = pathlib.Path(work, "models"), pathlib.Path(work, "pictures")
        pictures.mkdir()
        parts(data, pictures)
        for name, (file, image) in EMBEDDERS.items():
            bundle(models, name, data / file, image)
        for name in EMBEDDERS:
            result = subprocess.run([program, "embed", "--models", models, "--model", name, "--jsonl", pictures],
                                    capture_output=True, text=True)
            answers = [json.loads(line) for line in result.stdout.splitlines()]
            if result.returncode != 0 or not answers:
                raise SystemExit(f"{program} embed: {result.stderr}")
            labels = [answer["file"].rsplit("/", 1)[-1].rsplit("-", 1)[0] for answer in answers]
            save(folder, "photos-" + name, [answer["embedding"] for answer in answers], labels)


def main():
    from sklearn.datasets import load_digits

    folder = pathlib.Path(sys.argv[1])
    digits = load_digits()
    save(folder, "digits", digits.data, [f"digit {label}" for label in digits.target])
    random = np.random.default_rng(7)
    for name, spread in (("drawn-apart", 1.0), ("drawn-close", 2.0), ("drawn-overlapping", 3.5)):
        save(folder, name, *drawn(random, 20, 400, 128, spread))
    save(folder, "drawn-shapes", *drawn(random, 10, 400, 128, 0.6, clusters=2))
    if len(sys.argv) == 4:
        photos(folder, sys.argv[2], pathlib.Path(sys.argv[3]))


main()
