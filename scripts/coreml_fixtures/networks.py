"""Neural networks, layer by layer; the answers come from numpy formulas that follow NeuralNetwork.proto."""
import numpy as np
from coremltools.models import datatypes
from coremltools.models.neural_network import NeuralNetworkBuilder

from .harness import random
from .network_formulas import (
    bilinear, conv, deconv, gru, lrn, lstm, pool, same_padding, sigmoid, simple_rnn,
)

F = np.float32


class Network:
    """One fixture: inputs by name with values, a builder, answers."""

    def __init__(self, fixtures, name, covers, inputs, outputs, build, exact=False, tolerance=1e-4, edit=None, oracle="numpy"):
        features = [(key, datatypes.Array(*given.shape)) for key, given in inputs.items()]
        builder = NeuralNetworkBuilder(
            features, [(key, None) for key in outputs], disable_rank5_shape_mapping=exact, use_float_arraytype=True
        )
        build(builder)
        spec = builder.spec
        for feature in spec.description.output:
            # As most files have it: the type, and no shape.
            feature.type.multiArrayType.dataType = 65568
        if edit:
            edit(spec)
        fixtures.add(name, spec, [(inputs, outputs)], covers, tolerance, oracle)


def make(fixtures):
    def old(name, covers, inputs, outputs, build, **options):
        Network(fixtures, name, covers, inputs, outputs, build, exact=False, **options)

    def exact(name, covers, inputs, outputs, build, **options):
        Network(fixtures, name, covers, inputs, outputs, build, exact=True, **options)

    convolutions(old, exact)
    pooling(old, exact)
    activations(old)
    products(old, exact)
    normalizations(old, exact)
    elementwise(old, exact)
    unary(old, exact)
    reductions(old, exact)
    shapes(old, exact)
    rearrangements(old, exact)
    slices(old, exact)
    resizing(old)
    constants(old, exact)
    selections(exact)
    recurrent(old)
    weights(old)
    from . import network_control, network_models

    network_control.make(exact)
    network_models.make(fixtures)


def values(name, *shape, low=-2.0, high=2.0):
    return random(name).uniform(low, high, shape).astype(F)


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


def elementwise(old, exact):
    a, b, c = values("ea", 3, 2, 4), values("eb", 3, 1, 1), values("ec", 1, 2, 4)
    functions = {
        "add": ("ADD", a + b + c), "multiply": ("MULTIPLY", a * b * c), "average": ("AVE", (a + b + c) / 3),
        "max": ("MAX", np.maximum(np.maximum(a, b), c)), "min": ("MIN", np.minimum(np.minimum(a, b), c)),
    }
    for name, (mode, y) in functions.items():
        old(name, [name], {"a": a, "b": b, "c": c}, {"y": y},
            lambda builder: builder.add_elementwise("e", ["a", "b", "c"], "y", mode))
    old("add-one", ["add"], {"a": a}, {"y": a + F(1.5)}, lambda builder: builder.add_elementwise("e", ["a"], "y", "ADD", 1.5))
    old("multiply-one", ["multiply"], {"a": a}, {"y": a * F(1.5)},
        lambda builder: builder.add_elementwise("e", ["a"], "y", "MULTIPLY", 1.5))
    left, right = values("eleft", 2, 3, 4), values("eright", 3, 1, low=0.5, high=2.5)
    positive = np.abs(left) + F(0.1)
    broadcasting = {
        "add": (left, left + right), "subtract": (left, left - right), "multiply": (left, left * right),
        "divide": (left, left / right), "floor_div": (left, np.floor(left / right)), "mod": (left, np.mod(left, right)),
        "max": (left, np.maximum(left, right)), "min": (left, np.minimum(left, right)), "pow": (positive, positive**right),
    }
    for name, (first, y) in broadcasting.items():
        words = "".join(word.capitalize() for word in name.split("_"))
        exact(f"{name.replace('_', '-')}-broadcastable", [words[0].lower() + words[1:] + "Broadcastable"],
              {"a": first, "b": right}, {"y": y},
              lambda builder: getattr(builder, f"add_{name}_broadcastable")("e", ["a", "b"], "y"))
    whole, other = np.round(left), np.round(values("ecompare", 3, 4))
    comparisons = {
        "equal": np.equal, "not_equal": np.not_equal, "less_than": np.less, "less_equal": np.less_equal,
        "greater_than": np.greater, "greater_equal": np.greater_equal,
    }
    for name, function in comparisons.items():
        words = name.split("_")
        method = {"less_equal": "less_than", "greater_equal": "greater_than"}.get(name, name)
        options = {"less_equal": {"use_less_than_equal": True}, "greater_equal": {"use_greater_than_equal": True}}.get(name, {})
        cover = words[0] + "".join(word.capitalize() for word in words[1:])
        exact(name.replace("_", "-"), [cover], {"a": whole, "b": other}, {"y": function(whole, other).astype(F)},
              lambda builder: getattr(builder, f"add_{method}")("e", ["a", "b"], "y", **options), tolerance=0)
        exact(f"{name.replace('_', '-')}-alpha", [cover], {"a": whole}, {"y": function(whole, 1).astype(F)},
              lambda builder: getattr(builder, f"add_{method}")("e", ["a"], "y", alpha=1.0, **options), tolerance=0)
    yes, no = (whole > 0).astype(F), (other > 0).astype(F)
    logic = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}
    for name, function in logic.items():
        exact(f"logical-{name.lower()}", [f"logical{name.capitalize()}"], {"a": yes, "b": no}, {"y": function(yes, no).astype(F)},
              lambda builder: builder.add_logical("e", ["a", "b"], "y", name), tolerance=0)
    exact("logical-not", ["logicalNot"], {"a": yes}, {"y": np.logical_not(yes).astype(F)},
          lambda builder: builder.add_logical("e", ["a"], "y", "NOT"), tolerance=0)
    exact("where", ["whereBroadcastable"], {"a": yes, "b": left, "c": right}, {"y": np.where(yes, left, right)},
          lambda builder: builder.add_where_broadcastable("e", ["a", "b", "c"], "y"))


