"""Neural networks: convolutions, pooling, activations, products and normalizations."""
import numpy as np

from .harness import random
from .network_formulas import conv, deconv, lrn, pool, same_padding, sigmoid
from .network_values import F, values


def convolutions(old, exact):
    def layer(name, x, w, b, options, y, is_exact=False, groups=1, stride=(1, 1), mode="valid", covers=("convolution",)):
        # The builder takes H, W, in, out.
        def build(builder):
            builder.add_convolution(
                "conv", w.shape[1], w.shape[0], w.shape[2], w.shape[3], *stride, mode, groups,
                w.transpose(2, 3, 1, 0), b, b is not None, input_name="x", output_name="y", **options)

        (exact if is_exact else old)(name, list(covers), {"x": x}, {"y": y}, build)

    x = values("conv", 3, 7, 8)
    w = values("convw", 4, 3, 3, 2)
    b = values("convb", 4)
    layer("convolution-valid", x, w, b, {}, conv(x[None], w, b)[0])
    layer("convolution-padding", x, w, b, dict(padding_top=1, padding_bottom=2, padding_left=0, padding_right=3),
          conv(x[None], w, b, stride=(2, 3), pads=((1, 2), (0, 3)))[0], stride=(2, 3))
    for heavy in ("BOTTOM_RIGHT_HEAVY", "TOP_LEFT_HEAVY"):
        pads = [same_padding(n, k, s, 1, heavy) for n, k, s in ((7, 3, 2), (8, 2, 3))]
        layer(f"convolution-same-{heavy[0].lower()}", x, w, None, dict(same_padding_asymmetry_mode=heavy),
              conv(x[None], w, None, stride=(2, 3), pads=pads)[0], stride=(2, 3), mode="same")
    layer("convolution-dilated", x, w, b, dict(dilation_factors=[2, 3]), conv(x[None], w, b, dilation=(2, 3))[0])
    x4, w2 = values("convg", 4, 5, 5), values("convgw", 6, 2, 3, 3)
    layer("convolution-groups", x4, w2, None, {}, conv(x4[None], w2, None, groups=2)[0], groups=2)
    depthwise = values("convd", 4, 1, 3, 3)
    layer("convolution-depthwise", x4, depthwise, None, dict(padding_top=1, padding_bottom=1, padding_left=1, padding_right=1),
          conv(x4[None], depthwise, None, groups=4, pads=((1, 1), (1, 1)))[0], groups=4)
    batch = values("conv5", 2, 3, 4, 5)
    layer("convolution-exact", batch, values("convew", 2, 3, 2, 2), None, {}, conv(batch, values("convew", 2, 3, 2, 2), None),
          is_exact=True)
    five = values("conv55", 2, 2, 3, 4, 4)
    layer("convolution-exact-rank5", five, values("convew", 2, 3, 2, 2), None, {},
          conv(five.reshape(4, 3, 4, 4), values("convew", 2, 3, 2, 2), None).reshape(2, 2, 2, 3, 3), is_exact=True)
    # Deconvolution: weights [in, out / groups, kh, kw]; the builder takes H, W, in, out / groups and writes them so.
    x, w, b = values("deconv", 3, 4, 5), values("deconvw", 3, 2, 3, 3), values("deconvb", 2)

    def transposed(name, x, w, b, out, y, groups=1, stride=(2, 2), mode="valid", **options):
        def build(builder):
            builder.add_convolution(
                "deconv", w.shape[0], out, w.shape[2], w.shape[3], *stride, mode, groups,
                w.transpose(2, 3, 0, 1), b, b is not None, is_deconv=True, input_name="x", output_name="y", **options)

        old(name, ["convolution (deconvolution)"], {"x": x}, {"y": y}, build)

    full = deconv(x[None], w, b, (2, 2))[0]
    transposed("deconvolution-valid", x, w, b, 2, full)
    transposed("deconvolution-padding", x, w, b, 2, full[:, 1:, :-1], padding_top=1, padding_right=1)
    same = deconv(x[None], w, b, (2, 2))[0]
    # 9 x 11 to 8 x 10: one row and one column too many; the smaller part, none, is cut off in front.
    transposed("deconvolution-same", x, w, b, 2, same[:, :8, :10], mode="same")
    transposed("deconvolution-output-shape", x, w, b, 2, same[:, 1:8, 1:10], output_shape=[7, 9])
    xg, wg = values("deconvg", 4, 3, 3), values("deconvgw", 4, 1, 2, 2)
    transposed("deconvolution-groups", xg, wg, None, 2, deconv(xg[None], wg, None, (2, 2), groups=2)[0], groups=2)

    x3 = values("conv3d", 1, 2, 4, 5, 4)
    w3 = values("conv3dw", 3, 2, 2, 3, 2)
    y3 = np.zeros((1, 3, 3, 3, 3), F)
    for d in range(3):
        for h in range(3):
            for v in range(3):
                y3[0, :, d, h, v] = np.einsum("cdhw,ocdhw->o", x3[0, :, d:d + 2, h:h + 3, v:v + 2], w3)
    # A size beside the padding: the padding in front is cut off, the end follows from the size; a row more than there is.
    grown = np.pad(deconv(x[None], w, b, (2, 2))[0] - b[:, None, None], ((0, 0), (0, 1), (0, 1))) + b[:, None, None]
    transposed("deconvolution-output-padding", x, w, b, 2, grown[:, 1:9, 1:11], output_shape=[8, 10], padding_top=1,
               padding_bottom=1, padding_left=1, padding_right=1)
    d3, dw3 = values("deconv3d", 1, 2, 2, 3, 2), values("deconv3dw", 2, 3, 2, 2, 2)
    dy3 = np.zeros((1, 3, 4, 6, 4), F)
    for d in range(2):
        for h in range(3):
            for v in range(2):
                dy3[0, :, 2 * d:2 * d + 2, 2 * h:2 * h + 2, 2 * v:2 * v + 2] = np.einsum("c,codhw->odhw", d3[0, :, d, h, v], dw3)
    exact("deconvolution3d", ["convolution3d (deconvolution)"], {"x": d3}, {"y": dy3},
          lambda builder: builder.add_convolution3d(
              "deconv", 2, 3, 2, 2, 2, dw3.transpose(1, 0, 2, 3, 4), None, False, stride_depth=2, stride_height=2, stride_width=2,
              is_deconv=True, input_name="x", output_name="y"))
    exact("convolution3d", ["convolution3d"], {"x": x3}, {"y": y3},
          lambda builder: builder.add_convolution3d(
              "conv", 2, 3, 2, 3, 2, w3, None, False, input_name="x", output_name="y"))


    # Quantized: a scale for each output channel, which is the second axis here.
    codes, scale, bias = random("deconvq").integers(0, 256, (3, 2, 3, 3)), values("deconvs", 2), values("deconvo", 2)
    decoded = (codes * scale[None, :, None, None] + bias[None, :, None, None]).astype(F)

    def quantize(spec):
        message = spec.neuralNetwork.layers[0].convolution.weights
        message.Clear()
        message.rawValue = codes.astype(np.uint8).tobytes()
        message.quantization.numberOfBits = 8
        message.quantization.linearQuantization.scale.extend(scale.tolist())
        message.quantization.linearQuantization.bias.extend(bias.tolist())

    old("deconvolution-quantized", ["convolution (deconvolution)", "weights (8 bits, linear)"], {"x": x},
        {"y": deconv(x[None], decoded, None, (2, 2))[0]},
        lambda builder: builder.add_convolution(
            "deconv", 3, 2, 3, 3, 2, 2, "valid", 1, decoded.transpose(2, 3, 0, 1), None, False, is_deconv=True, input_name="x",
            output_name="y"), edit=quantize)


