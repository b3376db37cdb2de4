"""ONNX operators of quantized networks, and the float operators between QuantizeLinear and DequantizeLinear, as quantizers write them."""

import numpy
from onnx import TensorProto, helper

from onnx_model import REFERENCE, Family

X = (1, 4, 7, 9)
SATURATED = (REFERENCE, "ONNX Runtime's sums of uint8 times int8 saturate on processors without VNNI")


SIGNED = (REFERENCE, "ONNX Runtime computes ConvInteger of int8 pictures and uint8 weights wrongly")


def mixed(picture, weights, convolves=False):
    """Products of signed and unsigned bytes have one reliable program."""
    if picture == weights:
        return None
    return SIGNED if convolves and picture == "i1" else SATURATED


def cases():
    family = Family(6)
    for part in (conversions, convolutions, products, surrounded, weights_only):
        part(family)
    return family.cases


def conversions(f):
    # No value lies between two steps: rounding of halves has cases of its own.
    x = (f.noise(*X, dtype="i4", low=-150, high=150) + f.noise(*X, low=-0.4, high=0.4)).astype("f4") * numpy.float32(0.0625)
    for dtype in ("u1", "i1"):
        zero = numpy.array(7, dtype)
        f.add("QuantizeLinear", "plain", {"x": x}, {"s": numpy.float32(0.0625), "z": zero}, types=numpy.dtype(dtype).name)
        f.add("QuantizeLinear", "halves", {"x": (f.noise(*X, dtype="i4", low=-60, high=60) / 2).astype("f4")}, {"s": numpy.float32(1), "z": zero}, types=numpy.dtype(dtype).name, tolerance=1)
        for axis in (1, -1):
            count = X[axis]
            scales = numpy.exp2(-f.noise(count, dtype="i4", low=2, high=5)).astype("f4")
            zeros = f.noise(count, dtype=dtype, low=0, high=20)
            f.add("QuantizeLinear", f"per axis {axis}", {"x": x}, {"s": scales, "z": zeros}, axis=axis, types=numpy.dtype(dtype).name, tolerance=1, opened="batch" if axis < 0 else "auto")
            f.add("DequantizeLinear", f"per axis {axis}", {"x": f.noise(*X, dtype=dtype)}, {"s": scales, "z": zeros}, axis=axis, opened="batch" if axis < 0 else "auto")
        f.add("DequantizeLinear", "plain", {"x": f.noise(*X, dtype=dtype)}, {"s": numpy.float32(0.03), "z": zero})
        f.add("DequantizeLinear", "without a zero point", {"x": f.noise(*X, dtype=dtype)}, {"s": numpy.float32(0.03)})
    f.add("QuantizeLinear", "without a zero point", {"x": numpy.abs(x)}, {"s": numpy.float32(0.0625)})
    f.add("DequantizeLinear", "int32", {"x": f.noise(*X, dtype="i4", low=-9999, high=9999)}, {"s": numpy.float32(0.001)})
    f.add("DequantizeLinear", "blocks", {"x": f.noise(4, 8, dtype="i1")}, {"s": numpy.abs(f.noise(2, 8)), "z": f.noise(2, 8, dtype="i1", low=-9, high=9)}, opset=21, axis=0, block_size=2, axes=("fixed",))
    f.add("DequantizeLinear", "int16", {"x": f.noise(*X, dtype="i2", low=-9999, high=9999)}, {"s": numpy.float32(0.001), "z": numpy.array(5, "i2")}, opset=21)
    f.add("QuantizeLinear", "to int16", {"x": x}, {"s": numpy.float32(0.001), "z": numpy.array(5, "i2")}, opset=21, tolerance=1)
    f.add("DynamicQuantizeLinear", "plain", {"x": x}, outputs=["y", "s", "z"], tolerance=None)
    f.add("DynamicQuantizeLinear", "above zero", {"x": numpy.abs(x) + 1}, outputs=["y", "s", "z"])


def scale(f, *count):
    return (numpy.abs(f.noise(*count)) * 0.02 + 0.01).astype("f4")