def unary(old, exact):
    x = values("unary", 2, 3, 2, low=0.3, high=2.5)
    t = F(1.5) * x + F(0.25)
    modes = {
        "sqrt": np.sqrt(t), "rsqrt": 1 / np.sqrt(t + F(1e-3)), "inverse": 1 / (t + F(1e-3)), "power": t**F(2.5),
        "exp": np.exp(t), "log": np.log(t + F(1e-3)), "abs": np.abs(t), "threshold": np.maximum(F(2.5), t),
    }
    for name, y in modes.items():
        old(f"unary-{name}", [f"unary ({name})"], {"x": x}, {"y": y},
            lambda builder: builder.add_unary("u", "x", "y", name, alpha=2.5, shift=0.25, scale=1.5, epsilon=1e-3))
    signed, unit, above = values("unarys", 2, 5), values("unaryu", 2, 5, low=-0.9, high=0.9), values("unarya", 2, 5, low=1.1, high=4)
    from math import erf

    functions = {
        "ceil": (signed, np.ceil), "floor": (signed, np.floor), "sign": (signed, np.sign), "round": (signed, np.round),
        "exp2": (signed, np.exp2), "sin": (signed, np.sin), "cos": (signed, np.cos), "tan": (unit, np.tan),
        "asin": (unit, np.arcsin), "acos": (unit, np.arccos), "atan": (signed, np.arctan), "sinh": (signed, np.sinh),
        "cosh": (signed, np.cosh), "tanh": (signed, np.tanh), "asinh": (signed, np.arcsinh), "acosh": (above, np.arccosh),
        "atanh": (unit, np.arctanh), "erf": (signed, np.vectorize(erf)),
    }
    for name, (given, function) in functions.items():
        exact(name, [name], {"x": given}, {"y": function(given).astype(F)},
              lambda builder: getattr(builder, f"add_{name}")("u", "x", "y"))
    gelus = {
        "EXACT": 0.5 * signed * (1 + np.vectorize(erf)(signed / np.sqrt(2))),
        "TANH_APPROXIMATION": 0.5 * signed * (1 + np.tanh(np.sqrt(2 / np.pi) * (signed + 0.044715 * signed**3))),
        "SIGMOID_APPROXIMATION": signed * sigmoid(1.702 * signed),
    }
    for mode, y in gelus.items():
        exact(f"gelu-{mode.split('_')[0].lower()}", ["gelu"], {"x": signed}, {"y": y.astype(F)},
              lambda builder: builder.add_gelu("u", "x", "y", mode))
    exact("clip", ["clip"], {"x": signed}, {"y": np.clip(signed, F(-0.5), F(1.25))},
          lambda builder: builder.add_clip("u", "x", "y", -0.5, 1.25))
    exact("clamped-relu", ["clampedReLU"], {"x": signed},
          {"y": np.minimum(np.where(signed < 0, F(0.25) * signed, signed), F(1.25))},
          lambda builder: builder.add_clamped_relu("u", "x", "y", 0.25, 1.25))
    old("copy", ["copy"], {"x": x}, {"y": x}, lambda builder: (
        builder.add_activation("u", "LINEAR", "x", "z", [1, 0]), builder.add_copy("c", "z", "y")))


