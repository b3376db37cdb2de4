"""ML Programs: Convolutions, products, normalization, pooling, reductions."""


import numpy as np
from coremltools.converters.mil import Builder as mb
from scipy import special

from .program_cases import IOS16, IOS17, case, integers, normal, uniform
from .program_oracles import convolve, deconvolve, same, windows


def convolutions():
    x1, x2, x3 = normal(1, 4, 9), normal(1, 4, 7, 6), normal(1, 2, 4, 5, 3)
    w1, w2, w3 = normal(3, 4, 3, seed=2), normal(6, 4, 3, 2, seed=3), normal(3, 2, 2, 2, 2, seed=4)
    wg, wd, b = normal(6, 2, 3, 3, seed=5), normal(4, 1, 3, 3, seed=6), normal(6, seed=7)

    def build(x1, x2, x3):
        return {
            "line": mb.conv(x=x1, weight=w1, bias=b[:3], strides=[2], pad_type="custom", pad=[1, 2]),
            "plane": mb.conv(x=x2, weight=w2, bias=b), "same_": mb.conv(x=x2, weight=w2, pad_type="same", strides=[2, 3]),
            "grouped": mb.conv(x=x2, weight=wg, bias=b, groups=2, pad_type="custom", pad=[1, 0, 2, 1]),
            "depthwise": mb.conv(x=x2, weight=wd, groups=4, pad_type="same"),
            "dilated": mb.conv(x=x2, weight=w2, dilations=[2, 3], pad_type="valid"),
            "space": mb.conv(x=x3, weight=w3, bias=b[:3], strides=[1, 2, 1], pad_type="same"),
        }

    def expect(x1, x2, x3):
        before, after = same([7, 6], [3, 2], [2, 3], [1, 1])
        deep, deep_after = same([4, 5, 3], [2, 2, 2], [1, 2, 1], [1, 1, 1])
        return {
            "line": convolve(x1, w1, b[:3], [2], before=[1], after=[2]), "plane": convolve(x2, w2, b),
            "same_": convolve(x2, w2, strides=[2, 3], before=before, after=after),
            "grouped": convolve(x2, wg, b, before=[1, 2], after=[0, 1], groups=2),
            "depthwise": convolve(x2, wd, before=[1, 1], after=[1, 1], groups=4),
            "dilated": convolve(x2, w2, dilations=[2, 3]),
            "space": convolve(x3, w3, b[:3], [1, 2, 1], before=deep, after=deep_after),
        }

    inputs = {"x1": x1, "x2": x2, "x3": x3}
    case("conv", inputs, build, expect)
    case("conv_half", inputs, build, expect, half=True)

    def build16(x2):
        return {
            "lower": mb.conv(x=x2, weight=w2, pad_type="same_lower", strides=[2, 1]),
            "given": mb.conv(x=x2, weight=mb.mul(x=mb.reduce_sum(x=x2), y=w2), bias=b),
        }

    def expect16(x2):
        before, after = same([7, 6], [3, 2], [2, 1], [1, 1], lower=True)
        return {"lower": convolve(x2, w2, strides=[2, 1], before=before, after=after), "given": convolve(x2, x2.sum() * w2, b)}

    case("conv_ios17", {"x2": x2}, build16, expect16, opset=IOS17)

    t1, t2, t3 = normal(3, 2, 3, seed=8), normal(4, 3, 3, 2, seed=9), normal(2, 2, 2, 2, 2, seed=10)
    tg = normal(4, 3, 3, 3, seed=11)
    y1, y2 = normal(1, 3, 5, seed=12), normal(1, 4, 4, 3, seed=13)

    def build_transposed(y1, y2, x3):
        return {
            "line": mb.conv_transpose(x=y1, weight=t1, strides=[2], bias=b[:2]),
            "plane": mb.conv_transpose(x=y2, weight=t2, bias=b[:3], strides=[2, 1]),
            "custom": mb.conv_transpose(x=y2, weight=t2, strides=[2, 2], pad_type="custom", pad=[1, 0, 0, 1]),
            "grouped": mb.conv_transpose(x=y2, weight=tg, groups=2, bias=b, dilations=[2, 1]),
            "same_": mb.conv_transpose(x=y2, weight=tg[:, :2], strides=[2, 2], pad_type="same", output_shape=[1, 2, 8, 6]),
            "shaped": mb.conv_transpose(x=y2, weight=tg[:, :2], strides=[2, 2], pad_type="custom", pad=[1, 1, 1, 1], output_shape=[1, 2, 8, 6]),
            "space": mb.conv_transpose(x=x3, weight=t3, strides=[1, 2, 1]),
        }

    def expect_transposed(y1, y2, x3):
        full = deconvolve(y2, tg[:, :2], strides=[2, 2])
        wide = np.pad(full, [(0, 0), (0, 0), (0, 1), (0, 1)])
        return {
            "line": deconvolve(y1, t1, b[:2], [2]), "plane": deconvolve(y2, t2, b[:3], [2, 1]),
            "custom": deconvolve(y2, t2, strides=[2, 2])[:, :, 1:, :-1],
            "grouped": deconvolve(y2, tg, b, dilations=[2, 1], groups=2),
            "same_": full[:, :, 0:8, 0:6], "shaped": wide[:, :, 1:9, 1:7],
            "space": deconvolve(x3, t3, strides=[1, 2, 1]),
        }

    case("conv_transpose", {"y1": y1, "y2": y2, "x3": x3}, build_transposed, expect_transposed)


