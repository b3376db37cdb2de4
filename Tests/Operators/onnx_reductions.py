"""ONNX operators over whole axes: reductions, normalizations, softmaxes, products of matrices, transforms."""

import numpy
from onnx import TensorProto

from onnx_model import RUNTIME, Family

TYPE = (RUNTIME, "the reference evaluator answers with int64")
OLD = (RUNTIME, "the reference evaluator computes opset 11 like opset 13, over one axis")
LOGARITHM = (RUNTIME, "the reference evaluator takes the logarithm of a softmax that is 0")
EPSILON = (RUNTIME, "the reference evaluator does not read epsilon in opset 9")
SIGNS = (RUNTIME, "the reference evaluator sums the numbers with their signs")
NAN = (None, "ONNX does not say what the largest of numbers and NaN is: the reference evaluator keeps it, ONNX Runtime does not")

X = (1, 3, 6, 8)


def cases():
    family = Family(5)
    for part in (reductions, softmaxes, normalizations, products, transforms):
        part(family)
    return family.cases


def reductions(f):
    for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"):
        operator = f"Reduce{name}"
        x = f.noise(*X)
        x = numpy.abs(x) + numpy.float32(0.1) if name in ("LogSum", "Prod") else x
        # Before opset 18 (Sum: 13) the axes are an attribute.
        old, new = (11, 13) if name == "Sum" else (17, 18)
        f.add(operator, f"opset {old}", {"x": x}, opset=old, only=[2, 3])
        f.add(operator, f"opset {old}, keepdims 0", {"x": x}, opset=old, only=[1], keepdims=0)
        f.add(operator, "sides", {"x": x}, {"a": numpy.array([2, 3])}, opset=max(new, 18))
        f.add(operator, "keepdims 0", {"x": x}, {"a": numpy.array([-1])}, opset=max(new, 18), keepdims=0)
        if name in ("Sum", "Max", "L2"):
            f.add(operator, "all", {"x": x}, opset=max(new, 18))
            f.add(operator, "noop_with_empty_axes", {"x": x}, opset=max(new, 18), noop_with_empty_axes=1)
        f.add(operator, "axes as an input", {"x": f.noise(2, 3, 4) if name not in ("LogSum", "Prod") else numpy.abs(f.noise(2, 3, 4)), "a": numpy.array([1])}, opset=max(new, 18), opened={"x": (0,)})
        if "Log" not in name:
            f.add(operator, "plain", {"x": f.noise(*X, dtype="i4", low=1, high=9)}, {"a": numpy.array([2])}, opset=max(new, 18), right=TYPE if name == "SumSquare" else None)
        f.add(operator, "plain", {"x": x.astype("f2")}, {"a": numpy.array([2])}, opset=max(new, 18), tolerance=5e-3)
        if name in ("Max", "Min"):
            for dtype in ("u1", "i1"):
                f.add(operator, "plain", {"x": f.noise(*X, dtype=dtype)}, {"a": numpy.array([1, 2])}, opset=18)
    f.add("ReduceLogSumExp", "large numbers", {"x": f.noise(*X) * 100}, {"a": numpy.array([3])}, opset=18)
    f.add("ReduceMax", "NaN", {"x": numpy.array([[1, numpy.nan, 3], [4, 5, 6]], "f4")}, {"a": numpy.array([1])}, opset=18, right=NAN)
    f.add("ReduceSum", "NaN", {"x": numpy.array([[1, numpy.nan, 3], [4, 5, 6]], "f4")}, {"a": numpy.array([1])}, opset=18)
    f.add("ReduceMax", "bool", {"x": f.noise(*X, dtype="?")}, {"a": numpy.array([2, 3])}, opset=20)


