"""ML Programs: small networks of the usual kinds, as coremltools writes them; classifiers, images, open shapes, states of files."""

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import get_new_symbol
from scipy import special

from . import keras_loops
from .program_cases import IOS16, IOS18, case, integers, normal, uniform
from .program_oracles import bilinear, convolve, same, sigmoid


class Weights:
    """Numbers for layers in the order in which they are asked for: the builder and numpy see the same ones."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)

    def kernel(self, *shape):
        return (self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    def line(self, count, low=-0.2, high=0.2):
        return self.random.uniform(low, high, count).astype(np.float32)

    def norm(self, count):
        return {"mean": self.line(count), "variance": self.line(count, 0.5, 1.5), "gamma": self.line(count, 0.5, 1.5), "beta": self.line(count)}


class Builder:
    """Layers as operations of a program."""

    def conv(self, x, w, b=None, strides=(1, 1), groups=1):
        return mb.conv(x=x, weight=w, bias=b, strides=strides, pad_type="same", groups=groups)

    def norm(self, x, p):
        return mb.batch_norm(x=x, epsilon=1e-3, **p)

    def relu(self, x):
        return mb.relu(x=x)

    def relu6(self, x):
        return mb.relu6(x=x)

    def silu(self, x):
        return mb.silu(x=x)

    def hard_swish(self, x):
        return mb.mul(x=x, y=mb.sigmoid_hard(x=x, alpha=1 / 6, beta=0.5))

    def add(self, x, y):
        return mb.add(x=x, y=y)

    def mul(self, x, y):
        return mb.mul(x=x, y=y)

    def mean(self, x):
        return mb.reduce_mean(x=x, axes=[2, 3], keep_dims=True)

    def pool(self, x):
        return mb.max_pool(x=x, kernel_sizes=[3, 3], strides=[2, 2], pad_type="same")

    def sigmoid(self, x):
        return mb.sigmoid(x=x)

    def flat(self, x):
        return mb.reshape(x=x, shape=[1, -1])

    def linear(self, x, w, b):
        return mb.linear(x=x, weight=w, bias=b)

    def softmax(self, x):
        return mb.softmax(x=x, axis=-1)

    def double(self, x):
        return mb.upsample_nearest_neighbor(x=x, scale_factor_height=2.0, scale_factor_width=2.0)

    def bilinear(self, x):
        return mb.upsample_bilinear(x=x, scale_factor_height=2.0, scale_factor_width=2.0, align_corners=False)

    def concat(self, *values):
        return mb.concat(values=values, axis=1)


class Numpy:
    """The same layers with numpy."""

    def conv(self, x, w, b=None, strides=(1, 1), groups=1):
        before, after = same(x.shape[2:], w.shape[2:], strides, [1, 1])
        return convolve(x, w, b, list(strides), before=before, after=after, groups=groups)

    def norm(self, x, p):
        at = lambda v: v[None, :, None, None].astype(np.float64)
        return (x - at(p["mean"])) / np.sqrt(at(p["variance"]) + 1e-3) * at(p["gamma"]) + at(p["beta"])

    def relu(self, x):
        return np.maximum(x, 0)

    def relu6(self, x):
        return np.clip(x, 0, 6)

    def silu(self, x):
        return x * sigmoid(x)

    def hard_swish(self, x):
        return x * np.clip(x / 6 + 0.5, 0, 1)

    def add(self, x, y):
        return x + y

    def mul(self, x, y):
        return x * y

    def mean(self, x):
        return x.mean((2, 3), keepdims=True)

    def pool(self, x):
        before, after = same(x.shape[2:], [3, 3], [2, 2], [1, 1])
        padded = np.pad(x, [(0, 0), (0, 0)] + list(zip(before, after)), constant_values=-np.inf)
        return np.lib.stride_tricks.sliding_window_view(padded, [3, 3], (2, 3))[:, :, ::2, ::2].max((-1, -2))

    def sigmoid(self, x):
        return sigmoid(x)

    def flat(self, x):
        return x.reshape(1, -1)

    def linear(self, x, w, b):
        return x @ w.T + b

    def softmax(self, x):
        return special.softmax(x, -1)

    def double(self, x):
        return np.repeat(np.repeat(x, 2, 2), 2, 3)

    def bilinear(self, x):
        return bilinear(x, 2 * x.shape[2], 2 * x.shape[3], "UNALIGN_CORNERS")

    def concat(self, *values):
        return np.concatenate(values, 1)


def network(name, inputs, layers, **options):
    """A network that `layers(tools, weights, **inputs)` makes, with either set of tools."""
    case(name, inputs, lambda **x: layers(Builder(), Weights(1), **x), lambda **x: layers(Numpy(), Weights(1), **x), whole=True, **options)


def mobile(t, w, image):
    """Inverted bottlenecks with squeeze and excitation, as in MobileNetV3."""
    x = t.hard_swish(t.norm(t.conv(image, w.kernel(8, 3, 3, 3), strides=(2, 2)), w.norm(8)))
    for wide, out, stride in [(16, 8, 1), (24, 12, 2)]:
        inner = t.relu6(t.norm(t.conv(x, w.kernel(wide, 8, 1, 1)), w.norm(wide)))
        inner = t.norm(t.conv(inner, w.kernel(wide, 1, 3, 3), strides=(stride, stride), groups=wide), w.norm(wide))
        gate = t.relu(t.conv(t.mean(inner), w.kernel(4, wide, 1, 1), w.line(4)))
        gate = t.sigmoid(t.conv(gate, w.kernel(wide, 4, 1, 1), w.line(wide)))
        inner = t.norm(t.conv(t.mul(inner, gate), w.kernel(out, wide, 1, 1)), w.norm(out))
        x = t.add(x, inner) if stride == 1 else inner
    return {"probabilities": t.softmax(t.linear(t.flat(t.mean(x)), w.kernel(5, 12), w.line(5)))}


def residual(t, w, image):
    x = t.pool(t.relu(t.norm(t.conv(image, w.kernel(8, 3, 5, 5), strides=(2, 2)), w.norm(8))))
    for out, stride in [(8, 1), (12, 2)]:
        inner = t.relu(t.norm(t.conv(x, w.kernel(out, 8, 3, 3), strides=(stride, stride)), w.norm(out)))
        inner = t.norm(t.conv(inner, w.kernel(out, out, 3, 3)), w.norm(out))
        side = x if stride == 1 else t.norm(t.conv(x, w.kernel(out, 8, 1, 1), strides=(stride, stride)), w.norm(out))
        x = t.relu(t.add(side, inner))
    return {"scores": t.linear(t.flat(t.mean(x)), w.kernel(6, 12), w.line(6))}


def detector(t, w, image):
    """A pyramid of two scales, with heads whose boxes are decoded."""
    large = t.silu(t.norm(t.conv(image, w.kernel(8, 3, 3, 3), strides=(2, 2)), w.norm(8)))
    small = t.silu(t.norm(t.conv(large, w.kernel(12, 8, 3, 3), strides=(2, 2)), w.norm(12)))
    joined = t.silu(t.conv(t.concat(t.double(small), large), w.kernel(8, 20, 3, 3), w.line(8)))
    heads = [t.conv(joined, w.kernel(7, 8, 1, 1), w.line(7)), t.conv(small, w.kernel(7, 12, 1, 1), w.line(7))]
    smooth = t.bilinear(small)
    return {"large": t.sigmoid(heads[0]), "small": t.sigmoid(heads[1]), "smooth": smooth}


def networks():
    image = uniform(1, 3, 24, 20, low=-1)
    network("network_mobile", {"image": image}, mobile)
    network("network_mobile_half", {"image": image}, mobile, half=True)
    network("network_residual", {"image": image}, residual)
    network("network_detector", {"image": image}, detector, opset=IOS16)


def decoded_boxes():
    """The end of a detector: boxes from a grid of cells, and the best of them."""
    raw = normal(1, 7, 4, 5)
    anchors = np.stack(np.meshgrid(np.arange(5), np.arange(4)), -1).reshape(1, 20, 2).astype(np.float32)

    def build(raw):
        cells = mb.transpose(x=mb.reshape(x=raw, shape=[1, 7, 20]), perm=[0, 2, 1])
        boxes, scores = mb.split(x=cells, split_sizes=[4, 3], axis=-1)
        centers, sizes = mb.split(x=boxes, num_splits=2, axis=2)
        centers = mb.mul(x=mb.add(x=mb.sub(x=mb.mul(x=mb.sigmoid(x=centers), y=2.0), y=0.5), y=anchors), y=8.0)
        sizes = mb.mul(x=mb.exp(x=sizes), y=np.float32([[[10.0, 14.0]]]))
        half = mb.real_div(x=sizes, y=2.0)
        corners = mb.concat(values=[mb.sub(x=centers, y=half), mb.add(x=centers, y=half)], axis=2)
        best, kind = mb.reduce_max(x=mb.sigmoid(x=scores), axes=[-1]), mb.reduce_argmax(x=scores, axis=-1)
        values, places = mb.topk(x=best, k=5, axis=1)
        return {"best": values, "kind": mb.gather_along_axis(x=kind, indices=places, axis=1), "boxes": mb.gather(x=mb.squeeze(x=corners, axes=[0]), indices=mb.squeeze(x=places, axes=[0]), axis=0)}

    def expect(raw):
        cells = raw.reshape(7, 20).T.astype(np.float64)
        centers, sizes, scores = (sigmoid(cells[:, :2]) * 2 - 0.5 + anchors[0]) * 8, np.exp(cells[:, 2:4]) * [10, 14], cells[:, 4:]
        corners = np.concatenate([centers - sizes / 2, centers + sizes / 2], 1)
        best = sigmoid(scores).max(1)
        order = np.argsort(-best)[:5]
        return {"best": best[order][None], "kind": scores.argmax(1)[order][None], "boxes": corners[order]}

    case("network_boxes", {"raw": raw}, build, expect, whole=True)


def transformer():
    words, size, heads = integers(1, 7, low=0, high=20), 16, 4
    w = Weights(3)
    table, places = w.kernel(20, size) * 4, w.kernel(7, size)
    q, k, v, o = (w.kernel(size, size) for _ in range(4))
    up, down, out = w.kernel(32, size), w.kernel(size, 32), w.kernel(3, size)
    lines = [w.line(n) for n in (size, size, size, size, 32, size, 3)]
    norms = [(w.line(size, 0.5, 1.5), w.line(size)) for _ in range(2)]

    def layers(x, linear, norm, split, attend, join, gelu, add, first):
        x = norm(x, *norms[0])
        a = attend(*(split(linear(x, m, b)) for m, b in zip((q, k, v), lines)))
        x = norm(add(x, linear(join(a), o, lines[3])), *norms[1])
        x = add(x, linear(gelu(linear(x, up, lines[4])), down, lines[5]))
        return linear(first(x), out, lines[6])

    def build(fused):
        def attend(q, k, v):
            if fused:
                return mb.scaled_dot_product_attention(query=q, key=k, value=v)
            weights = mb.softmax(x=mb.matmul(x=mb.mul(x=q, y=np.float32(0.5)), y=k, transpose_y=True), axis=-1)
            return mb.matmul(x=weights, y=v)

        def program(words):
            x = mb.add(x=mb.gather(x=table, indices=words, axis=0), y=places[None])
            split = lambda t: mb.transpose(x=mb.reshape(x=t, shape=[1, 7, heads, size // heads]), perm=[0, 2, 1, 3])
            return {"scores": mb.softmax(x=layers(
                x, lambda t, m, b: mb.linear(x=t, weight=m, bias=b), lambda t, g, b: mb.layer_norm(x=t, axes=[-1], gamma=g, beta=b, epsilon=1e-5),
                split, attend, lambda t: mb.reshape(x=mb.transpose(x=t, perm=[0, 2, 1, 3]), shape=[1, 7, size]), lambda t: mb.gelu(x=t, mode="EXACT"),
                lambda a, b: mb.add(x=a, y=b), lambda t: mb.slice_by_index(x=t, begin=[0, 0, 0], end=[1, 1, size], squeeze_mask=[False, True, False])))}

        return program

    def expect(words):
        norm = lambda t, g, b: (t - t.mean(-1, keepdims=True)) / np.sqrt(t.var(-1, keepdims=True) + 1e-5) * g + b
        split = lambda t: t.reshape(1, 7, heads, size // heads).transpose(0, 2, 1, 3)
        attend = lambda q, k, v: special.softmax(q @ k.swapaxes(-1, -2) / 2, -1) @ v
        x = table[words].astype(np.float64) + places
        return {"scores": special.softmax(layers(
            x, lambda t, m, b: t @ m.T + b, norm, split, attend, lambda t: t.transpose(0, 2, 1, 3).reshape(1, 7, size),
            lambda t: 0.5 * t * (1 + special.erf(t / np.sqrt(2))), np.add, lambda t: t[:, 0]), -1)}

    case("network_transformer", {"words": words}, build(False), expect, whole=True)
    case("network_transformer_ios18", {"words": words}, build(True), expect, whole=True, opset=IOS18, half=True)


def open_shapes():
    """Extents that the program leaves open, with the shape computed while it runs; the description has a default."""
    x = normal(2, 3, 5)

    def build(x):
        shape = mb.shape(x=x)
        count = mb.gather(x=shape, indices=0, axis=0)
        flat = mb.reshape(x=x, shape=mb.concat(values=[mb.expand_dims(x=count, axes=[0]), np.int32([-1])], axis=0))
        tail = mb.slice_by_index(x=shape, begin=[1], end=[3])
        ones = mb.fill(shape=mb.concat(values=[np.int32([1]), tail], axis=0), value=1.0)
        last = mb.gather(x=shape, indices=-1, axis=0)
        line = mb.cast(x=mb.range_1d(start=0, end=last, step=1), dtype="fp32")
        return {"flat": flat, "added": mb.add(x=mb.add(x=x, y=ones), y=line), "band": mb.band_part(x=x, lower=0, upper=-1)}

    def expect(x):
        return {"flat": x.reshape(2, -1), "added": x + 1 + np.arange(5), "band": np.triu(x)}

    case("open_shapes", {"x": x}, build, expect, whole=True, shapes={"x": (2, get_new_symbol(), get_new_symbol())},
         arguments={"inputs": [ct.TensorType(name="x", shape=ct.Shape((2, ct.RangeDim(1, 8, default=3), ct.RangeDim(1, 8, default=5))))]})

    image = normal(1, 2, 4, 6, seed=2)

    def build_image(image):
        up = mb.upsample_nearest_neighbor(x=image, scale_factor_height=2.0, scale_factor_width=2.0)
        smooth = mb.upsample_bilinear(x=image, scale_factor_height=2.0, scale_factor_width=2.0, align_corners=False)
        return {"up": up, "smooth": smooth, "mean": mb.reduce_mean(x=mb.conv(x=image, weight=np.ones((1, 2, 3, 3), np.float32), pad_type="same"), axes=[2, 3])}

    def expect_image(image):
        before, after = same([4, 6], [3, 3], [1, 1], [1, 1])
        return {"up": np.repeat(np.repeat(image, 2, 2), 2, 3), "smooth": bilinear(image, 8, 12, "UNALIGN_CORNERS"),
                "mean": convolve(image, np.ones((1, 2, 3, 3)), before=before, after=after).mean((2, 3))}

    case("open_image", {"image": image}, build_image, expect_image, whole=True, shapes={"image": (1, 2, get_new_symbol(), get_new_symbol())},
         arguments={"inputs": [ct.TensorType(name="image", shape=ct.EnumeratedShapes([(1, 2, 4, 6), (1, 2, 8, 8)], default=(1, 2, 4, 6)))]})


def classifiers():
    """Labels of texts and of numbers; pictures whose scale and bias are operations of the program."""
    image = integers(1, 3, 6, 5, low=0, high=256).astype(np.float32)
    weight, bias = normal(4, 3, seed=2, scale=0.01), normal(4, seed=3)
    texts, numbers = ["cat", "dog", "äpfel & <birnen>", "a,b"], [7, -3, 1000000007, 0]

    def build(image):
        scaled = mb.add(x=mb.mul(x=image, y=np.float32(1 / 127.5)), y=np.float32([-1.0, -0.9, -1.1]).reshape(1, 3, 1, 1))
        means = mb.reduce_mean(x=scaled, axes=[2, 3])
        return {"scores": mb.softmax(x=mb.linear(x=means, weight=weight, bias=bias), axis=-1)}

    def scores(image):
        means = (image / 127.5 + np.float32([-1.0, -0.9, -1.1]).reshape(1, 3, 1, 1)).mean((2, 3))
        return special.softmax(means @ weight.T + bias, -1)[0]

    for name, labels in [("classifier_texts", texts), ("classifier_numbers", numbers)]:
        def expect(image, labels=labels):
            found = scores(image)
            return {"classLabel": labels[int(found.argmax())], "classLabel_probs": {str(label): float(p) for label, p in zip(labels, found)}}

        case(name, {"image": image}, build, expect, whole=True, arguments={"classifier_config": ct.ClassifierConfig(labels)})

    case("picture", {"image": image}, build, lambda image: {"scores": scores(image)[None]}, whole=True,
         arguments={"inputs": [ct.ImageType(name="image", shape=(1, 3, 6, 5), color_layout=ct.colorlayout.BGR)]})


def control():
    """Loops whose rounds are known, lists of tensors, conditions."""
    x, weight, start = normal(5, 2, 3), normal(3, 3, seed=2, scale=0.5), normal(2, 3, seed=3)

    def build(x, start):
        steps = mb.make_list(init_length=5, elem_shape=[2, 3], dtype="fp32")
        steps = mb.list_scatter(ls=steps, indices=np.arange(5, dtype=np.int32), value=x)
        found = mb.make_list(init_length=1, elem_shape=[2, 3], dtype="fp32", dynamic_length=True)

        def goes_on(i, state, found):
            return mb.less(x=i, y=mb.list_length(ls=steps))

        def step(i, state, found):
            state = mb.tanh(x=mb.add(x=mb.list_read(ls=steps, index=i), y=mb.linear(x=state, weight=weight)))
            return mb.add(x=i, y=1), state, mb.list_write(ls=found, index=i, value=state)

        _, state, found = mb.while_loop(_cond=goes_on, _body=step, loop_vars=(0, start, found))
        return {"last": state, "all": mb.list_gather(ls=found, indices=np.arange(5, dtype=np.int32))}

    def expect(x, start):
        states = []
        for step in x:
            start = np.tanh(step + start @ weight.T)
            states.append(start)
        return {"last": start, "all": np.stack(states)}

    case("while_loop", {"x": x, "start": start}, build, expect)

    for whole in (False, True):
        case(f"while_loop_lstm_{'states' if whole else 'last'}", {"x": keras_loops.X}, lambda x: keras_loops.build(x, whole),
             lambda x: keras_loops.expect(x, whole))

    # Values that a round only hands on, and places that are counted down.
    def build_handed_on(x, y):
        found = mb.make_list(init_length=6, elem_shape=[2, 3], dtype="fp32")

        def goes_on(i, a, b, before, found):
            return mb.less(x=i, y=5)

        def step(i, a, b, before, found):
            return mb.add(x=i, y=1), b, a, mb.add(x=a, y=before), mb.list_write(ls=found, index=mb.sub(x=5, y=i), value=a)

        i, a, b, before, found = mb.while_loop(_cond=goes_on, _body=step, loop_vars=(np.int32(0), x, y, x, found))
        return {"i": mb.expand_dims(x=mb.cast(x=i, dtype="fp32"), axes=[0]), "a": mb.identity(x=a), "b": b, "before": before,
                "all": mb.list_gather(ls=found, indices=np.arange(6, dtype=np.int32))}

    def expect_handed_on(x, y):
        a, b, before, found = x, y, x, np.zeros((6, 2, 3), np.float32)
        for i in range(5):
            found[5 - i] = a
            a, b, before = b, a, a + before
        return {"i": np.float32([5]), "a": a, "b": b, "before": before, "all": found}

    case("while_loop_handed_on", {"x": normal(2, 3, seed=41), "y": normal(2, 3, seed=42)}, build_handed_on, expect_handed_on)

    # A loop in a loop: the inner one has as many rounds in every round of the outer one.
    def build_nested(x):
        def inner(j, state):
            return mb.add(x=j, y=2), mb.tanh(x=mb.add(x=state, y=x))

        def outer(i, state):
            _, state = mb.while_loop(_cond=lambda j, state: mb.less(x=j, y=6), _body=inner, loop_vars=(np.int32(0), state))
            return mb.add(x=i, y=1), mb.mul(x=state, y=0.5)

        _, state = mb.while_loop(_cond=lambda i, state: mb.less(x=i, y=4), _body=outer, loop_vars=(np.int32(0), x))
        return {"answer": state}

    def expect_nested(x):
        state = x
        for _ in range(4):
            for _ in range(3):
                state = np.tanh(state + x)
            state = state * 0.5
        return {"answer": state}

    case("while_loop_nested", {"x": normal(2, 3, seed=43)}, build_nested, expect_nested)

    # A list that a loop in a round writes whole.
    def build_nested_list(x):
        found = mb.make_list(init_length=3, elem_shape=[2, 3], dtype="fp32")

        def inner(j, state, found):
            state = mb.tanh(x=mb.add(x=state, y=x))
            return mb.add(x=j, y=1), state, mb.list_write(ls=found, index=j, value=state)

        def outer(i, state, found):
            _, state, found = mb.while_loop(_cond=lambda j, state, found: mb.less(x=j, y=3), _body=inner,
                                            loop_vars=(np.int32(0), state, found))
            return mb.add(x=i, y=1), mb.mul(x=state, y=0.5), found

        _, _, found = mb.while_loop(_cond=lambda i, state, found: mb.less(x=i, y=4), _body=outer, loop_vars=(np.int32(0), x, found))
        return {"all": mb.list_gather(ls=found, indices=np.arange(3, dtype=np.int32))}

    def expect_nested_list(x):
        state = x
        for _ in range(4):
            found = []
            for _ in range(3):
                state = np.tanh(state + x)
                found.append(state)
            state = state * 0.5
        return {"all": np.stack(found)}

    case("while_loop_nested_list", {"x": normal(2, 3, seed=44)}, build_nested_list, expect_nested_list)

    # Lists that change their names from round to round, one of them written; and one that each round makes.
    def build_exchanged_lists(x):
        def filled(value):
            return mb.list_scatter(ls=mb.make_list(init_length=3, elem_shape=[2, 3], dtype="fp32"),
                                   indices=np.arange(3, dtype=np.int32), value=value)

        def step(i, a, b, c, d, made):
            new = mb.list_write(ls=mb.make_list(init_length=3, elem_shape=[2, 3], dtype="fp32"), index=1,
                                value=mb.mul(x=x, y=mb.cast(x=i, dtype="fp32")))
            return mb.add(x=i, y=1), b, a, d, mb.list_write(ls=c, index=i, value=mb.sub(x=x, y=mb.cast(x=i, dtype="fp32"))), new

        stack = mb.stack(values=[x, mb.add(x=x, y=1.0), mb.add(x=x, y=2.0)], axis=0)
        more = mb.add(x=stack, y=10.0)
        _, *lists = mb.while_loop(
            _cond=lambda i, *lists: mb.less(x=i, y=3), _body=step,
            loop_vars=(np.int32(0), filled(stack), filled(more), filled(stack), filled(more), filled(stack)))
        return {name: mb.list_gather(ls=found, indices=np.arange(3, dtype=np.int32))
                for name, found in zip(["a", "b", "c", "d", "made"], lists)}

    def expect_exchanged_lists(x):
        stack = np.stack([x, x + 1, x + 2])
        a, b, c, d, made = stack, stack + 10, stack.copy(), stack + 10, stack
        for i in range(3):
            c[i] = x - i
            a, b, c, d, made = b, a, d, c, np.stack([x * 0, x * i, x * 0])
        return {"a": a, "b": b, "c": c, "d": d, "made": made}

    case("while_loop_exchanged_lists", {"x": normal(2, 3, seed=45)}, build_exchanged_lists, expect_exchanged_lists)

    # A list that grows: its length ends the loop, and says where each round writes.
    def build_growing_list(x):
        found = mb.make_list(init_length=1, elem_shape=[2, 3], dtype="fp32", dynamic_length=True)

        def step(found, state):
            state = mb.mul(x=state, y=2.0)
            return mb.list_write(ls=found, index=mb.list_length(ls=found), value=state), state

        found, _ = mb.while_loop(_cond=lambda found, state: mb.less(x=mb.list_length(ls=found), y=4), _body=step, loop_vars=(found, x))
        return {"all": mb.list_gather(ls=found, indices=np.arange(4, dtype=np.int32))}

    case("while_loop_growing_list", {"x": normal(2, 3, seed=46)}, build_growing_list,
         lambda x: {"all": np.stack([x * 0, x * 2, x * 4, x * 8])})

    # The same behind a counter, which ends the loop.
    def build_counted_list(x):
        found = mb.make_list(init_length=1, elem_shape=[2, 3], dtype="fp32", dynamic_length=True)

        def step(i, found, state):
            state = mb.mul(x=state, y=2.0)
            return mb.add(x=i, y=1), mb.list_write(ls=found, index=mb.list_length(ls=found), value=state), state

        _, found, _ = mb.while_loop(_cond=lambda i, found, state: mb.less(x=i, y=3), _body=step, loop_vars=(np.int32(0), found, x))
        return {"all": mb.list_gather(ls=found, indices=np.arange(4, dtype=np.int32))}

    case("while_loop_counted_list", {"x": normal(2, 3, seed=47)}, build_counted_list,
         lambda x: {"all": np.stack([x * 0, x * 2, x * 4, x * 8])})

    for name, number in [("cond_positive", 2.0), ("cond_negative", -2.0)]:
        given = np.full((2, 3), number, np.float32)

        def build_cond(given):
            positive = mb.greater(x=mb.reduce_sum(x=given), y=0.0)
            return {"chosen": mb.cond(pred=positive, _true_fn=lambda: mb.mul(x=given, y=3.0), _false_fn=lambda: mb.add(x=given, y=10.0))}

        case(name, {"given": given}, build_cond, lambda given: {"chosen": np.where(given.sum() > 0, given * 3, given + 10)})


FAMILIES = [classifiers, networks, control, decoded_boxes, transformer, open_shapes]