def products():
    x, w, b = normal(2, 3, 4), normal(5, 4, seed=2), normal(5, seed=3)
    y, q = normal(2, 4, 3, seed=4), normal(3, 4, seed=6)
    n = integers(2, 3, low=-4, high=5)
    e1, e2 = normal(2, 3, 4, 5, seed=7), normal(2, 5, 4, 6, seed=8)

    def build(x, y, q, n, e1, e2):
        return {
            "linear_": mb.linear(x=x, weight=w, bias=b), "linear_plain": mb.linear(x=x, weight=w),
            "matmul_": mb.matmul(x=x, y=y), "matmul_tt": mb.matmul(x=y, y=x, transpose_x=True, transpose_y=True),
            "matmul_broadcast": mb.matmul(x=x, y=q, transpose_y=True), "matmul_const": mb.matmul(x=x, y=w, transpose_y=True),
            "matmul_int": mb.matmul(x=n, y=n, transpose_y=True),
            "einsum_4": mb.einsum(values=[e1, e2], equation="nchw,nwhu->nchu"),
            "einsum_3": mb.einsum(values=[mb.squeeze(x=mb.slice_by_index(x=e1, begin=[0, 0, 0, 0], end=[1, 3, 4, 5]), axes=[0]), mb.squeeze(x=mb.slice_by_index(x=e2, begin=[1, 0, 0, 0], end=[2, 5, 4, 6]), axes=[0])], equation="chw,whr->chr"),
        }

    def expect(x, y, q, n, e1, e2):
        return {
            "linear_": x @ w.T + b, "linear_plain": x @ w.T, "matmul_": x @ y,
            "matmul_tt": y.swapaxes(1, 2) @ x.swapaxes(1, 2), "matmul_broadcast": x @ q.T, "matmul_const": x @ w.T,
            "matmul_int": n @ n.T,
            "einsum_4": np.einsum("nchw,nwhu->nchu", e1, e2), "einsum_3": np.einsum("chw,whr->chr", e1[0], e2[1]),
        }

    case("linear", {"x": x, "y": y, "q": q, "n": n, "e1": e1, "e2": e2}, build, expect)