def softmaxes(f):
    x = f.noise(*X) * 3
    for operator in ("Softmax", "LogSoftmax", "Hardmax"):
        for opset in (11, 13):
            f.add(operator, f"opset {opset}", {"x": x}, opset=opset, right=OLD if opset == 11 else None)
            for axis in (1, 2, 3) if opset == 11 else (0, 1, 2, -1):
                f.add(operator, f"opset {opset}, axis {axis}", {"x": x}, opset=opset, axis=axis, right=OLD if opset == 11 else None)
        f.add(operator, "of a row", {"x": f.noise(3, 10)}, opset=13, axis=-1)
        f.add(operator, "of a row, opset 11", {"x": f.noise(3, 10)}, opset=11)
        f.add(operator, "large numbers", {"x": f.noise(3, 10) * 300}, opset=13, right=LOGARITHM if operator == "LogSoftmax" else None)
        f.add(operator, "float16", {"x": x.astype("f2")}, opset=13, axis=1)
    f.add("Hardmax", "equal values", {"x": f.noise(*X, dtype="i4", low=0, high=3).astype("f4")}, opset=13, axis=1)
    nan = f.noise(2, 5)
    nan[0, 2], nan[1, 3] = numpy.nan, -numpy.inf
    f.add("Softmax", "NaN", {"x": nan}, opset=13)


def normalizations(f):
    x = f.noise(1, 4, 6, 8)
    weights = {"s": f.noise(4), "b": f.noise(4), "m": f.noise(4), "v": numpy.abs(f.noise(4)) + numpy.float32(0.1)}
    f.add("BatchNormalization", "plain", {"x": x}, weights)
    f.add("BatchNormalization", "epsilon", {"x": x}, weights, epsilon=0.1, opset=9, right=EPSILON)
    f.add("BatchNormalization", "weights as inputs", {"x": x, **weights}, opened={"x": (2, 3)})
    f.add("BatchNormalization", "a row", {"x": f.noise(3, 4)}, weights)
    pair = {"s": weights["s"], "b": weights["b"]}
    f.add("InstanceNormalization", "plain", {"x": x}, pair)
    f.add("InstanceNormalization", "epsilon", {"x": x}, pair, epsilon=0.5)
    f.add("InstanceNormalization", "one axis", {"x": f.noise(2, 4, 9)}, pair)
    f.add("InstanceNormalization", "equal values", {"x": numpy.full((1, 4, 5, 5), 3, "f4")}, pair)
    f.add("GroupNormalization", "opset 18", {"x": x}, {"s": f.noise(2), "b": f.noise(2)}, opset=18, dtypes=[TensorProto.FLOAT], num_groups=2)
    f.add("GroupNormalization", "opset 21", {"x": x}, pair, opset=21, dtypes=[TensorProto.FLOAT], num_groups=2)
    for axis in (-1, 1, 2):
        shape = x.shape[axis:]
        f.add("LayerNormalization", f"axis {axis}", {"x": x}, {"s": f.noise(*shape), "b": f.noise(*shape)}, axis=axis, opened="batch")
    f.add("LayerNormalization", "without a bias", {"x": f.noise(2, 5, 8)}, {"s": f.noise(8)}, opened={"x": (1,)})
    f.add("LayerNormalization", "mean and deviation", {"x": f.noise(2, 5, 8)}, {"s": f.noise(8), "b": f.noise(8)}, outputs=["y", "m", "d"], opened={"x": (1,)})
    f.add("RMSNormalization", "plain", {"x": f.noise(2, 5, 8)}, {"s": f.noise(8)}, opset=23, opened={"x": (1,)})
    for p in (1, 2):
        f.add("LpNormalization", f"p {p}", {"x": x}, p=p, right=SIGNS if p == 1 else None)
        f.add("LpNormalization", f"p {p}, axis 1", {"x": x}, p=p, axis=1, right=SIGNS if p == 1 else None)
    f.add("LpNormalization", "of zeros", {"x": numpy.concatenate([numpy.zeros((1, 4), "f4"), f.noise(1, 4)])})
    f.add("MeanVarianceNormalization", "plain", {"x": f.noise(2, 3, 4, 5)}, opened={"x": (2, 3)})
    f.add("MeanVarianceNormalization", "sides", {"x": x}, only=[2, 3])
    f.add("Dropout", "at inference", {"x": x}, opset=13)
    f.add("Dropout", "opset 7", {"x": x}, opset=7, ratio=0.4)