def convolutions(f):
    for dtype in ("u1", "i1"):
        x, name = f.noise(*X, dtype=dtype), numpy.dtype(dtype).name
        for word, out, per in (("", 6, False), (", per channel", 6, True), (", per channel, as many channels", 4, True)):
            for kind in ("i1",) if dtype == "i1" else ("u1", "i1"):
                w = f.noise(out, 4, 3, 3, dtype=kind)
                zero = numpy.array(5, kind) if kind == "u1" and not per else numpy.zeros(out if per else (), kind)
                f.add("QLinearConv", f"{numpy.dtype(kind).name} weights{word}", {"x": x},
                      {"xs": numpy.float32(0.02), "xz": numpy.array(3, dtype), "w": w, "ws": scale(f, out) if per else numpy.float32(0.03), "wz": zero,
                       "ys": numpy.float32(0.4), "yz": numpy.array(9, dtype), "b": f.noise(out, dtype="i4", low=-900, high=900)}, pads=[1, 1, 1, 1], tolerance=1, right=mixed(dtype, kind))
        f.add("QLinearConv", "depthwise", {"x": x}, {"xs": numpy.float32(0.02), "xz": numpy.array(3, dtype), "w": f.noise(4, 1, 3, 3, dtype="i1"), "ws": scale(f, 4), "wz": numpy.zeros(4, "i1"),
              "ys": numpy.float32(0.1), "yz": numpy.array(9, dtype)}, group=4, strides=[2, 2], tolerance=1, right=mixed(dtype, "i1"))
        f.add("QLinearConv", "auto_pad SAME_UPPER", {"x": x}, {"xs": numpy.float32(0.02), "xz": numpy.array(3, dtype), "w": f.noise(3, 4, 3, 3, dtype="i1"), "ws": numpy.float32(0.02), "wz": numpy.zeros((), "i1"),
              "ys": numpy.float32(0.4), "yz": numpy.array(9, dtype)}, auto_pad="SAME_UPPER", strides=[2, 2], tolerance=1, right=mixed(dtype, "i1"))
        f.add("QLinearConv", "weights of seven bits", {"x": x}, {"xs": numpy.float32(0.02), "xz": numpy.array(3, dtype), "w": f.noise(3, 4, 3, 3, dtype="i1", low=-64, high=63), "ws": numpy.float32(0.02), "wz": numpy.zeros((), "i1"),
              "ys": numpy.float32(0.4), "yz": numpy.array(9, dtype)}, tolerance=1)
    for word, zeros in (("", []), (", zero point of the picture", ["xz"]), (", both zero points", ["xz", "wz"])):
        for dtype in ("u1", "i1"):
            for kind in ("u1", "i1"):
                constants = {"w": f.noise(5, 4, 3, 3, dtype=kind), "xz": numpy.array(3, dtype), "wz": numpy.array(4, kind)}
                f.add("ConvInteger", f"{numpy.dtype(kind).name} weights{word}", {"x": f.noise(*X, dtype=dtype)}, {k: v for k, v in constants.items() if k == "w" or k in zeros}, pads=[1, 1, 1, 1], right=mixed(dtype, kind, True))
    f.add("ConvInteger", "zero points of channels", {"x": f.noise(*X, dtype="u1")}, {"w": f.noise(5, 4, 3, 3, dtype="i1"), "xz": numpy.array(3, "u1"), "wz": f.noise(5, dtype="i1", low=-3, high=3)})


def products(f):
    for dtype in ("u1", "i1"):
        name = numpy.dtype(dtype).name
        for word, count in (("", ()), (", per column", (6,))):
            f.add("QLinearMatMul", f"plain{word}", {"x": f.noise(1, 5, 8, dtype=dtype)},
                  {"xs": numpy.float32(0.02), "xz": numpy.array(3, dtype), "w": f.noise(8, 6, dtype=dtype), "ws": scale(f, *count) if count else numpy.float32(0.03),
                   "wz": f.noise(*count, dtype=dtype, low=0, high=9) if count else numpy.array(4, dtype), "ys": numpy.float32(0.4), "yz": numpy.array(9, dtype)}, opened={"x": (1,)}, tolerance=1)
        for kind in ("u1", "i1"):
            f.add("MatMulInteger", f"{numpy.dtype(kind).name} weights", {"x": f.noise(1, 5, 8, dtype=dtype)}, {"w": f.noise(8, 6, dtype=kind)}, opened={"x": (1,)}, right=mixed(dtype, kind))
            f.add("MatMulInteger", f"{numpy.dtype(kind).name} weights, zero points", {"x": f.noise(1, 5, 8, dtype=dtype)},
                  {"w": f.noise(8, 6, dtype=kind), "xz": numpy.array(7, dtype), "wz": numpy.array(3, kind)}, opened={"x": (1,)}, right=mixed(dtype, kind))
            f.add("MatMulInteger", f"{numpy.dtype(kind).name} weights, zero points of columns", {"x": f.noise(1, 5, 8, dtype=dtype)},
                  {"w": f.noise(8, 6, dtype=kind), "xz": numpy.array(7, dtype), "wz": f.noise(6, dtype=kind, low=0, high=9)}, opened={"x": (1,)}, right=mixed(dtype, kind))
    # What onnxruntime.quantization.quantize_dynamic writes.
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), helper.make_node("MatMulInteger", ["q", "w", "z", "wz"], ["p"]),
             helper.make_node("Cast", ["p"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["s", "ws"], ["t"]), helper.make_node("Mul", ["f", "t"], ["y"])]
    for kind in ("u1", "i1"):
        f.add("MatMulInteger", f"dynamically quantized, {numpy.dtype(kind).name} weights", {"x": f.noise(2, 5, 8)}, {"w": f.noise(8, 6, dtype=kind), "wz": numpy.array(2, kind), "ws": numpy.array([0.01], "f4")},
              graph=nodes, opened={"x": (1,)}, right=mixed("u1", kind))
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), helper.make_node("ConvInteger", ["q", "w", "z", "wz"], ["p"], pads=[1, 1, 1, 1]),
             helper.make_node("Cast", ["p"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["s", "ws"], ["t"]), helper.make_node("Mul", ["f", "t"], ["y"])]
    f.add("ConvInteger", "dynamically quantized", {"x": f.noise(*X)}, {"w": f.noise(5, 4, 3, 3, dtype="u1"), "wz": numpy.array(120, "u1"), "ws": numpy.array([0.01], "f4")}, graph=nodes)