def reductions(old, exact):
    x = values("reduce", 3, 2, 4, low=0.2, high=2)
    def logsum(v, **k): return np.log(v + F(1e-6)).sum(**k)
    modes = {
        "sum": np.sum, "avg": np.mean, "prod": np.prod, "logsum": logsum, "sumsquare": lambda v, **k: (v * v).sum(**k),
        "L1": lambda v, **k: np.abs(v).sum(**k), "L2": lambda v, **k: np.sqrt((v * v).sum(**k)), "max": np.max, "min": np.min,
    }
    axes = {"CHW": (0, 1, 2), "HW": (1, 2), "C": (0,), "H": (1,), "W": (2,)}
    for mode, function in modes.items():
        for text, axis in axes.items():
            if mode not in ("sum", "max") and text not in ("HW",):
                continue
            y = function(x, axis=axis, keepdims=True)
            y = y.reshape(y.shape[:1]) if y.shape[1:] == (1, 1) else y[..., 0] if y.shape[2] == 1 else y
            old(f"reduce-{mode.lower()}-{text.lower()}", ["reduce"], {"x": x}, {"y": y},
                lambda builder: builder.add_reduce("r", "x", "y", text, mode))
    old("reduce-argmax-w", ["reduce"], {"x": x}, {"y": np.argmax(x, 2).astype(F)},
        lambda builder: builder.add_reduce("r", "x", "y", "W", "argmax"))
    signed = values("reducend", 2, 3, 4)
    functions = {
        "l1": (signed, modes["L1"]), "l2": (signed, modes["L2"]), "max": (signed, np.max), "min": (signed, np.min),
        "sum": (signed, np.sum), "prod": (signed, np.prod), "mean": (signed, np.mean),
        "logsum": (x, lambda v, **k: np.log(v.sum(**k))), "sumsquare": (signed, modes["sumsquare"]),
        "logsumexp": (signed, lambda v, **k: np.log(np.exp(v).sum(**k))),
    }
    covers = {"logsum": "reduceLogSum", "sumsquare": "reduceSumSquare", "logsumexp": "reduceLogSumExp"}
    for name, (given, function) in functions.items():
        cover = covers.get(name, "reduce" + name.capitalize())
        exact(f"reduce-nd-{name}", [cover], {"x": given}, {"y": function(given, axis=(0, 2))},
              lambda builder: getattr(builder, f"add_reduce_{name}")("r", "x", "y", axes=[0, -1], keepdims=False))
        exact(f"reduce-nd-{name}-all", [cover], {"x": given}, {"y": function(given, axis=(0, 1, 2), keepdims=True)},
              lambda builder: getattr(builder, f"add_reduce_{name}")("r", "x", "y", keepdims=True, reduce_all=True))


def shapes(old, exact):
    x = values("shape", 3, 2, 4)
    last = x.transpose(1, 2, 0)
    old("flatten-first", ["flatten"], {"x": x}, {"y": x.ravel()}, lambda builder: builder.add_flatten("f", 0, "x", "y"))
    old("flatten-last", ["flatten"], {"x": x}, {"y": last.ravel()}, lambda builder: builder.add_flatten("f", 1, "x", "y"))
    old("reshape-first", ["reshape"], {"x": x}, {"y": x.reshape(2, 6, 2)},
        lambda builder: builder.add_reshape("r", "x", "y", (2, 6, 2), 0))
    old("reshape-last", ["reshape"], {"x": x}, {"y": last.reshape(6, 2, 2).transpose(2, 0, 1)},
        lambda builder: builder.add_reshape("r", "x", "y", (2, 6, 2), 1))
    old("reshape-sequence", ["reshape"], {"x": x}, {"y": x.reshape(2, 1, 3, 2, 2)},
        lambda builder: builder.add_reshape("r", "x", "y", (2, 3, 2, 2), 0))
    old("permute", ["permute"], {"x": x}, {"y": x.transpose(2, 0, 1)},
        lambda builder: builder.add_permute("p", [0, 3, 1, 2], "x", "y"))
    old("permute-sequence", ["permute"], {"x": x}, {"y": x.transpose(2, 0, 1).reshape(4, 1, 3, 2)},
        lambda builder: builder.add_permute("p", [3, 1, 2, 0], "x", "y"))
    exact("transpose", ["transpose"], {"x": x}, {"y": x.transpose(1, 2, 0)},
          lambda builder: builder.add_transpose("t", [1, 2, 0], "x", "y"))
    ones = values("squeeze", 1, 3, 1, 4)
    exact("squeeze", ["squeeze"], {"x": ones}, {"y": ones.reshape(3, 4)},
          lambda builder: builder.add_squeeze("s", "x", "y", [0, -2]))
    exact("squeeze-all", ["squeeze"], {"x": ones}, {"y": ones.reshape(3, 4)},
          lambda builder: builder.add_squeeze("s", "x", "y", squeeze_all=True))
    exact("expand-dims", ["expandDims"], {"x": x[0]}, {"y": x[0].reshape(1, 2, 4, 1)},
          lambda builder: builder.add_expand_dims("e", "x", "y", [0, -1]))
    four = values("flat2d", 2, 3, 2, 4)
    exact("flatten-to-2d", ["flattenTo2D"], {"x": four}, {"y": four.reshape(6, 8)},
          lambda builder: builder.add_flatten_to_2d("f", "x", "y", axis=-2))
    exact("reshape-static", ["reshapeStatic"], {"x": x}, {"y": x.reshape(4, 6)},
          lambda builder: builder.add_reshape_static("r", "x", "y", (4, -1)))
    exact("rank-preserving-reshape", ["rankPreservingReshape"], {"x": x}, {"y": x.reshape(3, 1, 8)},
          lambda builder: builder.add_rank_preserving_reshape("r", "x", "y", (0, 1, -1)))
    exact("reshape-like", ["reshapeLike"], {"x": x, "z": values("like", 6, 4)}, {"y": x.reshape(6, 4)},
          lambda builder: builder.add_reshape_like("r", ["x", "z"], "y"))
    exact("reshape-dynamic", ["reshapeDynamic"], {"x": x, "z": np.array([6, 4], F)}, {"y": x.reshape(6, 4)},
          lambda builder: builder.add_reshape_dynamic("r", ["x", "z"], "y"))
    exact("get-shape", ["getShape"], {"x": x}, {"y": np.array([3, 2, 4], F)},
          lambda builder: builder.add_get_shape("g", "x", "y"))