def products(f):
    f.add("MatMul", "weights", {"x": f.noise(1, 5, 8)}, {"w": f.noise(8, 4)}, opened={"x": (1,)})
    f.add("MatMul", "two inputs", {"x": f.noise(1, 2, 5, 8), "z": f.noise(1, 2, 8, 6)}, opened={"x": (2,), "z": (3,)})
    f.add("MatMul", "broadcast", {"x": f.noise(2, 1, 5, 8), "z": f.noise(3, 8, 6)}, opened={"x": (2,)})
    f.add("MatMul", "vector", {"x": f.noise(5, 8)}, {"w": f.noise(8)})
    f.add("MatMul", "integers", {"x": f.noise(5, 8, dtype="i4")}, {"w": f.noise(8, 3, dtype="i4")})
    f.add("MatMul", "float16", {"x": f.noise(5, 8, dtype="f2")}, {"w": f.noise(8, 3, dtype="f2")}, tolerance=5e-3)
    for a in (0, 1):
        for b in (0, 1):
            f.add("Gemm", f"transA {a}, transB {b}", {"x": f.noise(8, 5) if a else f.noise(5, 8)},
                  {"w": f.noise(4, 8) if b else f.noise(8, 4), "c": f.noise(4)}, transA=a, transB=b, alpha=0.7, beta=1.3, opened={"x": (1 if a else 0,)})
    f.add("Gemm", "without a bias", {"x": f.noise(5, 8)}, {"w": f.noise(8, 4)})
    f.add("Gemm", "a column", {"x": f.noise(5, 8)}, {"w": f.noise(8, 4), "c": f.noise(5, 1)}, axes=("fixed",))
    for equation, shapes in {"bij,bjk->bik": [(2, 3, 4), (2, 4, 5)], "bhwc,hkc->bhwk": [(1, 3, 4, 5), (3, 6, 5)], "ij->ji": [(3, 4)], "bii->bi": [(2, 3, 3)], "ij,ij->": [(3, 4), (3, 4)],
                             "i,j->ij": [(3,), (4,)], "bchw->bc": [(1, 2, 3, 4)], "...ij,...jk->...ik": [(2, 3, 4), (2, 4, 5)], "ij,jk": [(3, 4), (4, 5)]}.items():
        inputs = {name: f.noise(*shape) for name, shape in zip("xz", shapes)}
        f.add("Einsum", equation, inputs, opened={"x": (1,)} if equation.startswith("bij,") else "batch", equation=equation)
    f.add("Det", "plain", {"x": f.noise(2, 3, 3)})


def transforms(f):
    signal, pair = f.noise(1, 10, 6, 1), f.noise(1, 10, 6, 2)
    for opset in (17, 20):
        def add(variant, x, axis, **more):
            constants, order = ({"a": numpy.array(axis)}, ["x", "", "a"]) if opset == 20 else ({}, ["x"])
            f.add("DFT", f"opset {opset}, {variant}", {"x": x}, constants, order=order, opset=opset, opened={"x": (1, 2)}, **({} if opset == 20 else {"axis": axis}), **more)
        for axis in (1, 2):
            add(f"real, axis {axis}", signal, axis)
            add(f"complex, axis {axis}", pair, axis)
            add(f"inverse, axis {axis}", pair, axis, inverse=1)
            add(f"onesided, axis {axis}", signal, axis, onesided=1)
    f.add("DFT", "length", {"x": signal}, {"n": numpy.array(16)}, opset=17, opened={"x": (1, 2)}, axis=1)
    f.add("DFT", "shorter length", {"x": signal}, {"n": numpy.array(4)}, opset=17, opened={"x": (1, 2)}, axis=1)
    window = numpy.hanning(8).astype("f4")
    f.add("STFT", "onesided", {"x": f.noise(1, 32, 1)}, {"step": numpy.array(4), "w": window, "n": numpy.array(8)}, opened={"x": (1,)}, onesided=1)
    f.add("STFT", "both sides", {"x": f.noise(1, 32, 1)}, {"step": numpy.array(4), "w": window, "n": numpy.array(8)}, opened={"x": (1,)}, onesided=0)
    for operator in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for periodic in (0, 1):
            f.add(operator, f"periodic {periodic}", {"n": numpy.array(9)}, opened={}, periodic=periodic)