def pooling(old, exact):
    def layer(name, x, y, height, width, stride, kind, padding="VALID", is_exact=False, **options):
        (exact if is_exact else old)(
            name, [f"pooling ({kind.lower()})"], {"x": x}, {"y": y},
            lambda builder: builder.add_pooling("pool", height, width, *stride, kind, padding, "x", "y", **options))

    x = values("pool", 2, 7, 8)
    layer("pooling-max", x, pool(x, (3, 2), (2, 2), "max"), 3, 2, (2, 2), "MAX")
    pads = ((1, 2), (1, 0))
    sides = dict(padding_top=1, padding_bottom=2, padding_left=1, padding_right=0)
    layer("pooling-max-padding", x, pool(x, (3, 2), (2, 1), "max", pads), 3, 2, (2, 1), "MAX", **sides)
    layer("pooling-average-padding", x, pool(x, (3, 2), (2, 1), "average", pads), 3, 2, (2, 1), "AVERAGE",
          exclude_pad_area=False, **sides)
    layer("pooling-average-exclude", x, pool(x, (3, 2), (2, 1), "average-exclude", pads), 3, 2, (2, 1), "AVERAGE",
          exclude_pad_area=True, **sides)
    layer("pooling-l2", x, pool(x, (3, 2), (2, 1), "l2", pads), 3, 2, (2, 1), "L2", **sides)
    same = [same_padding(7, 3, 2, 1), same_padding(8, 2, 3, 1)]
    layer("pooling-max-same", x, pool(x, (3, 2), (2, 3), "max", same), 3, 2, (2, 3), "MAX", "SAME")
    layer("pooling-average-same", x, pool(x, (3, 2), (2, 3), "average-exclude", same), 3, 2, (2, 3), "AVERAGE", "SAME")
    # includeLastPixel: rounded up; with padding, minus one where the last window begins beyond it.
    for size in (6, 7, 8):
        picture = values(f"pool{size}", 2, size, size + 1)
        for amount in (0, 1):
            for kind in ("max", "average", "average-exclude", "l2"):
                if amount == 0 and kind in ("average", "l2"):
                    continue
                counts, ends = [], []
                for extent in picture.shape[1:]:
                    count = -(-(extent + 2 * amount - 3) // 2) + 1
                    if amount > 0 and (count - 1) * 2 >= extent + amount:
                        count -= 1
                    counts.append(count)
                    ends.append((amount, max(0, (count - 1) * 2 + 3 - extent - amount)))
                y = pool(picture, (3, 3), (2, 2), kind, ends, counted=amount)[:, : counts[0], : counts[1]]
                layer(f"pooling-complete-{kind}-{size}-{amount}", picture, y, 3, 3, (2, 2), kind.split("-")[0].upper(),
                      "INCLUDE_LAST_PIXEL", exclude_pad_area=kind == "average-exclude",
                      padding_top=amount, padding_left=amount, padding_bottom=amount, padding_right=amount)
    for kind, function in (("MAX", np.max), ("AVERAGE", np.mean), ("L2", lambda x, **k: np.sqrt(np.sum(x * x, **k)))):
        layer(f"pooling-global-{kind.lower()}", x, function(x, axis=(1, 2)), 1, 1, (1, 1), kind, is_global=True)
    batch = values("poole", 2, 3, 4, 6)
    layer("pooling-exact", batch, np.stack([pool(one, (2, 2), (2, 2), "max") for one in batch]), 2, 2, (2, 2), "MAX",
          is_exact=True)
    x3 = values("pool3d", 1, 2, 4, 4, 6)
    y3 = x3.reshape(1, 2, 2, 2, 2, 2, 3, 2)
    for kind, y in (("MAX", y3.max((3, 5, 7))), ("AVERAGE", y3.mean((3, 5, 7)))):
        exact(f"pooling3d-{kind.lower()}", ["pooling3d"], {"x": x3}, {"y": y},
              lambda builder, kind=kind: builder.add_pooling3d("pool", "x", "y", kind, 2, 2, 2, 2, 2, 2))
    exact("global-pooling3d", ["globalPooling3d"], {"x": x3}, {"y": x3.max((2, 3, 4), keepdims=True)},
          lambda builder: builder.add_global_pooling3d("pool", "x", "y", "MAX"))


def activations(old):
    x = values("activation", 3, 2, 3, low=-4, high=4)
    slope, offset = values("slope", 3), values("offset", 3, low=0.2, high=1.5)
    wide, other = slope[:, None, None], offset[:, None, None]
    cases = {
        "linear": ("LINEAR", [1.5, -0.5], 1.5 * x - 0.5),
        "relu": ("RELU", None, np.maximum(x, 0)),
        "leaky-relu": ("LEAKYRELU", [0.2], np.where(x < 0, 0.2 * x, x)),
        "thresholded-relu": ("THRESHOLDEDRELU", 1.25, np.where(x >= 1.25, x, 0)),
        "prelu": ("PRELU", slope, np.where(x < 0, wide * x, x)),
        "tanh": ("TANH", None, np.tanh(x)),
        "scaled-tanh": ("SCALED_TANH", [1.7, 0.6], 1.7 * np.tanh(0.6 * x)),
        "sigmoid": ("SIGMOID", None, sigmoid(x)),
        "sigmoid-hard": ("SIGMOID_HARD", [0.3, 0.4], np.clip(0.3 * x + 0.4, 0, 1)),
        "elu": ("ELU", 0.8, np.where(x < 0, 0.8 * (np.exp(x) - 1), x)),
        "softsign": ("SOFTSIGN", None, x / (1 + np.abs(x))),
        "softplus": ("SOFTPLUS", None, np.log1p(np.exp(x))),
        "parametric-softplus": ("PARAMETRICSOFTPLUS", [slope, offset], wide * np.log1p(np.exp(other * x))),
    }
    for name, (kind, parameters, y) in cases.items():
        old(f"activation-{name}", [f"activation ({name})"], {"x": x}, {"y": y.astype(F)},
            lambda builder: builder.add_activation("activation", kind, "x", "y", parameters))


def products(old, exact):
    w, b = values("inner", 4, 6), values("innerb", 4)

    def inner(builder):
        builder.add_inner_product("inner", w, b, 6, 4, True, "x", "y")

    x = values("innerx", 6)
    old("inner-product-vector", ["innerProduct"], {"x": x}, {"y": w @ x + b}, inner)
    picture = values("innerp", 1, 2, 3)
    old("inner-product-picture", ["innerProduct"], {"x": picture}, {"y": w @ picture.ravel() + b}, inner)
    for rank, shape in ((1, (6,)), (2, (3, 6)), (3, (2, 3, 6))):
        many = values(f"inner{rank}", *shape)
        exact(f"inner-product-exact-{rank}", ["innerProduct"], {"x": many}, {"y": many @ w.T + b}, inner)
    four = values("inner4", 2, 6, 1, 1)
    exact("inner-product-exact-4", ["innerProduct"], {"x": four}, {"y": (four[:, :, 0, 0] @ w.T + b)[:, :, None, None]}, inner)
    five = values("inner5", 2, 3, 1, 2, 3)
    exact("inner-product-exact-5", ["innerProduct"], {"x": five},
          {"y": (five.reshape(6, 6) @ w.T + b).reshape(2, 3, 4, 1, 1)}, inner)

    table, tb = values("embedding", 7, 3), values("embeddingb", 3)
    indices = np.array([[4], [0], [6]], F)
    old("embedding", ["embedding", "permute"], {"x": indices[:, 0]}, {"y": (table[[4, 0, 6]] + tb).reshape(3, 1, 3)},
        lambda builder: (
            builder.add_permute("permute", [1, 0, 2, 3], "x", "s"),
            builder.add_embedding("embedding", table.T, tb, 7, 3, True, "s", "y")))
    exact("embedding-nd", ["embeddingND"], {"x": indices}, {"y": table[[4, 0, 6]] + tb},
          lambda builder: builder.add_embedding_nd("embedding", "x", "y", 7, 3, table.T, tb))

    left, right = values("matmul", 2, 3, 4), values("matmulr", 2, 4, 5)
    exact("batched-matmul", ["batchedMatmul"], {"a": left, "b": right}, {"y": left @ right},
          lambda builder: builder.add_batched_mat_mul("mul", ["a", "b"], "y"))
    flipped = np.ascontiguousarray(left.swapaxes(1, 2))
    turned = np.ascontiguousarray(right.swapaxes(1, 2))
    exact("batched-matmul-transposed", ["batchedMatmul"], {"a": flipped, "b": turned}, {"y": left @ right},
          lambda builder: builder.add_batched_mat_mul("mul", ["a", "b"], "y", transpose_a=True, transpose_b=True))
    wide = values("matmulb", 1, 3, 4)
    exact("batched-matmul-broadcast", ["batchedMatmul"], {"a": wide, "b": right}, {"y": wide @ right},
          lambda builder: builder.add_batched_mat_mul("mul", ["a", "b"], "y"))
    matrix, mb = values("matmulw", 4, 5), values("matmulwb", 5)
    exact("batched-matmul-weights", ["batchedMatmul"], {"x": left}, {"y": left @ matrix + mb},
          lambda builder: builder.add_batched_mat_mul(
              "mul", ["x"], "y", weight_matrix_rows=4, weight_matrix_columns=5, W=matrix, bias=mb))
    one, two = values("dot", 5), values("dot2", 5)
    old("dot", ["dot"], {"a": one, "b": two}, {"y": np.array([one @ two], F)},
        lambda builder: builder.add_elementwise("dot", ["a", "b"], "y", "DOT"))
    old("dot-cosine", ["dot"], {"a": one, "b": two},
        {"y": np.array([one @ two / np.linalg.norm(one) / np.linalg.norm(two)], F)},
        lambda builder: builder.add_elementwise("dot", ["a", "b"], "y", "COS"))


def normalizations(old, exact):
    x = values("norm", 3, 4, 5)
    gamma, beta, mean = values("gamma", 3), values("beta", 3), values("mean", 3)
    variance = values("variance", 3, low=0.3, high=2)
    def per(given): return given[:, None, None]

    old("batchnorm", ["batchnorm"], {"x": x},
        {"y": per(gamma) * (x - per(mean)) / np.sqrt(per(variance) + 1e-3) + per(beta)},
        lambda builder: builder.add_batchnorm("norm", 3, gamma, beta, mean, variance, "x", "y", epsilon=1e-3))
    own = (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5)
    old("batchnorm-instance", ["batchnorm (instance)"], {"x": x}, {"y": per(gamma) * own + per(beta)},
        lambda builder: builder.add_batchnorm(
            "norm", 3, gamma, beta, input_name="x", output_name="y", compute_mean_var=True, instance_normalization=True))
    batch = values("normb", 2, 3, 2, 2)
    shared = (batch - batch.mean((0, 2, 3), keepdims=True)) / np.sqrt(batch.var((0, 2, 3), keepdims=True) + 1e-5)
    exact("batchnorm-computed", ["batchnorm"], {"x": batch}, {"y": per(gamma) * shared + per(beta)},
          lambda builder: builder.add_batchnorm(
              "norm", 3, gamma, beta, input_name="x", output_name="y", compute_mean_var=True, instance_normalization=True),
          edit=lambda spec: setattr(spec.neuralNetwork.layers[0].batchnorm, "instanceNormalization", False))
    for across in (False, True):
        axes = (0, 1, 2) if across else (1, 2)
        centered = x - x.mean(axes, keepdims=True)
        for normal in (False, True):
            y = centered / np.sqrt(x.var(axes, keepdims=True) + 1e-5) if normal else centered
            old(f"mvn-{'across' if across else 'within'}{'' if normal else '-mean'}", ["mvn"], {"x": x}, {"y": y},
                lambda builder: builder.add_mvn("mvn", "x", "y", across, normal, 1e-5), tolerance=1e-3)
    old("l2-normalize", ["l2normalize"], {"x": x}, {"y": x / np.sqrt((x * x).sum() + 1e-5)},
        lambda builder: builder.add_l2_normalize("norm", "x", "y", 1e-5))
    g, b = values("layernorm", 4, 5), values("layernormb", 4, 5)
    axes = (1, 2)
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5) * g + b
    exact("layer-normalization", ["layerNormalization"], {"x": x}, {"y": y},
          lambda builder: builder.add_layer_normalization("norm", "x", "y", (4, 5), g, b))
    def softmax(x, axis):
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    old("softmax", ["softmax"], {"x": x}, {"y": softmax(x, 0)}, lambda builder: builder.add_softmax("softmax", "x", "y"))
    exact("softmax-exact", ["softmax"], {"x": batch}, {"y": softmax(batch, 1)},
          lambda builder: builder.add_softmax("softmax", "x", "y"))
    exact("softmax-nd", ["softmaxND"], {"x": x}, {"y": softmax(x, -1)},
          lambda builder: builder.add_softmax_nd("softmax", "x", "y", -1))
    many = values("lrn", 7, 2, 2)
    old("lrn", ["lrn"], {"x": many}, {"y": lrn(many, 0.5, 0.75, 5, 2.0)},
        lambda builder: builder.add_lrn("lrn", "x", "y", 0.5, 0.75, 5, 2.0))
    for shape in ((1,), (3,), (1, 4, 5), (3, 4, 5)):
        text = "x".join(map(str, shape))
        factor, summand = values(f"scale{text}", *shape), values(f"bias{text}", *shape)
        wide = (lambda v: v[:, None, None] if v.ndim == 1 else v)
        old(f"scale-{text}", ["scale"], {"x": x}, {"y": x * wide(factor) + wide(summand)},
            lambda builder: builder.add_scale("scale", factor, summand, True, "x", "y", list(shape), list(shape)))
        old(f"bias-{text}", ["bias"], {"x": x}, {"y": x + wide(summand)},
            lambda builder: builder.add_bias("bias", summand, "x", "y", list(shape)))