def surrounded(f):
    """Float operators between dequantized inputs and a quantized output."""
    def add(operator, variant, dtype, inputs=1, constants=None, **attributes):
        names = ["x", "z"][:inputs]
        zero = {"one": numpy.array(3, dtype), "two": numpy.array(5, dtype)}
        nodes = [helper.make_node("DequantizeLinear", [name, "s", "one"], [f"d{name}"]) for name in names]
        nodes += [helper.make_node(operator, [f"d{name}" for name in names] + list(constants or {}), ["r"], **attributes), helper.make_node("QuantizeLinear", ["r", "t", "two"], ["y"])]
        f.add(operator, f"between Q and DQ{variant}", {name: f.noise(*X, dtype=dtype) for name in names},
              {"s": numpy.float32(0.05), "t": numpy.float32(0.07), **zero, **(constants or {})}, graph=nodes, tolerance=1)
    for dtype in ("u1", "i1"):
        add("Conv", "", dtype, constants={"w": f.noise(5, 4, 3, 3) * numpy.float32(0.2)}, pads=[1, 1, 1, 1])
        for operator in ("Add", "Mul", "Sub"):
            add(operator, "", dtype, 2)
        add("Concat", "", dtype, 2, axis=1)
        add("MaxPool", "", dtype, kernel_shape=[2, 2], strides=[2, 2])
        add("AveragePool", "", dtype, kernel_shape=[3, 3], strides=[2, 2])
        for operator in ("GlobalAveragePool", "Relu", "Sigmoid", "HardSwish", "Tanh"):
            add(operator, "", dtype)
        add("LeakyRelu", "", dtype, alpha=0.1)
        add("Clip", "", dtype, constants={"low": numpy.float32(0), "high": numpy.float32(6)})
        add("Softmax", "", dtype, axis=1)
        add("Transpose", "", dtype, perm=[0, 2, 3, 1])
        add("ConvTranspose", "", dtype, constants={"w": f.noise(4, 3, 3, 3) * numpy.float32(0.2)}, strides=[2, 2])
        w = f.noise(5, 4, 3, 3, dtype="i1")
        nodes = [helper.make_node("DequantizeLinear", ["x", "s", "one"], ["d"]), helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["v"], axis=0),
                 helper.make_node("DequantizeLinear", ["b", "bs"], ["c"], axis=0), helper.make_node("Conv", ["d", "v", "c"], ["r"], pads=[1, 1, 1, 1]),
                 helper.make_node("Relu", ["r"], ["a"]), helper.make_node("QuantizeLinear", ["a", "t", "two"], ["y"])]
        ws = scale(f, 5)
        f.add("Conv", "between Q and DQ, bytes per channel", {"x": f.noise(*X, dtype=dtype)},
              {"s": numpy.float32(0.02), "one": numpy.array(3, dtype), "w": w, "ws": ws, "wz": numpy.zeros(5, "i1"), "b": f.noise(5, dtype="i4", low=-900, high=900), "bs": (ws * numpy.float32(0.02)).astype("f4"),
               "t": numpy.float32(0.4), "two": numpy.array(0, dtype)}, graph=nodes, tolerance=1)


def weights_only(f):
    """Byte weights that are dequantized before a float operator."""
    for per in (False, True):
        w, s, z = f.noise(5, 4, 3, 3, dtype="i1"), scale(f, 5) if per else numpy.float32(0.02), numpy.zeros(5 if per else (), "i1")
        nodes = [helper.make_node("DequantizeLinear", ["w", "s", "z"], ["v"], **({"axis": 0} if per else {})), helper.make_node("Conv", ["x", "v"], ["y"])]
        f.add("Conv", f"byte weights{', per channel' * per}", {"x": f.noise(*X)}, {"w": w, "s": s, "z": z}, graph=nodes)
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["v"], axis=1), helper.make_node("MatMul", ["x", "v"], ["y"])]
    f.add("MatMul", "byte weights, per column", {"x": f.noise(3, 8)}, {"w": f.noise(8, 6, dtype="i1"), "s": scale(f, 6)}, graph=nodes)