def normalizations():
    x, line = normal(2, 4, 3, 5, scale=2, shift=1), normal(1, 4, 6, seed=2)
    mean, variance = normal(4, seed=3), uniform(4, low=0.5, high=2, seed=4)
    gamma, beta = uniform(4, low=0.5, high=2, seed=5), normal(4, seed=6)
    g2, b2 = normal(3, 5, seed=7), normal(3, 5, seed=8)

    def build(x, line):
        return {
            "batch": mb.batch_norm(x=x, mean=mean, variance=variance, gamma=gamma, beta=beta, epsilon=1e-3),
            "batch_plain": mb.batch_norm(x=x, mean=mean, variance=variance),
            "batch_line": mb.batch_norm(x=line, mean=mean, variance=variance, gamma=gamma, beta=beta),
            "instance": mb.instance_norm(x=x, gamma=gamma, beta=beta, epsilon=1e-3), "instance_plain": mb.instance_norm(x=x),
            "instance_line": mb.instance_norm(x=line, gamma=gamma, beta=beta),
            "layer": mb.layer_norm(x=x, axes=[2, 3], gamma=g2, beta=b2, epsilon=1e-3),
            "layer_last": mb.layer_norm(x=x, axes=[-1], gamma=g2[0], beta=b2[0]), "layer_plain": mb.layer_norm(x=x, axes=[1, 2]),
            "layer_all": mb.layer_norm(x=x, axes=[0, 1, 2, 3]), "l2": mb.l2_norm(x=x, epsilon=1e-3), "l2_default": mb.l2_norm(x=x),
            "lrn": mb.local_response_norm(x=x, size=3, alpha=0.5, beta=0.6, k=2.0), "lrn_default": mb.local_response_norm(x=x, size=5),
        }

    def expect(x, line):
        at = lambda v, rank=4: v.reshape([1, -1] + [1] * (rank - 2))

        def norm(x, axes, eps):
            axes = tuple(axes)
            return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)

        def lrn(x, size, alpha, beta, k):
            out = np.zeros_like(x)
            for c in range(x.shape[1]):
                low, high = max(0, c - size // 2), min(x.shape[1], c + size // 2 + 1)
                out[:, c] = x[:, c] / (k + alpha / size * (x[:, low:high] ** 2).sum(1)) ** beta
            return out

        return {
            "batch": (x - at(mean)) / np.sqrt(at(variance) + 1e-3) * at(gamma) + at(beta),
            "batch_plain": (x - at(mean)) / np.sqrt(at(variance) + 1e-5),
            "batch_line": (line - at(mean, 3)) / np.sqrt(at(variance, 3) + 1e-5) * at(gamma, 3) + at(beta, 3),
            "instance": norm(x, [2, 3], 1e-3) * at(gamma) + at(beta), "instance_plain": norm(x, [2, 3], 1e-5),
            "instance_line": norm(line, [2], 1e-5) * at(gamma, 3) + at(beta, 3),
            "layer": norm(x, [2, 3], 1e-3) * g2 + b2, "layer_last": norm(x, [3], 1e-5) * g2[0] + b2[0],
            "layer_plain": norm(x, [1, 2], 1e-5), "layer_all": norm(x, [0, 1, 2, 3], 1e-5),
            "l2": x / np.sqrt((x**2).sum((1, 2, 3), keepdims=True) + 1e-3),
            "l2_default": x / np.sqrt((x**2).sum((1, 2, 3), keepdims=True) + 1e-6),
            "lrn": lrn(x, 3, 0.5, 0.6, 2.0), "lrn_default": lrn(x, 5, 1e-4, 0.75, 1.0),
        }

    case("normalization", {"x": x, "line": line}, build, expect)
    case("normalization_half", {"x": x, "line": line}, build, expect, half=True, opset=IOS17)


def pooling():
    line, x, space = normal(1, 2, 9), normal(1, 2, 7, 8), normal(1, 2, 4, 5, 4)

    def build(line, x, space):
        return {
            "max_": mb.max_pool(x=x, kernel_sizes=[2, 3], strides=[2, 2], pad_type="valid"),
            "max_same": mb.max_pool(x=x, kernel_sizes=[3, 3], strides=[2, 3], pad_type="same"),
            "max_custom": mb.max_pool(x=x, kernel_sizes=[3, 3], strides=[2, 2], pad_type="custom", pad=[1, 0, 1, 1]),
            "max_ceil": mb.max_pool(x=x, kernel_sizes=[2, 3], strides=[2, 2], pad_type="valid", ceil_mode=True),
            "max_ceil_pad": mb.max_pool(x=x, kernel_sizes=[2, 3], strides=[2, 3], pad_type="custom", pad=[1, 1, 1, 1], ceil_mode=True),
            "max_line": mb.max_pool(x=line, kernel_sizes=[3], strides=[2], pad_type="valid"),
            "max_space": mb.max_pool(x=space, kernel_sizes=[2, 2, 2], strides=[2, 2, 2], pad_type="same"),
            "avg_": mb.avg_pool(x=x, kernel_sizes=[2, 3], strides=[2, 2], pad_type="valid"),
            "avg_same": mb.avg_pool(x=x, kernel_sizes=[3, 3], strides=[2, 3], pad_type="same"),
            "avg_custom": mb.avg_pool(x=x, kernel_sizes=[3, 3], pad_type="custom", pad=[1, 1, 1, 0]),
            "avg_exclude": mb.avg_pool(x=x, kernel_sizes=[3, 3], pad_type="custom", pad=[1, 1, 1, 0], exclude_padding_from_average=True),
            "avg_same_exclude": mb.avg_pool(x=x, kernel_sizes=[3, 3], strides=[2, 3], pad_type="same", exclude_padding_from_average=True),
            "avg_line": mb.avg_pool(x=line, kernel_sizes=[3], strides=[2], pad_type="same"),
            "avg_space": mb.avg_pool(x=space, kernel_sizes=[2, 3, 2], pad_type="valid"),
            "avg_ceil": mb.avg_pool(x=x, kernel_sizes=[2, 2], strides=[2, 2], pad_type="valid", ceil_mode=True, exclude_padding_from_average=True),
            "avg_ceil_pad": mb.avg_pool(x=x, kernel_sizes=[3, 3], strides=[2, 2], pad_type="custom", pad=[1, 1, 1, 1], ceil_mode=True),
            "l2_": mb.l2_pool(x=x, kernel_sizes=[2, 3], strides=[2, 2], pad_type="valid"),
            "l2_same": mb.l2_pool(x=x, kernel_sizes=[3, 3], strides=[1, 2], pad_type="same"),
        }

    def expect(line, x, space):
        def pool(x, kernel, strides=None, before=None, after=None, kind="max", exclude=False):
            rank = len(kernel)
            strides, before, after = strides or [1] * rank, before or [0] * rank, after or [0] * rank
            axes = tuple(range(-rank, 0))
            one = [1] * rank
            if kind == "max":
                return windows(x, kernel, strides, one, before, after, -np.inf).max(axes)
            if kind == "l2":
                return np.sqrt(windows(x * x, kernel, strides, one, before, after).sum(axes))
            total = windows(x, kernel, strides, one, before, after).sum(axes)
            count = windows(np.ones_like(x), kernel, strides, one, before, after).sum(axes) if exclude else np.prod(kernel)
            return total / count

        before, after = same([7, 8], [3, 3], [2, 3], [1, 1])
        l2_before, l2_after = same([7, 8], [3, 3], [1, 2], [1, 1])
        deep, deep_after = same([4, 5, 4], [2, 2, 2], [2, 2, 2], [1] * 3)
        side, side_after = same([9], [3], [2], [1])
        return {
            "max_": pool(x, [2, 3], [2, 2]), "max_same": pool(x, [3, 3], [2, 3], before, after),
            "max_custom": pool(x, [3, 3], [2, 2], [1, 1], [0, 1]),
            "max_ceil": pool(x, [2, 3], [2, 2], [0, 0], [1, 1]), "max_ceil_pad": pool(x, [2, 3], [2, 3], [1, 1], [1, 2])[:, :, :4, :3],
            "max_line": pool(line, [3], [2]), "max_space": pool(space, [2, 2, 2], [2, 2, 2], deep, deep_after),
            "avg_": pool(x, [2, 3], [2, 2], kind="avg"), "avg_same": pool(x, [3, 3], [2, 3], before, after, "avg"),
            "avg_custom": pool(x, [3, 3], None, [1, 1], [1, 0], "avg"),
            "avg_exclude": pool(x, [3, 3], None, [1, 1], [1, 0], "avg", True),
            "avg_same_exclude": pool(x, [3, 3], [2, 3], before, after, "avg", True),
            "avg_line": pool(line, [3], [2], side, side_after, "avg"), "avg_space": pool(space, [2, 3, 2], kind="avg"),
            "avg_ceil": pool(x, [2, 2], [2, 2], [0, 0], [1, 0], "avg", True),
            # PyTorch's way: what a window covers beyond the padding does not count.
            "avg_ceil_pad": windows(np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)]), [3, 3], [2, 2], [1, 1], [0, 0], [0, 1]).sum((-1, -2))
            / windows(np.ones((1, 2, 9, 10)), [3, 3], [2, 2], [1, 1], [0, 0], [0, 1]).sum((-1, -2)),
            "l2_": pool(x, [2, 3], [2, 2], kind="l2"), "l2_same": pool(x, [3, 3], [1, 2], l2_before, l2_after, "l2"),
        }

    case("pooling", {"line": line, "x": x, "space": space}, build, expect)

    def build16(x):
        return {"max_lower": mb.max_pool(x=x, kernel_sizes=[2, 2], strides=[2, 3], pad_type="same_lower"),
                "avg_lower": mb.avg_pool(x=x, kernel_sizes=[2, 2], strides=[1, 1], pad_type="same_lower")}

    def expect16(x):
        b, a = same([7, 8], [2, 2], [2, 3], [1, 1], lower=True)
        c, d = same([7, 8], [2, 2], [1, 1], [1, 1], lower=True)
        return {"max_lower": windows(x, [2, 2], [2, 3], [1, 1], b, a, -np.inf).max((-1, -2)),
                "avg_lower": windows(x, [2, 2], [1, 1], [1, 1], c, d).sum((-1, -2)) / 4}

    case("pooling_ios16", {"x": x}, build16, expect16, opset=IOS16)


