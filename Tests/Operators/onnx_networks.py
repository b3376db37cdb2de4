"""ONNX operators with state, with graphs inside, and the parts of transformers."""

import numpy
from onnx import TensorProto, helper

from onnx_model import RUNTIME, Family

LENGTHS = (RUNTIME, "the reference evaluator does not read sequence_lens")
ACTIVATIONS = (RUNTIME, "the reference evaluator does not read activations")
CLIP = (RUNTIME, "the reference evaluator does not read clip")
ROWS = (RUNTIME, "the reference evaluator joins the outputs of the rounds along the first axis instead of a new one")


def cases():
    family = Family(7)
    for part in (recurrent, attention, control, microsoft):
        part(family)
    return family.cases


def recurrent(f):
    for operator, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for direction in ("forward", "reverse", "bidirectional"):
            count = 2 if direction == "bidirectional" else 1
            weights = {"w": f.noise(count, gates * 5, 4), "r": f.noise(count, gates * 5, 5), "b": f.noise(count, gates * 10)}
            outputs = ["y", "h", "c"] if operator == "LSTM" else ["y", "h"]
            f.add(operator, direction, {"x": f.noise(6, 2, 4)}, weights, outputs=outputs, hidden_size=5, direction=direction)
        single = {"w": f.noise(1, gates * 5, 4), "r": f.noise(1, gates * 5, 5), "b": f.noise(1, gates * 10)}
        f.add(operator, "sequence_lens", {"x": f.noise(6, 3, 4)}, {**single, "n": numpy.array([6, 2, 4], "i4")}, outputs=["y", "h"], hidden_size=5, right=LENGTHS)
        start = {"h0": f.noise(1, 2, 5), **({"c0": f.noise(1, 2, 5)} if operator == "LSTM" else {})}
        f.add(operator, "initial state", {"x": f.noise(6, 2, 4)}, {**single, **start}, order=["x", "w", "r", "b", "", *start], outputs=["y", "h"], hidden_size=5)
        f.add(operator, "without a bias", {"x": f.noise(6, 2, 4)}, {"w": single["w"], "r": single["r"]}, outputs=["y"], hidden_size=5)
        f.add(operator, "clip", {"x": f.noise(6, 2, 4) * 3}, single, outputs=["y"], hidden_size=5, clip=0.5, right=CLIP)
        f.add(operator, "layout 1", {"x": f.noise(2, 6, 4)}, single, outputs=["y"], hidden_size=5, layout=1, opened={"x": (1,)})
    f.add("GRU", "linear_before_reset", {"x": f.noise(6, 2, 4)}, {"w": f.noise(1, 15, 4), "r": f.noise(1, 15, 5), "b": f.noise(1, 30)}, outputs=["y"], hidden_size=5, linear_before_reset=1)
    f.add("LSTM", "peepholes", {"x": f.noise(6, 2, 4)}, {"w": f.noise(1, 20, 4), "r": f.noise(1, 20, 5), "b": f.noise(1, 40), "p": f.noise(1, 15)},
          order=["x", "w", "r", "b", "", "", "", "p"], outputs=["y"], hidden_size=5)
    f.add("LSTM", "other activations", {"x": f.noise(6, 2, 4)}, {"w": f.noise(1, 20, 4), "r": f.noise(1, 20, 5)}, outputs=["y"], hidden_size=5, activations=["Sigmoid", "Softsign", "Relu"], right=ACTIVATIONS)


