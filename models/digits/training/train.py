"""Trains models/digits/digits.onnx from the UCI digits. One core, about ten minutes; see models/digits/README.md.

python models/digits/training/train.py [--out models/digits/digits.onnx] [--pictures 60000]
"""

import argparse
import functools
import os
import sys
import time
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import cv2
import jax
import jax.numpy as jnp
import numpy as np
import openvino

import export
import network
import render
import shapes
import strokes

SEED = 20260114
BATCH = 128


def make_pictures(fields, labels, count, rng):
    """`count` pictures, their ink and their digits; every shape is used equally often."""
    order = np.concatenate([rng.permutation(len(fields)) for _ in range(count // len(fields) + 1)])[:count]
    pictures = np.empty((count, network.SIZE, network.SIZE), np.uint8)
    inks = np.empty_like(pictures)
    for row, chosen in enumerate(order):
        pictures[row], inks[row] = render.training_picture(fields[chosen], rng)
    return pictures, inks, np.asarray(labels)[order]


def stroke_shapes(designs, count, rng):
    """About `count` shapes from hand-designed digits, as many of each digit."""
    fields, labels = [], []
    for row in range(count):
        digit = row % 10
        design = designs[digit][(row // 10) % len(designs[digit])]
        fields.append(shapes.stroke_fields(strokes.draw(design, rng, 0.035)))
        labels.append(digit)
    return fields, labels


def augmented(key, picture):
    """To floats, and some of them to their negative."""
    picture = picture.astype(jnp.float32) / 255
    return jnp.where(jax.random.bernoulli(key, 0.3, (picture.shape[0], 1, 1)), 1 - picture, picture)


def find_loss(weights, key, picture, ink):
    """Cross entropy for each pixel; a picture with little ink counts as much as one with a lot."""
    logits = network.find(weights, augmented(key, picture))
    ink = ink.astype(jnp.float32) / 255
    each = jnp.maximum(logits, 0) - logits * ink + jnp.log1p(jnp.exp(-jnp.abs(logits)))
    return (each.mean(axis=(1, 2)) / (ink.mean(axis=(1, 2)) + 0.03)).mean()


def read_loss(weights, key, ink, picture, label):
    """Cross entropy of the digit, with the window moved about a little and labels softened."""
    k1, k2 = jax.random.split(key)
    n = label.shape[0]
    jitter = jax.random.normal(k1, (n, 3)) * jnp.array([0.05, 0.05, 0.06])
    drop = jax.random.bernoulli(k2, 0.8, (n, network.DENSE["d1"][0])) / 0.8
    window = network.place(ink.astype(jnp.float32), picture.astype(jnp.float32) / 255, jitter)
    wanted = jax.nn.one_hot(label, 10) * 0.97 + 0.003
    return -(wanted * jax.nn.log_softmax(network.read(weights, window, drop))).sum(axis=1).mean()


@functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
def update(loss, state, key, rate, *batch):
    """One step of AdamW, and of the running average of the weights, which is what is kept."""
    weights, m, v, average, step = state
    value, slope = jax.value_and_grad(loss)(weights, key, *batch)
    size = jnp.sqrt(sum((s * s).sum() for s in jax.tree.leaves(slope)))
    slope = jax.tree.map(lambda s: s / jnp.maximum(size, 1.0), slope)
    step = step + 1
    m = jax.tree.map(lambda m, s: 0.9 * m + 0.1 * s, m, slope)
    v = jax.tree.map(lambda v, s: 0.999 * v + 0.001 * s * s, v, slope)
    fix = jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    weights = jax.tree.map(
        lambda w, m, v: w * (1 - 2e-3 * rate * (w.ndim > 1)) - rate * fix * m / (jnp.sqrt(v) + 1e-8), weights, m, v
    )
    decay = jnp.minimum(0.998, step / (step + 10))
    average = jax.tree.map(lambda a, w: decay * a + (1 - decay) * w, average, weights)
    return (weights, m, v, average, step), value


def descend(loss, weights, data, size, steps, rng, key, report):
    """Trains `weights` on batches of `data` (arrays of equal length); the rate warms up, then falls as a cosine."""
    zeros = jax.tree.map(jnp.zeros_like, weights)
    copies = [jax.tree.map(jnp.copy, tree) for tree in (weights, zeros, zeros, weights)]
    state = (*copies, jnp.float32(0))
    order = np.empty(0, int)
    for step in range(steps):
        if len(order) < size:
            order = np.concatenate([order, rng.permutation(len(data[0]))])
        batch, order = order[:size], order[size:]
        rate = 2.5e-3 * min(1, (step + 1) / 200) * 0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-6
        key, now = jax.random.split(key)
        state, value = update(loss, state, now, rate, *(part[batch] for part in data))
        if (step + 1) % 250 == 0:
            report(step + 1, float(value), state[3])
    return state[3]


@jax.jit
def ink_of(weights, picture):
    return jax.nn.sigmoid(network.find(weights, picture.astype(jnp.float32) / 255)).astype(jnp.float16)


@jax.jit
def digit_of(weights, ink, picture):
    window = network.place(ink.astype(jnp.float32), picture.astype(jnp.float32) / 255)
    return network.read(weights, window).argmax(axis=1)


def in_batches(function, weights, *data, size=256):
    parts = (tuple(one[at : at + size] for one in data) for at in range(0, len(data[0]), size))
    return np.concatenate([np.asarray(function(weights, *part)) for part in parts])


def agreement(weights, path, pictures):
    """The largest difference between the exported graph's scores under OpenVINO and the trained network's."""
    model = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    pictures = pictures.astype(np.float32) / 255
    theirs = np.concatenate([next(iter(model(p[None, None]).values())) for p in pictures])
    return np.abs(theirs - np.asarray(jax.jit(network.probabilities)(weights, pictures))).max()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[3]
    parser.add_argument("--out", type=Path, default=root / "models/digits/digits.onnx")
    parser.add_argument("--pictures", type=int, default=60_000)
    parser.add_argument("--find-steps", type=int, default=1600)
    parser.add_argument("--read-steps", type=int, default=3500)
    parser.add_argument("--strokes", type=float, default=0.3, help="how much of the pictures is hand-designed strokes")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    rng = np.random.default_rng(SEED)
    started = time.monotonic()

    split = shapes.load_split(SEED)
    fields = shapes.shape_fields(*split["train"])
    own = int(options.pictures * options.strokes)
    made = make_pictures(fields, split["train"][1], options.pictures - own, rng)
    if own:
        drawn = make_pictures(*stroke_shapes(strokes.TRAINING, 2000, rng), own, rng)
        made = tuple(np.concatenate(pair) for pair in zip(made, drawn))
    pictures, inks, labels = made
    check = make_pictures(
        shapes.shape_fields(*split["validation"]), split["validation"][1], 1800, np.random.default_rng(1)
    )
    print(f"{len(labels)} pictures made, {time.monotonic() - started:.0f} s", flush=True)

    weights = network.initial(SEED)
    print(sum(w.size for w in weights.values()), "parameters")
    finder = {name: w for name, w in weights.items() if name.split(".")[0] in network.FIND}
    reader = {name: w for name, w in weights.items() if name not in finder}
    key = jax.random.key(SEED)

    def said(step, value, _):
        print(f"find, step {step}: loss {value:.4f}, {time.monotonic() - started:.0f} s", flush=True)

    finder = descend(find_loss, finder, (pictures, inks), 64, options.find_steps, rng, key, said)
    found = in_batches(ink_of, finder, pictures)
    check_found = in_batches(ink_of, finder, check[0])

    def reported(step, value, weights):
        right = (in_batches(digit_of, weights, check_found, check[0]) == check[2]).mean()
        passed = time.monotonic() - started
        print(f"read, step {step}: loss {value:.4f}, validation {right:.4f}, {passed:.0f} s", flush=True)

    reader = descend(
        read_loss, reader, (found, pictures, labels), 128, options.read_steps, rng, jax.random.key(SEED + 1), reported
    )
    weights = finder | reader
    options.out.parent.mkdir(parents=True, exist_ok=True)
    export.save(weights, options.out)
    worst = agreement(weights, options.out, check[0][:512])
    print(f"OpenVINO's scores differ from the training's by at most {worst:.1e}")
    if worst > 1e-4:
        sys.exit("the exported graph does not compute what was trained")
    print(f"{options.out}: {options.out.stat().st_size} bytes, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
