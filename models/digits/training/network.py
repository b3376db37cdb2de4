"""The network: find the ink, bring it to one size and place, read it.

1. FIND   a small U-net says for each pixel of the standardised picture how likely it is ink. Standardising and training
          on both polarities make it the same for dark on light and light on dark.
2. PLACE  the ink's centre and spread give a square window, which two small matrices resample to WINDOW x WINDOW:
          where on the canvas, and how large, the digit was drawn no longer matters. The picture itself is resampled
          too, with its levels moved so that the paper about the digit is 0 and the ink 1: small digits need its detail.
3. READ   a small CNN classifies the window.

Everything is plain arithmetic, so the exported graph holds all three. Arrays are NHWC here and NCHW in the export.
`export.py` writes the same steps as ONNX: change the two together.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

SIZE = 64
WINDOW = 28
REACH = 2.3  # half the window, in standard deviations of the ink along its longer axis
FLOOR = 0.25  # likelihoods below this do not count as ink when placing the window

# name: (kernel, channels in, channels out)
FIND = {
    "f1": (3, 4, 12), "f2": (3, 12, 12), "f3": (3, 12, 20), "f4": (3, 20, 20), "f5": (3, 20, 28), "f6": (3, 28, 28),
    "f7": (3, 28, 28), "u3": (1, 28, 28), "s2": (1, 20, 20), "u2": (1, 28, 20), "m2": (3, 20, 20),
    "s1": (1, 12, 12), "u1": (1, 20, 12), "m1": (3, 12, 12), "ink": (1, 12, 4),
}  # fmt: skip
READ = {"r1": (3, 2, 16), "r2": (3, 16, 16), "r3": (3, 16, 32), "r4": (3, 32, 32), "r5": (3, 32, 48)}
DENSE = {"d1": (3 * 3 * 48, 64), "d2": (64, 10)}


def initial(seed):
    rng = np.random.default_rng(seed)
    weights = {}
    for name, (kernel, fan, out) in (FIND | READ).items():
        weights[name + ".w"] = rng.normal(0, np.sqrt(2 / (kernel * kernel * fan)), (kernel, kernel, fan, out))
        weights[name + ".b"] = np.zeros(out)
    for name, (fan, out) in DENSE.items():
        weights[name + ".w"] = rng.normal(0, np.sqrt((2 if name == "d1" else 0.5) / fan), (fan, out))
        weights[name + ".b"] = np.zeros(out)
    return {name: jnp.asarray(value, jnp.float32) for name, value in weights.items()}


def conv(weights, name, x):
    y = lax.conv_general_dilated(x, weights[name + ".w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y + weights[name + ".b"]


def pool(x):
    n, h, w, c = x.shape
    return x[:, : h // 2 * 2, : w // 2 * 2].reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def double(x):
    return x.repeat(2, axis=1).repeat(2, axis=2)


def find(weights, image):
    """[n, 64, 64], 0 to 1 -> the logit of ink for each pixel, [n, 64, 64]."""
    n = image.shape[0]
    levels = image * 255  # whole numbers, so that their mean is exact and does not depend on the order of a sum
    centred = levels - levels.mean(axis=(1, 2), keepdims=True)
    spread = jnp.sqrt((centred * centred).mean(axis=(1, 2), keepdims=True)) + 0.25
    standard = centred / spread
    x = 3 * standard / (3 + jnp.abs(standard))  # a thin line on a large canvas is many deviations away
    x = x.reshape(n, 32, 2, 32, 2).transpose(0, 1, 3, 2, 4).reshape(n, 32, 32, 4)
    a = jax.nn.relu(conv(weights, "f2", jax.nn.relu(conv(weights, "f1", x))))
    b = jax.nn.relu(conv(weights, "f4", jax.nn.relu(conv(weights, "f3", pool(a)))))
    c = jax.nn.relu(conv(weights, "f6", jax.nn.relu(conv(weights, "f5", pool(b)))))
    d = jax.nn.relu(conv(weights, "f7", pool(c)))
    c = jax.nn.relu(c + double(conv(weights, "u3", d)))
    b = jax.nn.relu(conv(weights, "m2", jax.nn.relu(conv(weights, "s2", b) + double(conv(weights, "u2", c)))))
    a = jax.nn.relu(conv(weights, "m1", jax.nn.relu(conv(weights, "s1", a) + double(conv(weights, "u1", b)))))
    y = conv(weights, "ink", a)
    return y.reshape(n, 32, 32, 2, 2).transpose(0, 1, 3, 2, 4).reshape(n, 64, 64)


def place(ink, image, jitter=None):
    """Likelihoods and picture, both [n, 64, 64] -> [n, 28, 28, 2]: the window about the ink, of each.

    `jitter` [n, 3] moves the window by parts of its half (x, y) and scales it, in training only.
    """
    at = jnp.arange(SIZE, dtype=jnp.float32)
    mass = jnp.maximum(ink - FLOOR, 0)
    rows, columns = mass.sum(axis=2), mass.sum(axis=1)
    total = rows.sum(axis=1, keepdims=True) + 1e-3
    cy, cx = (rows * at).sum(axis=1, keepdims=True) / total, (columns * at).sum(axis=1, keepdims=True) / total
    vy = (rows * (at - cy) ** 2).sum(axis=1, keepdims=True) / total
    vx = (columns * (at - cx) ** 2).sum(axis=1, keepdims=True) / total
    half = REACH * jnp.sqrt(jnp.maximum(vx, vy)) + 1.0
    if jitter is not None:
        half = half * jnp.exp(jitter[:, 2:])
        cx, cy = cx + half * jitter[:, :1], cy + half * jitter[:, 1:2]
    cx, cy, half = lax.stop_gradient((cx, cy, half))
    grid = jnp.linspace(-1, 1, WINDOW, dtype=jnp.float32)
    step = jnp.maximum(half * (2 / (WINDOW - 1)), 1)[:, :, None]  # the filter widens when shrinking: antialiased

    def matrix(centre):
        wanted = (centre + half * grid)[:, :, None]
        return jnp.maximum(1 - jnp.abs(at - wanted) / step, 0) / step

    down, across = matrix(cy), matrix(cx).transpose(0, 2, 1)
    ink, seen = down @ ink @ across, down @ image @ across
    inside = down.sum(axis=2, keepdims=True) @ across.sum(axis=1, keepdims=True)  # 0 beyond the picture's edge
    bare = inside - ink
    dark = (seen * ink).sum(axis=(1, 2), keepdims=True) / ((inside * ink).sum(axis=(1, 2), keepdims=True) + 1e-3)
    light = (seen * bare).sum(axis=(1, 2), keepdims=True) / ((inside * bare).sum(axis=(1, 2), keepdims=True) + 1e-3)
    gap = dark - light  # of either sign
    levels = (seen - light * inside) * gap / (gap * gap + 1e-4)
    return jnp.stack([ink, jnp.clip(levels, -1, 2)], axis=3)


def read(weights, window, drop=None):
    """[n, 28, 28, 2] -> the digits' logits, [n, 10]."""
    x = window
    x = pool(jax.nn.relu(conv(weights, "r2", jax.nn.relu(conv(weights, "r1", x)))))
    x = pool(jax.nn.relu(conv(weights, "r4", jax.nn.relu(conv(weights, "r3", x)))))
    x = pool(jax.nn.relu(conv(weights, "r5", x)))
    x = x.reshape(x.shape[0], -1)  # y, x, channel
    if drop is not None:
        x = x * drop
    x = jax.nn.relu(x @ weights["d1.w"] + weights["d1.b"])
    return x @ weights["d2.w"] + weights["d2.b"]


def probabilities(weights, image):
    return jax.nn.softmax(read(weights, place(jax.nn.sigmoid(find(weights, image)), image)))