def few_axes(exact):
    """Layers that act on channels, of values with one or two axes: the last one has the channels, as innerProduct gives them."""
    w, b = values("few inner", 3, 3), values("few innerb", 3)

    def classifier(builder):
        # As in coremltools' own test/pipeline/test_model_updatable.py.
        builder.add_inner_product("inner", w, b, 3, 3, True, "x", "z")
        builder.add_softmax("softmax", "z", "y")

    one, two, gain, shift = values("few1", 3), values("few2", 2, 3), values("few gain", 3, low=0.2, high=1.5), values("few shift", 3)

    def softmax(z):
        e = np.exp(z - z.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    for axes, x in ((1, one), (2, two)):
        def check(name, covers, y, build):
            exact(f"{name}-exact-{axes}", covers, {"x": x}, {"y": y.astype(F)}, build)

        check("softmax", ["softmax", "innerProduct"], softmax(x @ w.T + b), classifier)
        check("batchnorm", ["batchnorm"], gain * x / np.sqrt(gain + 1e-5) + shift,
              lambda builder: builder.add_batchnorm("norm", 3, gain, shift, np.zeros(3, F), gain, "x", "y"))
        check("scale", ["scale"], gain * x + shift, lambda builder: builder.add_scale("scale", gain, shift, True, "x", "y", [3], [3]))
        check("bias", ["bias"], x + shift, lambda builder: builder.add_bias("bias", shift, "x", "y", [3]))
        check("l2-normalize", ["l2normalize"], x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6),
              lambda builder: builder.add_l2_normalize("normalize", "x", "y"))
        check("mvn", ["mvn"], (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6),
              lambda builder: builder.add_mvn("mvn", "x", "y", across_channels=True, normalize_variance=True, epsilon=1e-6))
        check("prelu", ["activation (prelu)"], np.where(x < 0, gain * x, x),
              lambda builder: builder.add_activation("activation", "PRELU", "x", "y", gain))
        check("parametric-softplus", ["activation (parametric-softplus)"], gain * np.log1p(np.exp(shift * x)),
              lambda builder: builder.add_activation("activation", "PARAMETRICSOFTPLUS", "x", "y", [gain, shift]))
        check("concat", ["concat"], np.concatenate([x, x], -1), lambda builder: builder.add_elementwise("concat", ["x", "x"], "y", "CONCAT"))
        check("reduce-channels", ["reduce"], x.sum(-1, keepdims=True),
              lambda builder: builder.add_reduce("reduce", "x", "y", "C", "sum"))
        check("slice-channels", ["slice"], x[..., 1:3], lambda builder: builder.add_slice("slice", "x", "y", "channel", 1, 3, 1))