def rearrangements(old, exact):
    a, b = values("ra", 2, 3, 4), values("rb", 3, 3, 4)
    old("concat", ["concat"], {"a": a, "b": b}, {"y": np.concatenate([a, b])},
        lambda builder: builder.add_elementwise("c", ["a", "b"], "y", "CONCAT"))
    old("concat-sequence", ["concat"], {"a": a, "b": a + 1}, {"y": np.stack([a, a + 1])[:, None]},
        lambda builder: builder.add_elementwise("c", ["a", "b"], "y", "SEQUENCE_CONCAT"))
    wide = values("split", 6, 2, 2)
    old("split", ["split"], {"x": wide}, {"p": wide[:2], "q": wide[2:4], "r": wide[4:]},
        lambda builder: builder.add_split("s", "x", ["p", "q", "r"]))
    exact("concat-nd", ["concatND"], {"a": a.transpose(1, 0, 2), "b": b.transpose(1, 0, 2)},
          {"y": np.concatenate([a.transpose(1, 0, 2), b.transpose(1, 0, 2)], 1)},
          lambda builder: builder.add_concat_nd("c", ["a", "b"], "y", axis=-2))
    exact("concat-nd-interleave", ["concatND"], {"a": a, "b": a + 1}, {"y": np.stack([a, a + 1], 2).reshape(2, 6, 4)},
          lambda builder: builder.add_concat_nd("c", ["a", "b"], "y", axis=1, interleave=True))
    exact("split-nd", ["splitND"], {"x": wide}, {"p": wide[:3], "q": wide[3:]},
          lambda builder: builder.add_split_nd("s", "x", ["p", "q"], 0, num_splits=2))
    exact("split-nd-sizes", ["splitND"], {"x": wide}, {"p": wide[:1], "q": wide[1:]},
          lambda builder: builder.add_split_nd("s", "x", ["p", "q"], -3, split_sizes=[1, 5]))
    exact("stack", ["stack"], {"a": a, "b": a * 2}, {"y": np.stack([a, a * 2], -1)},
          lambda builder: builder.add_stack("s", ["a", "b"], "y", axis=-1))
    exact("tile", ["tile"], {"x": a}, {"y": np.tile(a, (2, 1, 3))},
          lambda builder: builder.add_tile("t", "x", "y", reps=[2, 1, 3]))
    exact("reverse", ["reverse"], {"x": a}, {"y": a[::-1, :, ::-1]},
          lambda builder: builder.add_reverse("r", "x", "y", [True, False, True]))
    old("sequence-repeat", ["sequenceRepeat"], {"x": a}, {"y": np.stack([a, a, a])[:, None]},
        lambda builder: builder.add_sequence_repeat("s", 3, "x", "y"))
    column = values("broadcast", 3, 1)
    repeated = np.broadcast_to(column, (2, 3, 4))
    exact("broadcast-to-static", ["broadcastToStatic"], {"x": column}, {"y": repeated},
          lambda builder: builder.add_broadcast_to_static("b", "x", "y", (2, 3, 4)))
    exact("broadcast-to-like", ["broadcastToLike"], {"x": column, "z": a}, {"y": repeated},
          lambda builder: builder.add_broadcast_to_like("b", ["x", "z"], "y"))
    exact("broadcast-to-dynamic", ["broadcastToDynamic"], {"x": column, "z": np.array([2, 3, 4], F)}, {"y": repeated},
          lambda builder: builder.add_broadcast_to_dynamic("b", ["x", "z"], "y"))
    amounts = ((0, 0), (1, 2), (2, 1))
    paddings = {
        "constant": np.pad(a, amounts, constant_values=F(1.5)), "reflection": np.pad(a, amounts, "reflect"),
        "replication": np.pad(a, amounts, "edge"),
    }
    for kind, y in paddings.items():
        old(f"padding-{kind}", [f"padding ({kind})"], {"x": a}, {"y": y},
            lambda builder: builder.add_padding("p", left=2, right=1, top=1, bottom=2, value=1.5, input_name="x",
                                                output_name="y", padding_type=kind))
    exact("constant-pad", ["constantPad"], {"x": a}, {"y": np.pad(a, ((1, 0), (0, 2), (1, 1)), constant_values=F(0.5))},
          lambda builder: builder.add_constant_pad("p", ["x"], "y", value=0.5, pad_amounts=[1, 0, 0, 2, 1, 1]))
    exact("constant-pad-to-size", ["constantPad"], {"x": a}, {"y": np.pad(a, ((0, 3), (0, 0), (2, 0)))},
          lambda builder: builder.add_constant_pad("p", ["x"], "y", pad_to_given_output_size_mode=True,
                                                   pad_amounts=[0, 5, 0, 0, 6, 0]))
    blocks = values("blocks", 4, 4, 6)
    c, h, w = blocks.shape
    to_depth = blocks.reshape(c, h // 2, 2, w // 2, 2).transpose(2, 4, 0, 1, 3).reshape(c * 4, h // 2, w // 2)
    to_space = blocks.reshape(2, 2, c // 4, h, w).transpose(2, 3, 0, 4, 1).reshape(c // 4, h * 2, w * 2)
    shuffle = blocks.reshape(c // 4, 2, 2, h, w).transpose(0, 3, 1, 4, 2).reshape(c // 4, h * 2, w * 2)
    for mode, y in (("SPACE_TO_DEPTH", to_depth), ("DEPTH_TO_SPACE", to_space), ("PIXEL_SHUFFLE", shuffle)):
        old(mode.lower().replace("_", "-"), ["reorganizeData"], {"x": blocks}, {"y": y},
            lambda builder: builder.add_reorganize_data("r", "x", "y", mode, 2))
    windows = np.stack([wide[start:start + 3] for start in (0, 2)], 0)
    exact("sliding-windows", ["slidingWindows"], {"x": wide}, {"y": windows},
          lambda builder: builder.add_sliding_windows("w", "x", "y", axis=0, window_size=3, step=2))


def slices(old, exact):
    x = values("slice", 5, 6, 7)
    old("slice-channel", ["slice"], {"x": x}, {"y": x[1:4]},
        lambda builder: builder.add_slice("s", "x", "y", "channel", 1, 4, 1))
    old("slice-height", ["slice"], {"x": x}, {"y": x[:, 1:-1:2]},
        lambda builder: builder.add_slice("s", "x", "y", "height", 1, -1, 2))
    old("slice-width", ["slice"], {"x": x}, {"y": x[:, :, -4:-1]},
        lambda builder: builder.add_slice("s", "x", "y", "width", 0, -1, 1),
        edit=lambda spec: setattr(spec.neuralNetwork.layers[0].slice, "startIndex", -4))
    exact("slice-static", ["sliceStatic"], {"x": x}, {"y": x[1:4, ::-2, 2:]},
          lambda builder: builder.add_slice_static(
              "s", "x", "y", [1, 9, 2], [4, 0, 9], [1, -2, 1], [False, True, False], [False, True, True]))
    exact("slice-static-squeeze", ["sliceStatic"], {"x": x}, {"y": x[1:3, -1, :]},
          lambda builder: builder.add_slice_static(
              "s", "x", "y", [1, -1, 0], [3, 0, 0], [1, 1, 1], [False, False, True], [False, False, True],
              [False, True, False]))
    exact("slice-dynamic", ["sliceDynamic"], {"x": x, "b": np.array([1, 0, 2], F), "e": np.array([4, 0, 6], F)},
          {"y": x[1:4, :, 2:6:2]},
          lambda builder: builder.add_slice_dynamic(
              "s", ["x", "b", "e"], "y", strides=[1, 1, 2], begin_masks=[False, True, False], end_masks=[False, True, False]))
    exact("slice-by-size", ["sliceBySize"], {"x": x, "b": np.array([2], F)}, {"y": x[:, 2:5]},
          lambda builder: builder.add_slice_by_size("s", ["x", "b"], "y", 1, 3))
    old("crop", ["crop"], {"x": x}, {"y": x[:, 1:4, 2:6]},
        lambda builder: builder.add_crop("c", 2, 1, 1, 2, [], ["x"], "y"))
    old("crop-like", ["crop"], {"x": x, "z": x[:, :3, :4]}, {"y": x[:, 2:5, 1:5]},
        lambda builder: builder.add_crop("c", 0, 0, 0, 0, [2, 1], ["x", "z"], "y"))


def resizing(old):
    x = values("resize", 2, 3, 4)
    old("upsample-nearest", ["upsample"], {"x": x}, {"y": x.repeat(2, 1).repeat(3, 2)},
        lambda builder: builder.add_upsample("u", 2, 3, "x", "y"))
    for mode in ("DEFAULT", "ALIGN_CORNERS_TRUE", "ALIGN_CORNERS_FALSE"):
        old(f"upsample-{mode.lower().replace('_', '-')}", ["upsample (bilinear)"], {"x": x}, {"y": bilinear(x, (6, 12), mode)},
            lambda builder: builder.add_upsample("u", 2, 3, "x", "y", "BILINEAR", mode))
    for mode in ("STRICT_ALIGN_ENDPOINTS_MODE", "ALIGN_ENDPOINTS_MODE", "UPSAMPLE_MODE", "ROI_ALIGN_MODE"):
        for size in ((5, 7), (2, 2), (1, 6)):
            old(f"resize-bilinear-{mode.lower().split('_')[0]}-{size[0]}x{size[1]}", ["resizeBilinear"], {"x": x},
                {"y": bilinear(x, size, mode)},
                lambda builder: builder.add_resize_bilinear("r", "x", "y", size[0], size[1], mode))


def constants(old, exact):
    x, c = values("constant", 2, 3, 4), values("constantc", 2, 3, 4)
    old("load-constant", ["loadConstant"], {"x": x}, {"y": x + c},
        lambda builder: (builder.add_load_constant("l", "c", c, (2, 3, 4)),
                         builder.add_elementwise("a", ["x", "c"], "y", "ADD")))
    exact("load-constant-nd", ["loadConstantND"], {"x": x}, {"y": x + c[0]},
          lambda builder: (builder.add_load_constant_nd("l", "c", c[0], (3, 4)),
                           builder.add_add_broadcastable("a", ["x", "c"], "y")))
    exact("fill-like", ["fillLike"], {"x": x}, {"y": np.full_like(x, 1.5)},
          lambda builder: builder.add_fill_like("f", "x", "y", 1.5))
    exact("fill-static", ["fillStatic"], {"x": x}, {"y": x + F(2)},
          lambda builder: (builder.add_fill_static("f", "z", (3, 1), 2.0),
                           builder.add_add_broadcastable("a", ["x", "z"], "y")))
    exact("fill-dynamic", ["fillDynamic"], {"x": np.array([2, 3], F)}, {"y": np.full((2, 3), 1.5, F)},
          lambda builder: builder.add_fill_dynamic("f", "x", "y", 1.5))
    exact("range-static", ["rangeStatic"], {"x": np.ones(5, F)}, {"y": np.arange(0.5, 3, 0.5, F) + 1},
          lambda builder: (builder.add_range_static("r", "z", end=3, start=0.5, step=0.5),
                           builder.add_add_broadcastable("a", ["x", "z"], "y")))
    exact("range-dynamic", ["rangeDynamic"], {"e": np.array([7], F), "s": np.array([1], F)}, {"y": np.arange(1, 7, 2, F)},
          lambda builder: builder.add_range_dynamic("r", ["e", "s"], "y", step=2))


def selections(exact):
    x = values("select", 4, 5, 3)
    exact("gather", ["gather"], {"x": x, "i": np.array([3, -1, 0], F)}, {"y": x[:, [3, -1, 0]]},
          lambda builder: builder.add_gather("g", ["x", "i"], "y", axis=1))
    exact("gather-nd", ["gatherND"], {"x": x, "i": np.array([[0, 1], [3, 4]], F)}, {"y": np.stack([x[0, 1], x[3, 4]])},
          lambda builder: builder.add_gather_nd("g", ["x", "i"], "y"))
    places = random("along").integers(-5, 5, (4, 2, 3))
    exact("gather-along-axis", ["gatherAlongAxis"], {"x": x, "i": places.astype(F)},
          {"y": np.take_along_axis(x, places, 1)},
          lambda builder: builder.add_gather_along_axis("g", ["x", "i"], "y", axis=1))
    order = np.argsort(-x, 1, kind="stable")[:, :2]
    exact("topk", ["topK"], {"x": x}, {"v": np.take_along_axis(x, order, 1), "i": order.astype(F)},
          lambda builder: builder.add_topk("t", ["x"], ["v", "i"], k=2, axis=1))
    lowest = np.argsort(x, 1, kind="stable")[:, :2]
    exact("topk-bottom", ["topK"], {"x": x}, {"v": np.take_along_axis(x, lowest, 1), "i": lowest.astype(F)},
          lambda builder: builder.add_topk("t", ["x"], ["v", "i"], k=2, axis=-2, use_bottom_k=True))
    exact("argmax", ["argMax"], {"x": x}, {"y": x.argmax(1).astype(F)},
          lambda builder: builder.add_argmax("a", "x", "y", 1, keepdims=False))
    exact("argmin", ["argMin"], {"x": x}, {"y": x.argmin(-1)[..., None].astype(F)},
          lambda builder: builder.add_argmin("a", "x", "y", -1))
    for descending in (False, True):
        exact(f"argsort{'-descending' if descending else ''}", ["argSort"], {"x": x},
              {"y": np.argsort(-x if descending else x, 1, kind="stable").astype(F)},
              lambda builder: builder.add_argsort("a", "x", "y", 1, descending))
    operations = {
        "UPDATE": lambda old, new: new, "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "DIV": np.divide,
        "MAX": np.maximum, "MIN": np.minimum,
    }
    rows, slices = np.array([2, -4], F), values("scatter", 2, 5, 3, low=0.5)
    points, elements = np.array([[0, 1, 2], [3, -1, 0]], F), values("points", 2, low=0.5)
    along, many = np.array([[[1, 0, 4]]] * 4, F), values("alongs", 4, 1, 3, low=0.5)
    for mode, operation in operations.items():
        y, z, t = x.copy(), x.copy(), x.copy()
        for row, part in zip((2, 0), slices):
            y[row] = operation(x[row], part)
        for point, element in zip(points.astype(int), elements):
            z[tuple(point)] = operation(x[tuple(point)], element)
        np.put_along_axis(t, along.astype(int), operation(np.take_along_axis(x, along.astype(int), 1), many), 1)
        exact(f"scatter-{mode.lower()}", ["scatter"], {"x": x, "i": rows, "u": slices}, {"y": y},
              lambda builder: builder.add_scatter("s", ["x", "i", "u"], "y", axis=0, mode=mode))
        exact(f"scatter-nd-{mode.lower()}", ["scatterND"], {"x": x, "i": points, "u": elements}, {"y": z},
              lambda builder: builder.add_scatter_nd("s", ["x", "i", "u"], "y", mode=mode))
        exact(f"scatter-along-axis-{mode.lower()}", ["scatterAlongAxis"], {"x": x, "i": along, "u": many}, {"y": t},
              lambda builder: builder.add_scatter_along_axis("s", ["x", "i", "u"], "y", axis=1, mode=mode))
    turned = x.copy()
    for index, length in enumerate((3, 5, 1, 2)):
        turned[index, :length] = x[index, :length][::-1]
    exact("reverse-sequence", ["reverseSeq"], {"x": x, "l": np.array([3, 5, 1, 2], F)}, {"y": turned},
          lambda builder: builder.add_reverse_sequence("r", ["x", "l"], "y", batch_axis=0, seq_axis=1))
    labels = np.array([[0, 2], [1, 3]], F)
    exact("one-hot", ["oneHot"], {"x": labels}, {"y": np.where(np.eye(4)[labels.astype(int)] > 0, F(2), F(-1))},
          lambda builder: builder.add_one_hot("o", ["x"], "y", 4, axis=-1, on_value=2.0, off_value=-1.0))
    exact("one-hot-front", ["oneHot"], {"x": labels}, {"y": np.eye(4, dtype=F)[labels.astype(int)].transpose(2, 0, 1)},
          lambda builder: builder.add_one_hot("o", ["x"], "y", 4, axis=0))
    exact("cumsum", ["cumSum"], {"x": x}, {"y": x.cumsum(1)}, lambda builder: builder.add_cumsum("c", ["x"], "y", axis=1))
    shifted = np.concatenate([x[:, 1:], np.zeros_like(x[:, :1])], 1)
    exact("cumsum-reverse-exclusive", ["cumSum"], {"x": x}, {"y": shifted[:, ::-1].cumsum(1)[:, ::-1]},
          lambda builder: builder.add_cumsum("c", ["x"], "y", axis=-2, reverse=True, exclusive=True))
    exact("lower-triangular", ["lowerTriangular"], {"x": x}, {"y": np.tril(x, -1)},
          lambda builder: builder.add_lower_triangular("l", "x", "y", -1))
    exact("upper-triangular", ["upperTriangular"], {"x": x}, {"y": np.triu(x, 1)},
          lambda builder: builder.add_upper_triangular("u", "x", "y", 1))
    exact("matrix-band-part", ["matrixBandPart"], {"x": x}, {"y": np.triu(np.tril(x, 1), -2)},
          lambda builder: builder.add_matrix_band_part("m", "x", "y", num_lower=2, num_upper=1))


def recurrent(old):
    """The sequence is made of an array [C, H, W] = [I, 1, S] by a permutation: [S, 1, I, 1, 1]."""
    steps, inputs, hidden = 4, 3, 2

    def layer(name, covers, y, add, **options):
        x = values(name, inputs, 1, steps)
        def build(builder):
            builder.add_permute("permute", [3, 1, 2, 0], "x", "s")
            add(builder)
        old(name, covers, {"x": x}, {"y": y(x[:, 0].T.astype(np.float64)).astype(F)}, build, **options)

    def w(name, *shape): return values(name, *shape, low=-1, high=1)

    names = {"SIGMOID": sigmoid, "TANH": np.tanh, "RELU": lambda v: np.maximum(v, 0), "LINEAR": lambda v: v,
             "SIGMOID_HARD": lambda v: np.clip(0.2 * v + 0.5, 0, 1), "SCALED_TANH": lambda v: 1.7159 * np.tanh(2 / 3 * v)}
    def sequence(v): return v[:, None, :]

    for activation, backward, all_steps in (("TANH", False, True), ("RELU", True, False), ("SIGMOID_HARD", True, True),
                                            ("TANH", False, False)):
        text = f"{activation.lower().replace('_', '-')}{'-reverse' if backward else ''}{'-sequence' if all_steps else ''}"
        wx, wh, b = w("rx" + text, hidden, inputs), w("rh" + text, hidden, hidden), w("rb" + text, hidden)
        def y(x): 
            h = simple_rnn(x[::-1] if backward else x, wx, wh, b, names[activation])
            return sequence(h) if all_steps else h[-1]
        layer(f"simple-rnn-{text}", ["simpleRecurrent"], y,
              lambda builder: builder.add_simple_rnn(
                  "rnn", wh, wx, b, hidden, inputs, activation, ["s"], ["y"], output_all=all_steps, reverse_input=backward))
    for inner, outer, backward, all_steps in (("SIGMOID", "TANH", False, True), ("SIGMOID_HARD", "TANH", True, True),
                                              ("SIGMOID", "TANH", True, False), ("SIGMOID", "RELU", False, False)):
        text = f"{inner.lower().replace('_', '-')}-{outer.lower()}{'-reverse' if backward else ''}{'-sequence' if all_steps else ''}"
        wx, wh, b = [[w(f"g{k}{i}{text}", *shape) for i in range(3)]
                     for k, shape in (("x", (hidden, inputs)), ("h", (hidden, hidden)), ("b", (hidden,)))]
        def y(x):
            h = gru(x[::-1] if backward else x, wx, wh, b, names[inner], names[outer])
            return sequence(h) if all_steps else h[-1]
        layer(f"gru-{text}", ["gru"], y,
              lambda builder: builder.add_gru("gru", wh, wx, b, hidden, inputs, ["s"], ["y"], outer, inner, all_steps, backward))
    variants = {
        "plain-sequence": dict(output_all=True), "plain-last": {}, "reverse-sequence": dict(output_all=True, reverse_input=True),
        "forget-bias": dict(forget_bias=True), "peephole": dict(peep=True, output_all=True),
        "coupled": dict(coupled_input_forget_gate=True), "cell-clip": dict(cell_clip_threshold=0.2, output_all=True),
        "activations": dict(inner_activation="SIGMOID_HARD", cell_state_update_activation="RELU", output_activation="SCALED_TANH",
                            output_all=True),
    }
    for name, options in variants.items():
        wx, wh, b, peep = [[w(f"l{k}{i}{name}", *shape) for i in range(4)] for k, shape in
                           (("x", (hidden, inputs)), ("h", (hidden, hidden)), ("b", (hidden,)), ("p", (hidden,)))]
        def y(x):
            h, _ = lstm(x[::-1] if options.get("reverse_input") else x, wx, wh, b,
                        names[options.get("inner_activation", "SIGMOID")],
                        names[options.get("cell_state_update_activation", "TANH")],
                        names[options.get("output_activation", "TANH")],
                        peep=peep[:3] if "peep" in options else None, forget_bias=options.get("forget_bias", False),
                        coupled=options.get("coupled_input_forget_gate", False), clip=options.get("cell_clip_threshold", 50))
            return sequence(h) if options.get("output_all") else h[-1]
        given = dict(options)
        given.setdefault("cell_clip_threshold", 50.0)
        if "peep" in given:
            given["peep"] = peep[:3]
        # The builder takes the gates in the order i, f, o, z.
        def order(parts): return [parts[0], parts[1], parts[3], parts[2]]
        layer(f"lstm-{name}", ["uniDirectionalLSTM"], y,
              lambda builder: builder.add_unilstm("lstm", order(wh), order(wx), order(b), hidden, inputs, ["s"], ["y"], **given))
    wx, wh, b = [[w(f"s{k}{i}", *shape) for i in range(4)] for k, shape in
                 (("x", (hidden, inputs)), ("h", (hidden, hidden)), ("b", (hidden,)))]
    def order(parts): return [parts[0], parts[1], parts[3], parts[2]]
    x, h0, c0 = values("lstm-state", inputs), values("lstm-h", hidden), values("lstm-c", hidden)
    hs, cs = lstm(x[None].astype(np.float64), wx, wh, b, sigmoid, np.tanh, np.tanh, h=h0, c=c0)
    old("lstm-state", ["uniDirectionalLSTM"], {"x": x, "hin": h0, "cin": c0},
        {"y": hs[-1].astype(F), "hout": hs[-1].astype(F), "cout": cs[-1].astype(F)},
        lambda builder: builder.add_unilstm(
            "lstm", order(wh), order(wx), order(b), hidden, inputs, ["x", "hin", "cin"], ["y", "hout", "cout"],
            cell_clip_threshold=50.0))
    gx, gh, gb = [[w(f"t{k}{i}", *shape) for i in range(4)] for k, shape in
                  (("x", (hidden, inputs)), ("h", (hidden, hidden)), ("b", (hidden,)))]
    for all_steps in (False, True):
        def y(x):
            ahead, _ = lstm(x, wx, wh, b, sigmoid, np.tanh, np.tanh)
            back, _ = lstm(x[::-1], gx, gh, gb, sigmoid, np.tanh, np.tanh)
            if all_steps:
                return sequence(np.concatenate([ahead, back[::-1]], 1))
            return np.concatenate([ahead[-1], back[-1]])
        layer(f"bi-lstm{'-sequence' if all_steps else ''}", ["biDirectionalLSTM"], y,
              lambda builder: builder.add_bidirlstm(
                  "lstm", order(wh), order(wx), order(b), order(gh), order(gx), order(gb), hidden, inputs, ["s"], ["y"],
                  output_all=all_steps, cell_clip_threshold=50.0))


def weights(old):
    """innerProduct with its weights in each form of WeightParams."""
    rows, columns = 3, 5
    x = values("weights", columns)
    real = values("weightsr", rows, columns)

    def edit(write):
        def apply(spec):
            message = spec.neuralNetwork.layers[0].innerProduct.weights
            message.Clear()
            write(message)
        return apply

    def network(name, matrix, write, cover, tolerance=1e-4):
        old(f"weights-{name}", [cover], {"x": x}, {"y": matrix.astype(F) @ x},
            lambda builder: builder.add_inner_product("inner", real, None, columns, rows, False, "x", "y"),
            edit=edit(write), tolerance=tolerance)

    half = real.astype(np.float16)
    network("float16", half, lambda m: setattr(m, "float16Value", half.tobytes()), "weights (float16)")

    def packed(numbers, bits):
        # The highest bit first, no gaps; zeros at the end.
        text = "".join(f"{number:0{bits}b}" for number in numbers.ravel())
        text += "0" * (-len(text) % 8)
        return bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))

    for bits in range(1, 9):
        codes = random(f"bits{bits}").integers(0, 1 << bits, (rows, columns))
        for channels in (1, rows):
            scale, bias = values(f"scale{bits}{channels}", channels), values(f"qbias{bits}{channels}", channels)
            def write(m):
                m.rawValue = packed(codes, bits)
                m.quantization.numberOfBits = bits
                m.quantization.linearQuantization.scale.extend(scale.tolist())
                m.quantization.linearQuantization.bias.extend(bias.tolist())
            network(f"linear-{bits}-{channels}", codes * scale[:, None] + bias[:, None], write, f"weights ({bits} bits, linear)")
        table = values(f"table{bits}", 1 << bits)
        def lookup(m):
            m.rawValue = packed(codes, bits)
            m.quantization.numberOfBits = bits
            m.quantization.lookupTableQuantization.floatValue.extend(table.tolist())
        network(f"table-{bits}", table[codes], lookup, f"weights ({bits} bits, table)")
    signed = random("int8").integers(-128, 128, (rows, columns))
    scale = values("int8scale", rows)
    def write8(m):
        m.int8RawValue = signed.astype(np.int8).tobytes()
        m.quantization.numberOfBits = 8
        m.quantization.linearQuantization.scale.extend(scale.tolist())
    network("int8", signed * scale[:, None], write8, "weights (int8)")