def attention(f):
    q, k, v = f.noise(1, 2, 5, 8), f.noise(1, 2, 7, 8), f.noise(1, 2, 7, 8)
    nodes = [helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["q", "t"], ["s"]), helper.make_node("Mul", ["s", "scale"], ["m"]),
             helper.make_node("Softmax", ["m"], ["p"], axis=-1), helper.make_node("MatMul", ["p", "v"], ["y"])]
    f.add("Attention", "by its parts", {"q": q, "k": k, "v": v}, {"scale": numpy.float32(8**-0.5)}, graph=nodes, opened={"q": (2,), "k": (2,), "v": (2,)})
    nodes = [*nodes[:3], helper.make_node("Where", ["mask", "m", "low"], ["w"]), helper.make_node("Softmax", ["w"], ["p"], axis=-1), nodes[4]]
    f.add("Attention", "by its parts, masked", {"q": q, "k": k, "v": v, "mask": numpy.tril(numpy.ones((1, 1, 5, 7), "?"))}, {"scale": numpy.float32(8**-0.5), "low": numpy.float32(-3.4e38)}, graph=nodes,
          opened={"q": (2,), "k": (2,), "v": (2,), "mask": (2, 3)})
    for word, attributes in {"": {}, ", causal": {"is_causal": 1}, ", softcap": {"softcap": 2.0}, ", scale": {"scale": 0.3}}.items():
        f.add("Attention", f"opset 23{word}", {"q": q, "k": k, "v": v}, opset=23, opened={"q": (2,), "k": (2,), "v": (2,)}, **attributes)
    f.add("Attention", "opset 23, mask", {"q": q, "k": k, "v": v, "mask": f.noise(5, 7)}, opset=23, opened={"q": (2,), "k": (2,), "v": (2,), "mask": (0, 1)})
    f.add("Attention", "opset 23, three axes", {"q": f.noise(1, 5, 16), "k": f.noise(1, 7, 16), "v": f.noise(1, 7, 16)}, opset=23, opened={"q": (1,), "k": (1,), "v": (1,)}, q_num_heads=2, kv_num_heads=2)
    f.add("Attention", "opset 23, shared keys", {"q": f.noise(1, 4, 5, 8), "k": k, "v": v}, opset=23, opened={"q": (2,), "k": (2,), "v": (2,)})
    half = numpy.arange(6)[:, None] / 10 ** (numpy.arange(4) / 4)
    caches = {"c": numpy.cos(half).astype("f4"), "s": numpy.sin(half).astype("f4")}
    for interleaved in (0, 1):
        f.add("RotaryEmbedding", f"interleaved {interleaved}", {"x": f.noise(1, 2, 4, 8), "p": numpy.array([[0, 2, 1, 5]])}, caches, order=["x", "c", "s", "p"], opset=23, interleaved=interleaved, opened={"x": (2,), "p": (1,)})
    f.add("Gelu", "by its parts", {"x": f.noise(1, 5, 8)}, {"r": numpy.float32(2**0.5), "one": numpy.float32(1), "h": numpy.float32(0.5)}, opened={"x": (1,)},
          graph=[helper.make_node("Div", ["x", "r"], ["d"]), helper.make_node("Erf", ["d"], ["e"]), helper.make_node("Add", ["e", "one"], ["a"]), helper.make_node("Mul", ["x", "a"], ["m"]), helper.make_node("Mul", ["m", "h"], ["y"])])


def control(f):
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    then = helper.make_graph([helper.make_node("Mul", ["x", "x"], ["a"])], "then", [], [value("a", None)])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["b"])], "other", [], [value("b", None)])
    for word, condition in (("true", True), ("false", False)):
        f.add("If", f"condition as an input, {word}", {"x": f.noise(1, 3, 4, 5), "c": numpy.array([condition])}, opened={"x": (2, 3)}, graph=[helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)])
    nodes = [helper.make_node("ReduceSum", ["x"], ["t"], keepdims=0), helper.make_node("Greater", ["t", "zero"], ["c"]), helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    f.add("If", "condition computed", {"x": f.noise(1, 3, 4, 5)}, {"zero": numpy.float32(0)}, graph=nodes)
    flat = helper.make_graph([helper.make_node("ReduceMax", ["x"], ["b"], keepdims=0)], "flat", [], [value("b", None)])
    f.add("If", "branches of differing ranks", {"x": f.noise(1, 3, 4, 5), "c": numpy.array([False])}, opened={"x": (2, 3)}, graph=[helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=flat)])
    body = helper.make_graph([helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["t"], ["row"])], "body",
                             [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []), value("s", None)],
                             [helper.make_tensor_value_info("d", TensorProto.BOOL, []), value("t", None), value("row", None)])
    f.add("Loop", "three times", {"x": f.noise(2, 3)}, {"n": numpy.array(3), "on": numpy.array(True)}, outputs=["y", "rows"], graph=[helper.make_node("Loop", ["n", "on", "x"], ["y", "rows"], body=body)], right=ROWS)
    f.add("Loop", "count as an input", {"x": f.noise(2, 3), "n": numpy.array([4])}, {"on": numpy.array(True)}, outputs=["y", "rows"], opened={"x": (0,)}, graph=[helper.make_node("Loop", ["n", "on", "x"], ["y", "rows"], body=body)], right=ROWS)
    step = helper.make_graph([helper.make_node("Add", ["s", "r"], ["t"]), helper.make_node("Identity", ["t"], ["o"])], "step", [value("s", [3]), value("r", [3])], [value("t", [3]), value("o", [3])])
    f.add("Scan", "sums of rows", {"s0": f.noise(3), "x": f.noise(5, 3)}, outputs=["t1", "y"], opened={"x": (0,)}, graph=[helper.make_node("Scan", ["s0", "x"], ["t1", "y"], body=step, num_scan_inputs=1)])
    x = f.noise(1, 3, 4, 5)
    f.add("SequenceConstruct", "and ConcatFromSequence", {"x": x, "z": x + 1}, graph=[helper.make_node("SequenceConstruct", ["x", "z"], ["s"]), helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=1)])
    f.add("SplitToSequence", "and SequenceAt", {"x": x}, {"one": numpy.array(1)}, graph=[helper.make_node("SplitToSequence", ["x"], ["s"], axis=1), helper.make_node("SequenceAt", ["s", "one"], ["y"])])


