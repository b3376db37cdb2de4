"""TF Lite operators that move a window over a picture, and products with weights."""

import numpy

from tflite_model import FORMULA, Family

NONE, RELU, RELU_N1, RELU6, TANH = 0, 1, 2, 3, 4
ACTIVATIONS = {"": NONE, ", RELU": RELU, ", RELU_N1_TO_1": RELU_N1, ", RELU6": RELU6}
SAME, VALID = 0, 1
PADDINGS = {"SAME": SAME, "VALID": VALID}
FUSED_TANH = (FORMULA, "LiteRT does not apply a fused TANH")


def cases():
    family = Family(11)
    for part in (convolutions, depthwise, transposed, volumes, pools, connected, others):
        part(family)
    return family.cases


def patches(x, kernel, strides, padding, dilations=(1, 1), fill=0.0):
    """The windows of a picture [N, H, W, C]: [N, OH, OW, KH, KW, C]."""
    out, pads = [], []
    for size, k, s, d in zip(x.shape[1:3], kernel, strides, dilations):
        reach = (k - 1) * d + 1
        n = -(-size // s) if padding == SAME else -(-(size - reach + 1) // s)
        total = max(0, (n - 1) * s + reach - size) if padding == SAME else 0
        out.append(n)
        pads.append((total // 2, total - total // 2))
    padded = numpy.pad(x, ((0, 0), *pads, (0, 0)), constant_values=fill)
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, [(k - 1) * d + 1 for k, d in zip(kernel, dilations)], (1, 2))
    windows = windows[:, :: strides[0], :: strides[1], :, :: dilations[0], :: dilations[1]][:, : out[0], : out[1]]
    return numpy.moveaxis(windows, 3, -1)


def activated(value, activation):
    return {NONE: value, RELU: numpy.maximum(value, 0), RELU_N1: numpy.clip(value, -1, 1), RELU6: numpy.clip(value, 0, 6), TANH: numpy.tanh(value)}[activation]


def convolution(strides, padding, activation=NONE, dilations=(1, 1)):
    def formula(x, w, b=0.0):
        found = numpy.einsum("nhwijc,oijc->nhwo", patches(x.astype("f8"), w.shape[1:3], strides, padding, dilations), w.astype("f8"))
        return activated(found + b, activation).astype("f4")
    return formula


def conv(strides=(1, 1), padding=SAME, activation=NONE, dilations=(1, 1)):
    return "Conv2DOptions", {"padding": padding, "strideH": strides[0], "strideW": strides[1], "dilationHFactor": dilations[0], "dilationWFactor": dilations[1],
                             "fusedActivationFunction": activation}


def quantized(f, dtype, out, shape, channels=None):
    """Weights, bias and their scales for a picture of `dtype` with the scale 0.02: per channel of `channels`, an axis, or for all."""
    zero = 128 if dtype == "u1" else 3
    if channels is None:
        weights, scale = f.noise(*shape, dtype=dtype if dtype == "u1" else "i1", low=1), (0.015, 120 if dtype == "u1" else 0)
        ws = numpy.full(out, 0.015)
    else:
        ws = numpy.abs(f.noise(out)) * 0.01 + 0.005
        weights, scale = f.noise(*shape, dtype="i1", low=-127), (ws, numpy.zeros(out, int), channels)
    bias = f.noise(out, dtype="i4", low=-900, high=900)
    scales = {"x": (0.02, zero), "w": scale, "b": (ws * 0.02 if channels is not None else 0.0003, numpy.zeros(out, int) if channels is not None else 0), "y": (0.3, zero)}
    return {"w": weights, "b": bias}, scales


def convolutions(f):
    x, w, b = f.noise(1, 9, 11, 4), f.noise(6, 3, 3, 4), f.noise(6)
    for word, padding in PADDINGS.items():
        for name, activation in ACTIVATIONS.items():
            f.add("CONV_2D", word + name, {"x": x}, {"w": w, "b": b}, options=conv((2, 2), padding, activation), formula=convolution((2, 2), padding, activation))
        f.add("CONV_2D", f"{word}, dilations", {"x": x}, {"w": w, "b": b}, options=conv((1, 1), padding, NONE, (2, 3)), version=2, formula=convolution((1, 1), padding, NONE, (2, 3)))
        f.add("CONV_2D", f"{word}, even kernel", {"x": x}, {"w": f.noise(5, 2, 4, 4), "b": f.noise(5)}, options=conv((1, 2), padding), formula=convolution((1, 2), padding))
    f.add("CONV_2D", "TANH", {"x": x}, {"w": w * numpy.float32(0.1), "b": b}, options=conv((1, 1), SAME, TANH), formula=convolution((1, 1), SAME, TANH), right=FUSED_TANH)
    f.add("CONV_2D", "without a bias", {"x": x}, {"w": w}, options=conv(), order=["x", "w", ""], formula=convolution((1, 1), SAME))
    f.add("CONV_2D", "one pixel", {"x": x}, {"w": f.noise(3, 1, 1, 4), "b": f.noise(3)}, options=conv(), formula=convolution((1, 1), SAME))
    f.add("CONV_2D", "groups", {"x": x}, {"w": f.noise(6, 3, 3, 2), "b": b}, options=conv(), version=6)
    f.add("CONV_2D", "batch", {"x": f.noise(3, 6, 6, 4)}, {"w": w, "b": b}, options=conv(), opened="batch", formula=convolution((1, 1), SAME))
    for dtype in ("i1", "u1"):
        picture = f.noise(1, 9, 11, 4, dtype=dtype)
        for word, padding in PADDINGS.items():
            for name, activation in ACTIVATIONS.items():
                constants, scales = quantized(f, dtype, 6, (6, 3, 3, 4), None if dtype == "u1" else 0)
                f.add("CONV_2D", word + name, {"x": picture}, constants, scales=scales, options=conv((2, 2), padding, activation), version=3 if dtype == "i1" else 1, tolerance=1)
        constants, scales = quantized(f, dtype, 6, (6, 3, 3, 4), None if dtype == "u1" else 0)
        f.add("CONV_2D", "dilations", {"x": picture}, constants, scales=scales, options=conv((1, 1), SAME, NONE, (2, 2)), version=3, tolerance=1)
    constants, scales = quantized(f, "i1", 6, (6, 3, 3, 4))
    f.add("CONV_2D", "one scale", {"x": f.noise(1, 9, 11, 4, dtype="i1")}, constants, scales=scales, options=conv(), version=3, tolerance=1)
    for word, per in (("", None), (", per channel", 0)):
        ws = numpy.abs(f.noise(6)) * 0.01 + 0.005 if per == 0 else 0.015
        f.add("CONV_2D", f"byte weights, float picture{word}", {"x": x}, {"w": f.noise(6, 3, 3, 4, dtype="i1", low=-127), "b": b}, scales={"w": (ws, numpy.zeros(6, int), 0) if per == 0 else (ws, 0)},
              options=conv(), version=5 if per == 0 else 2, tolerance=2e-2)
    ws = numpy.abs(f.noise(6)) * 0.01 + 0.005
    f.add("CONV_2D", "int16 picture", {"x": f.noise(1, 9, 11, 4, dtype="i2", low=-9999, high=9999)}, {"w": f.noise(6, 3, 3, 4, dtype="i1", low=-127), "b": f.noise(6, dtype="i8", low=-9000, high=9000)},
          scales={"x": (0.0001, 0), "w": (ws, numpy.zeros(6, int), 0), "b": (ws * 0.0001, numpy.zeros(6, int), 0), "y": (0.0005, 0)}, options=conv(), version=4, tolerance=2)
    f.add("CONV_2D", "float16 weights", {"x": x}, {"h": w.astype("f2"), "b": b}, nodes=[("DEQUANTIZE", 3, ["h"], ["w"], None, "float32"), ("CONV_2D", 1, ["x", "w", "b"], ["y"], conv())])


def depthwise(f):
    def options(strides, padding, activation=NONE, dilations=(1, 1), multiplier=1):
        return "DepthwiseConv2DOptions", {"padding": padding, "strideH": strides[0], "strideW": strides[1], "depthMultiplier": multiplier, "fusedActivationFunction": activation,
                                          "dilationHFactor": dilations[0], "dilationWFactor": dilations[1]}

    def formula(strides, padding, activation=NONE, dilations=(1, 1), multiplier=1):
        def compute(x, w, b):
            windows = numpy.repeat(patches(x.astype("f8"), w.shape[1:3], strides, padding, dilations), multiplier, -1)
            return activated(numpy.einsum("nhwijc,ijc->nhwc", windows, w[0].astype("f8")) + b, activation).astype("f4")
        return compute

    x = f.noise(1, 9, 11, 4)
    for word, padding in PADDINGS.items():
        for name, activation in ACTIVATIONS.items():
            f.add("DEPTHWISE_CONV_2D", word + name, {"x": x}, {"w": f.noise(1, 3, 3, 4), "b": f.noise(4)}, options=options((2, 2), padding, activation), formula=formula((2, 2), padding, activation))
        f.add("DEPTHWISE_CONV_2D", f"{word}, dilations", {"x": x}, {"w": f.noise(1, 3, 3, 4), "b": f.noise(4)}, options=options((1, 1), padding, NONE, (2, 2)), version=2,
              formula=formula((1, 1), padding, NONE, (2, 2)))
    f.add("DEPTHWISE_CONV_2D", "multiplier 2", {"x": x}, {"w": f.noise(1, 3, 3, 8), "b": f.noise(8)}, options=options((1, 1), SAME, multiplier=2), formula=formula((1, 1), SAME, multiplier=2))
    f.add("DEPTHWISE_CONV_2D", "multiplier of one channel", {"x": f.noise(1, 9, 11, 1)}, {"w": f.noise(1, 3, 3, 6), "b": f.noise(6)}, options=options((1, 1), SAME, multiplier=6), formula=formula((1, 1), SAME, multiplier=6))
    for dtype in ("i1", "u1"):
        for word, padding in PADDINGS.items():
            for name, activation in ACTIVATIONS.items():
                constants, scales = quantized(f, dtype, 4, (1, 3, 3, 4), None if dtype == "u1" else 3)
                f.add("DEPTHWISE_CONV_2D", word + name, {"x": f.noise(1, 9, 11, 4, dtype=dtype)}, constants, scales={**scales, "y": (0.1, scales["y"][1])}, options=options((2, 2), padding, activation),
                      version=3 if dtype == "i1" else 1, tolerance=1)
        constants, scales = quantized(f, dtype, 8, (1, 3, 3, 8), None if dtype == "u1" else 3)
        f.add("DEPTHWISE_CONV_2D", "multiplier 2", {"x": f.noise(1, 9, 11, 4, dtype=dtype)}, constants, scales={**scales, "y": (0.1, scales["y"][1])}, options=options((1, 1), SAME, multiplier=2), version=3 if dtype == "i1" else 1, tolerance=1)
    f.add("DEPTHWISE_CONV_2D", "byte weights, float picture", {"x": x}, {"w": f.noise(1, 3, 3, 4, dtype="i1", low=-127), "b": f.noise(4)}, scales={"w": (numpy.full(4, 0.015), numpy.zeros(4, int), 3)},
          options=options((1, 1), SAME), version=6, tolerance=2e-2)


def spread(strides, padding, activation=NONE):
    """TRANSPOSE_CONV: each element of the picture adds its multiple of the weights [O, KH, KW, I]."""
    def formula(x, s, w, b=0.0):
        height, width = int(s[1]), int(s[2])
        n, h, v, _ = x.shape
        kh, kw = w.shape[1:3]
        whole = numpy.zeros((n, (h - 1) * strides[0] + kh, (v - 1) * strides[1] + kw, w.shape[0]))
        for i in range(h):
            for j in range(v):
                whole[:, i * strides[0] : i * strides[0] + kh, j * strides[1] : j * strides[1] + kw] += numpy.einsum("nc,oklc->nklo", x[:, i, j].astype("f8"), w.astype("f8"))
        top, left = (max(0, (h - 1) * strides[0] + kh - height) // 2, max(0, (v - 1) * strides[1] + kw - width) // 2) if padding == SAME else (0, 0)
        result = numpy.zeros((n, height, width, w.shape[0]))
        part = whole[:, top : top + height, left : left + width]
        result[:, : part.shape[1], : part.shape[2]] = part
        return activated(result + b, activation).astype("f4")
    return formula


def transposed(f):
    def options(strides, padding, activation=NONE):
        return "TransposeConvOptions", {"padding": padding, "strideH": strides[0], "strideW": strides[1], "fusedActivationFunction": activation}

    x = f.noise(1, 5, 6, 3)
    sizes = {SAME: (10, 12), VALID: (11, 13)}
    for word, padding in PADDINGS.items():
        s, w, b = numpy.array([1, *sizes[padding], 4], "i4"), f.noise(4, 3, 3, 3), f.noise(4)
        f.add("TRANSPOSE_CONV", f"version 1, {word}", {"x": x}, {"s": s, "w": w}, order=["s", "w", "x"], options=options((2, 2), padding), opened="batch", axes=("fixed",), formula=spread((2, 2), padding))
        f.add("TRANSPOSE_CONV", f"version 3, {word}", {"x": x}, {"s": s, "w": w, "b": b}, order=["s", "w", "x", "b"], options=options((2, 2), padding), version=3, axes=("fixed",), formula=spread((2, 2), padding))
        for name, activation in ACTIVATIONS.items():
            f.add("TRANSPOSE_CONV", f"version 4, {word}{name}", {"x": x}, {"s": s, "w": w, "b": b}, order=["s", "w", "x", "b"], options=options((2, 2), padding, activation), version=4, axes=("fixed",),
                  formula=spread((2, 2), padding, activation))
            f.add("TRANSPOSE_CONV", f"version 4, {word}{name}, shape as an input", {"x": x, "s": s}, {"w": w, "b": b}, order=["s", "w", "x", "b"], options=options((2, 2), padding, activation), version=4,
                  opened={"x": (1, 2)}, axes=("open",), formula=spread((2, 2), padding, activation))
        f.add("TRANSPOSE_CONV", f"version 4, {word}, TANH", {"x": x}, {"s": s, "w": w * numpy.float32(0.2), "b": b}, order=["s", "w", "x", "b"], options=options((2, 2), padding, TANH), version=4, axes=("fixed",),
              formula=spread((2, 2), padding, TANH), right=FUSED_TANH)
    f.add("TRANSPOSE_CONV", "version 3, SAME, odd size", {"x": x}, {"s": numpy.array([1, 9, 11, 4], "i4"), "w": f.noise(4, 3, 3, 3), "b": f.noise(4)}, order=["s", "w", "x", "b"], options=options((2, 2), SAME), version=3,
          axes=("fixed",), formula=spread((2, 2), SAME))
    f.add("TRANSPOSE_CONV", "version 3, even kernel", {"x": x}, {"s": numpy.array([1, 10, 18, 4], "i4"), "w": f.noise(4, 4, 4, 3), "b": f.noise(4)}, order=["s", "w", "x", "b"], options=options((2, 3), SAME), version=3,
          axes=("fixed",), formula=spread((2, 3), SAME))
    for dtype in ("i1", "u1"):
        for word, padding in PADDINGS.items():
            for name, activation in ACTIVATIONS.items():
                constants, scales = quantized(f, dtype, 4, (4, 3, 3, 3), None if dtype == "u1" else 0)
                for version in (2, 3, 4, 5) if not name else (4, 5):
                    if (version == 2) and "b" in constants:
                        used, order = {"s": numpy.array([1, *sizes[padding], 4], "i4"), "w": constants["w"]}, ["s", "w", "x"]
                    else:
                        used, order = {"s": numpy.array([1, *sizes[padding], 4], "i4"), **constants}, ["s", "w", "x", "b"]
                    f.add("TRANSPOSE_CONV", f"version {version}, {word}{name}", {"x": f.noise(1, 5, 6, 3, dtype=dtype)}, used, order=order, scales=scales, options=options((2, 2), padding, activation),
                          version=version, axes=("fixed",), tolerance=1)


def volumes(f):
    options = "Conv3DOptions", {"padding": SAME, "strideD": 1, "strideH": 2, "strideW": 1, "dilationDFactor": 1, "dilationHFactor": 1, "dilationWFactor": 1, "fusedActivationFunction": NONE}
    f.add("CONV_3D", "SAME", {"x": f.noise(1, 4, 5, 6, 2)}, {"w": f.noise(3, 3, 3, 2, 4), "b": f.noise(4)}, options=options)
    f.add("CONV_3D", "VALID, RELU", {"x": f.noise(1, 4, 5, 6, 2)}, {"w": f.noise(2, 3, 3, 2, 4), "b": f.noise(4)}, options=("Conv3DOptions", {**options[1], "padding": VALID, "fusedActivationFunction": RELU}))
    f.add("CONV_3D_TRANSPOSE", "SAME", {"x": f.noise(1, 2, 3, 4, 2)}, {"s": numpy.array([1, 2, 6, 4, 3], "i4"), "w": f.noise(2, 3, 3, 3, 2)}, order=["s", "w", "x"], options=options, axes=("fixed",))


def pools(f):
    def options(strides, padding, kernel=(3, 2), activation=NONE):
        return "Pool2DOptions", {"padding": padding, "strideH": strides[0], "strideW": strides[1], "filterHeight": kernel[0], "filterWidth": kernel[1], "fusedActivationFunction": activation}

    def formula(operator, strides, padding, kernel, activation):
        def compute(x):
            windows = patches(x.astype("f8"), kernel, strides, padding, fill=numpy.nan)
            found = {"AVERAGE_POOL_2D": numpy.nanmean, "MAX_POOL_2D": numpy.nanmax, "L2_POOL_2D": lambda v, a: numpy.sqrt(numpy.nanmean(v * v, a))}[operator](windows, (3, 4))
            return activated(found, activation).astype("f4")
        return compute

    x = f.noise(1, 9, 11, 4) * 4
    for operator in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
        for word, padding in PADDINGS.items():
            for name, activation in ACTIVATIONS.items():
                f.add(operator, word + name, {"x": x}, options=options((2, 3), padding, (3, 2), activation), formula=formula(operator, (2, 3), padding, (3, 2), activation))
            if operator != "L2_POOL_2D":
                for dtype in ("i1", "u1"):
                    for name, activation in ACTIVATIONS.items():
                        f.add(operator, word + name, {"x": f.noise(1, 9, 11, 4, dtype=dtype)}, scales={"x": (0.1, 3), "y": (0.1, 3)}, options=options((2, 3), padding, (3, 2), activation),
                              version=2 if dtype == "i1" else 1, tolerance=1 if activation or operator == "AVERAGE_POOL_2D" else None)
    f.add("AVERAGE_POOL_2D", "of the whole picture", {"x": f.noise(2, 7, 7, 4)}, options=options((1, 1), VALID, (7, 7)), opened="batch", formula=formula("AVERAGE_POOL_2D", (1, 1), VALID, (7, 7), NONE))


def connected(f):
    def options(activation=NONE, keep=False):
        return "FullyConnectedOptions", {"fusedActivationFunction": activation, "weightsFormat": 0, "keepNumDims": keep}

    for name, activation in ACTIVATIONS.items():
        f.add("FULLY_CONNECTED", f"plain{name}", {"x": f.noise(3, 8)}, {"w": f.noise(5, 8), "b": f.noise(5)}, options=options(activation), formula=lambda x, w, b, a=activation: activated(x @ w.T + b, a).astype("f4"))
    f.add("FULLY_CONNECTED", "without a bias", {"x": f.noise(3, 8)}, {"w": f.noise(5, 8)}, order=["x", "w", ""], options=options())
    f.add("FULLY_CONNECTED", "keep_num_dims", {"x": f.noise(1, 3, 8)}, {"w": f.noise(5, 8), "b": f.noise(5)}, options=options(keep=True), version=5, opened={"x": (1,)})
    f.add("FULLY_CONNECTED", "of a map", {"x": f.noise(1, 2, 2, 2)}, {"w": f.noise(5, 8), "b": f.noise(5)}, options=options(), opened="batch")
    f.add("FULLY_CONNECTED", "weights as an input", {"x": f.noise(3, 8), "w": f.noise(5, 8)}, {"b": f.noise(5)}, options=options(), opened={"x": (0,)})
    for dtype in ("i1", "u1"):
        for name, activation in ACTIVATIONS.items():
            constants, scales = quantized(f, dtype, 5, (5, 8))
            f.add("FULLY_CONNECTED", f"plain{name}", {"x": f.noise(3, 8, dtype=dtype)}, constants, scales=scales, options=options(activation), version=4 if dtype == "i1" else 1, tolerance=1)
    constants, scales = quantized(f, "i1", 5, (5, 8), 0)
    f.add("FULLY_CONNECTED", "per channel", {"x": f.noise(3, 8, dtype="i1")}, constants, scales=scales, options=options(), version=12, tolerance=1)
    f.add("FULLY_CONNECTED", "byte weights, float row", {"x": f.noise(3, 8)}, {"w": f.noise(5, 8, dtype="i1", low=-127), "b": f.noise(5)}, scales={"w": (0.015, 0)}, options=options(), version=9, tolerance=2e-2)


def others(f):
    f.add("LOCAL_RESPONSE_NORMALIZATION", "plain", {"x": f.noise(1, 4, 5, 7)}, options=("LocalResponseNormalizationOptions", {"radius": 2, "bias": 1.0, "alpha": 0.3, "beta": 0.5}))
    for dtype, scales in (("f4", None), ("i1", {"x": (0.03, 5), "y": (1 / 128, 0)}), ("u1", {"x": (0.03, 120), "y": (1 / 128, 128)})):
        f.add("L2_NORMALIZATION", "plain", {"x": f.noise(1, 4, 5, 7, dtype=dtype)}, options=("L2NormOptions", {"fusedActivationFunction": NONE}), scales=scales, version=2 if dtype == "i1" else 1,
              tolerance=1 if scales else None)
    x, w = f.noise(2, 3, 4, 5), f.noise(2, 3, 5, 6)
    for a in (False, True):
        for b in (False, True):
            f.add("BATCH_MATMUL", f"adj_x {int(a)}, adj_y {int(b)}", {"x": x.swapaxes(-1, -2).copy() if a else x, "z": w.swapaxes(-1, -2).copy() if b else w}, options=("BatchMatMulOptions", {"adjX": a, "adjY": b}),
                  opened={"x": (3 if a else 2,)}, formula=lambda x, z, a=a, b=b: (x.swapaxes(-1, -2) if a else x) @ (z.swapaxes(-1, -2) if b else z))
    f.add("BATCH_MATMUL", "constant", {"x": f.noise(1, 4, 5)}, {"z": f.noise(1, 5, 6)}, options=("BatchMatMulOptions", {}), opened={"x": (1,)}, formula=lambda x, z: x @ z)
    f.add("BATCH_MATMUL", "bytes", {"x": f.noise(1, 4, 5, dtype="i1"), "z": f.noise(1, 5, 6, dtype="i1")}, options=("BatchMatMulOptions", {}), version=2, scales={"x": (0.02, 3), "z": (0.03, -2), "y": (0.3, 1)},
          opened={"x": (1,)}, tolerance=1)