def reductions():
    x, p, n = normal(2, 3, 4), uniform(2, 3, 4, low=0.2, high=2, seed=2), integers(2, 3, 4, low=-4, high=5, seed=3)
    tools = {
        "sum": (mb.reduce_sum, np.sum), "mean": (mb.reduce_mean, np.mean), "max": (mb.reduce_max, np.max),
        "min": (mb.reduce_min, np.min), "prod": (mb.reduce_prod, np.prod),
        "l1": (mb.reduce_l1_norm, lambda x, a, keepdims: np.abs(x).sum(a, keepdims=keepdims)),
        "l2": (mb.reduce_l2_norm, lambda x, a, keepdims: np.sqrt((x * x).sum(a, keepdims=keepdims))),
        "log_sum": (mb.reduce_log_sum, lambda x, a, keepdims: np.log(x.sum(a, keepdims=keepdims))),
        "log_sum_exp": (mb.reduce_log_sum_exp, lambda x, a, keepdims: special.logsumexp(x, a, keepdims=keepdims)),
        "sum_square": (mb.reduce_sum_square, lambda x, a, keepdims: (x * x).sum(a, keepdims=keepdims)),
    }

    def build(x, p, n):
        found = {}
        for name, (tool, _) in tools.items():
            value = p if name.startswith("log") else x
            found[name + "_1"] = tool(x=value, axes=[1])
            found[name + "_02"] = tool(x=value, axes=[0, -1], keep_dims=True)
            found[name + "_all"] = mb.expand_dims(x=tool(x=value), axes=[0])
        found["int_sum"] = mb.reduce_sum(x=n, axes=[-1])
        found["int_max"] = mb.reduce_max(x=n, axes=[1], keep_dims=True)
        found["argmax_"] = mb.reduce_argmax(x=x, axis=1)
        found["argmax_last"] = mb.reduce_argmax(x=x)
        found["argmin_"] = mb.reduce_argmin(x=x, axis=-1, keep_dims=True)
        return found

    def expect(x, p, n):
        found = {}
        for name, (_, tool) in tools.items():
            value = p if name.startswith("log") else x
            found[name + "_1"] = tool(value, 1, keepdims=False)
            found[name + "_02"] = tool(value, (0, 2), keepdims=True)
            found[name + "_all"] = tool(value, (0, 1, 2), keepdims=False).reshape(1)
        return found | {
            "int_sum": n.sum(-1), "int_max": n.max(1, keepdims=True), "argmax_": x.argmax(1), "argmax_last": x.argmax(-1),
            "argmin_": x.argmin(-1)[..., None],
        }

    case("reduction", {"x": x, "p": p, "n": n}, build, expect)
    case("argmax_ios17", {"x": x}, lambda x: {"small": mb.cast(x=mb.reduce_argmax(x=x, axis=1, output_dtype="uint16"), dtype="int32")},
         lambda x: {"small": x.argmax(1)}, opset=IOS17)


FAMILIES = [convolutions, products, normalizations, pooling, reductions]