ONLY = "com.microsoft"


def microsoft(f):
    """Operators of ONNX Runtime's own domain that quantizers and optimizers write for pictures."""
    for dtype in ("u1", "i1"):
        x, s, z = f.noise(1, 4, 6, 7, dtype=dtype), numpy.float32(0.05), numpy.array(3, dtype)
        t, o = numpy.float32(0.07), numpy.array(5, dtype)
        for operator in ("QLinearAdd", "QLinearMul"):
            f.add(operator, "plain", {"x": x, "w": f.noise(1, 4, 6, 7, dtype=dtype)}, {"s": s, "z": z, "t": t, "o": o, "u": numpy.float32(0.1), "v": z}, order=["x", "s", "z", "w", "t", "o", "u", "v"], domain=ONLY, tolerance=1, dtypes=DTYPES[dtype])
        for operator, more in (("QLinearLeakyRelu", {"alpha": 0.1}), ("QLinearSigmoid", {}), ("QLinearGlobalAveragePool", {"channels_last": 0})):
            f.add(operator, "plain", {"x": x}, {"s": s, "z": z, "t": t, "o": o}, domain=ONLY, tolerance=1, dtypes=DTYPES[dtype], **more)
        f.add("QLinearAveragePool", "plain", {"x": x}, {"s": s, "z": z, "t": t, "o": o}, domain=ONLY, tolerance=1, dtypes=DTYPES[dtype], kernel_shape=[2, 2], strides=[2, 2])
        f.add("QLinearConcat", "plain", {"x": x, "w": f.noise(1, 2, 6, 7, dtype=dtype)}, {"s": s, "z": z, "t": t, "o": o}, order=["t", "o", "x", "s", "z", "w", "s", "z"], domain=ONLY, tolerance=1, dtypes=DTYPES[dtype], axis=1)
    x = f.noise(1, 5, 8)
    f.add("Gelu", "com.microsoft", {"x": x}, domain=ONLY, dtypes=[TensorProto.FLOAT], opened={"x": (1,)})
    f.add("QuickGelu", "plain", {"x": x}, domain=ONLY, dtypes=[TensorProto.FLOAT], opened={"x": (1,)})
    f.add("BiasGelu", "plain", {"x": x}, {"b": f.noise(8)}, domain=ONLY, dtypes=[TensorProto.FLOAT], opened={"x": (1,)})
    f.add("FusedMatMul", "transB", {"x": x}, {"w": f.noise(1, 6, 8)}, domain=ONLY, dtypes=[TensorProto.FLOAT], opened={"x": (1,)}, transB=1, alpha=0.5)
    f.add("FusedConv", "Relu", {"x": f.noise(1, 4, 6, 7)}, {"w": f.noise(3, 4, 3, 3)}, domain=ONLY, dtypes=[TensorProto.FLOAT], activation="Relu")
    f.add("SkipLayerNormalization", "plain", {"x": x, "z": f.noise(1, 5, 8)}, {"g": f.noise(8), "b": f.noise(8)}, domain=ONLY, dtypes=[TensorProto.FLOAT], opened={"x": (1,), "z": (1,)})
    f.add("Inverse", "plain", {"x": f.noise(2, 3, 3)}, domain=ONLY, dtypes=[TensorProto.FLOAT])
    f.add("CropAndResize", "plain", {"x": f.noise(1, 2, 8, 9), "boxes": numpy.array([[0, 0, 1, 1], [0.2, 0.3, 0.8, 0.7]], "f4")}, {"b": numpy.zeros(2, "i4"), "s": numpy.array([3, 4], "i4")}, domain=ONLY, dtypes=[TensorProto.FLOAT], opened={"x": (2, 3)})
    f.add("GridSample", "com.microsoft", {"x": f.noise(1, 2, 6, 7), "g": f.noise(1, 4, 5, 2, low=-1, high=1)}, domain=ONLY, dtypes=[TensorProto.FLOAT], opened={"x": (2, 3)})
    f.add("NhwcMaxPool", "plain", {"x": f.noise(1, 6, 8, 3, dtype="u1")}, domain=ONLY, dtypes=[TensorProto.UINT8], opened={"x": (1, 2)}, kernel_shape=[2, 2], strides=[2, 2])
    f.add("MatMulNBits", "four bits", {"x": f.noise(3, 32)}, {"w": f.noise(6, 2, 8, dtype="u1"), "s": numpy.abs(f.noise(12)) * numpy.float32(0.1)}, domain=ONLY, dtypes=[TensorProto.FLOAT], K=32, N=6, bits=4, block_size=16)


DTYPES = {"u1": [TensorProto.UINT8], "i1": [TensorProto.INT8]}
