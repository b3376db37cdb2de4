"""ONNX operators that choose, order or move elements."""

import numpy
from onnx import TensorProto, helper

from onnx_model import Family

X = (1, 3, 6, 8)


def cases():
    family = Family(4, {"float32", "uint8"})
    for part in (largest, suppressed, gathered, scattered, cut, joined, shaped, ordered, made):
        part(family)
    return family.cases


def tied(f, dtype):
    """Few values, so that many are equal."""
    return f.noise(*X, dtype="i4", low=0, high=5).astype(dtype)


def largest(f):
    for dtype in ("f4", "f2", "u1", "i1", "i4"):
        for word, x in (("", f.noise(*X, dtype=dtype)), (", equal values", tied(f, dtype))):
            for largest_ in (1, 0):
                name = ("largest" if largest_ else "smallest") + word
                f.add("TopK", name, {"x": x}, {"k": numpy.array([3])}, outputs=["y", "i"], largest=largest_)
    for axis in (1, 2):
        f.add("TopK", f"equal values, axis {axis}", {"x": tied(f, "f4")}, {"k": numpy.array([2])}, outputs=["y", "i"], axis=axis)
    f.add("TopK", "all, equal values", {"x": tied(f, "f4")}, {"k": numpy.array([8])}, outputs=["y", "i"], opened={"x": (2,)})
    f.add("TopK", "k as an input", {"x": f.noise(1, 20), "k": numpy.array([4])}, outputs=["y", "i"], opened={"x": (0, 1)})
    f.add("TopK", "one", {"x": tied(f, "f4")}, {"k": numpy.array([1])}, outputs=["y", "i"])
    f.add("TopK", "many equal values", {"x": f.noise(1, 300, dtype="i4", low=0, high=3).astype("f4")}, {"k": numpy.array([100])}, outputs=["y", "i"])
    f.add("TopK", "opset 1", {"x": f.noise(1, 30)}, opset=9, outputs=["y", "i"], k=5)
    for operator in ("ArgMax", "ArgMin"):
        for dtype in ("f4", "f2", "u1", "i1", "i4"):
            f.add(operator, "plain", {"x": f.noise(*X, dtype=dtype)}, axis=1)
            for last in (0, 1):
                f.add(operator, f"equal values{', select_last_index' * last}", {"x": tied(f, dtype)}, axis=1, select_last_index=last)
        for last in (0, 1):
            f.add(operator, f"last axis{', select_last_index' * last}", {"x": tied(f, "f4")}, axis=-1, keepdims=0, select_last_index=last)
            f.add(operator, f"first axis of two{', select_last_index' * last}", {"x": f.noise(5, 9, dtype="i4", low=0, high=2).astype("f4")}, axis=0, select_last_index=last)


def suppressed(f):
    boxes = numpy.array([[[0, 0, 10, 10], [0, 1, 10, 11], [0, -1, 10, 9], [0, 10, 10, 20], [0, 10.1, 10, 20.1], [0, 100, 10, 110],
                          [0, 5, 10, 15]]], "f4")
    scores = numpy.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.55], [0.1, 0.2, 0.8, 0.4, 0.85, 0.7, 0.05]]], "f4")
    def add(variant, boxes, scores, limit, iou, score, **more):
        f.add("NonMaxSuppression", variant, {"boxes": boxes, "scores": scores},
              {"limit": numpy.array([limit]), "iou": numpy.array([iou], "f4"), "score": numpy.array([score], "f4")}, opened={"boxes": (1,), "scores": (2,)}, **more)
    add("plain", boxes, scores, 5, 0.5, 0.0)
    add("score threshold", boxes, scores, 5, 0.5, 0.4)
    add("score equal to the threshold", boxes, scores, 9, 0.5, 0.55)
    add("few", boxes, scores, 2, 0.5, 0.0)
    add("none kept", boxes, scores, 0, 0.5, 0.0)
    flipped = boxes[..., [2, 3, 0, 1]]
    add("corners in another order", flipped, scores, 5, 0.5, 0.0)
    centres = numpy.stack([(boxes[..., 1] + boxes[..., 3]) / 2, (boxes[..., 0] + boxes[..., 2]) / 2, boxes[..., 3] - boxes[..., 1], boxes[..., 2] - boxes[..., 0]], -1)
    add("center_point_box", centres, scores, 5, 0.5, 0.0, center_point_box=1)
    # 16 of 32: the overlap is a half, exactly; 8 of 32 a quarter.
    half = numpy.array([[[0, 0, 4, 8], [0, 0, 4, 4], [0, 0, 8, 8], [8, 8, 12, 16], [8, 8, 10, 12]]], "f4")
    ranked = numpy.array([[[0.9, 0.8, 0.7, 0.6, 0.5]]], "f4")
    add("overlap equal to the threshold", half, ranked, 9, 0.5, 0.0)
    add("overlap equal to the threshold of a quarter", half, ranked, 9, 0.25, 0.0)
    add("equal scores", boxes, numpy.full((1, 2, 7), 0.5, "f4"), 5, 0.5, 0.0)
    add("two pictures", numpy.concatenate([boxes, boxes + 3]), numpy.concatenate([scores, scores[:, ::-1]]), 5, 0.5, 0.0)
    add("boxes of no area", numpy.zeros((1, 3, 4), "f4"), numpy.array([[[0.5, 0.6, 0.7]]], "f4"), 5, 0.5, 0.0)
    f.add("NonMaxSuppression", "defaults", {"boxes": boxes, "scores": scores}, {"limit": numpy.array([4])}, opened={"boxes": (1,), "scores": (2,)})
    f.add("NonMaxSuppression", "opset 10", {"boxes": boxes, "scores": scores}, {"limit": numpy.array([4]), "iou": numpy.array([0.5], "f4")}, opset=10,
          opened={"boxes": (1,), "scores": (2,)})


def gathered(f):
    for dtype in ("f4", "f2", "u1", "i1", "i4"):
        x = f.noise(*X, dtype=dtype)
        f.add("Gather", "plain", {"x": x}, {"i": numpy.array([2, 0, 1])}, axis=1)
        f.add("Gather", "negative", {"x": x}, {"i": numpy.array([[-1, 0], [-3, 2]])}, axis=1)
        f.add("GatherElements", "plain", {"x": x, "i": f.noise(1, 3, 4, 8, dtype="i8", low=-6, high=5)}, axis=2, opened={"x": (3,), "i": (3,)})
        f.add("GatherND", "plain", {"x": x}, {"i": numpy.array([[0, 1], [0, 2], [0, -1]])})
    x = f.noise(2, 4, 5)
    f.add("Gather", "one index", {"x": f.noise(*X)}, {"i": numpy.array(1)}, axis=1)
    f.add("Gather", "int32 indices as an input", {"x": x, "i": numpy.array([3, 1, 1], "i4")}, axis=1)
    f.add("GatherND", "batch_dims", {"x": x, "i": numpy.array([[[1], [3]], [[0], [2]]])}, batch_dims=1)
    f.add("GatherND", "elements", {"x": x, "i": numpy.array([[0, 3, 4], [1, -1, -2]])}, opened={"x": (), "i": (0,)})
    f.add("Compress", "axis", {"x": f.noise(*X)}, {"c": numpy.array([True, False, True])}, axis=1)
    f.add("Compress", "flat", {"x": f.noise(2, 3)}, {"c": numpy.array([True, False, True, False, True])}, axes=("fixed",))
    f.add("Compress", "condition as an input", {"x": f.noise(2, 5), "c": numpy.array([True, False, True, True, False])}, axis=1)


def scattered(f):
    for dtype in ("f4", "u1", "i1", "i4"):
        x = f.noise(4, 5, dtype=dtype, low=0, high=9)
        rows, updates = numpy.array([[0, 2, 1, -1, 3], [1, 0, 2, 2, 0]]), f.noise(2, 5, dtype=dtype, low=0, high=9)
        nd, more = numpy.array([[1], [3]]), f.noise(2, 5, dtype=dtype, low=0, high=9)
        for reduction in ("none", "add", "mul", "max", "min") if dtype == "f4" else ("none", "add"):
            f.add("ScatterElements", reduction, {"x": x, "i": rows, "u": updates}, opset=18, reduction=reduction, opened={"x": (0,), "i": (0,), "u": (0,)})
            f.add("ScatterND", reduction, {"x": x, "i": nd, "u": more}, opset=18, reduction=reduction, opened={"x": (0,), "i": (0,), "u": (0,)})
    x = f.noise(4, 5)
    repeated, updates = numpy.array([[0, 0, 1, 1, 1], [0, 0, 1, 1, 2]]), f.noise(2, 5)
    for reduction in ("add", "mul", "max"):
        f.add("ScatterElements", f"{reduction}, equal indices", {"x": x, "i": repeated, "u": updates}, opset=18, reduction=reduction, opened={"x": (0,), "i": (0,), "u": (0,)})
        f.add("ScatterND", f"{reduction}, equal indices", {"x": x, "i": numpy.array([[1], [1], [0]]), "u": f.noise(3, 5)}, opset=18, reduction=reduction)
    f.add("ScatterElements", "axis 1", {"x": x, "i": numpy.array([[1, -1], [0, 2]]), "u": f.noise(2, 2)}, axis=1, opset=16, opened={"x": (0,)})
    f.add("ScatterND", "negative", {"x": x, "i": numpy.array([[-1, 2], [0, -2]]), "u": f.noise(2)}, opset=16)
    f.add("Scatter", "opset 9", {"x": x, "i": numpy.array([[1, 3], [0, 2]]), "u": f.noise(2, 2)}, axis=1, opset=9, opened={"x": (0,)})
    f.add("TensorScatter", "linear", {"x": f.noise(2, 3, 6, 4), "u": f.noise(2, 3, 2, 4), "i": numpy.array([1, 3])}, opset=24, opened="batch")
    f.add("TensorScatter", "circular", {"x": f.noise(2, 3, 6, 4), "u": f.noise(2, 3, 3, 4), "i": numpy.array([4, 3])}, opset=24, opened="batch", mode="circular")


def cut(f):
    def slice_(variant, x, starts, ends, axes=None, steps=None, **more):
        constants = {"starts": numpy.array(starts), "ends": numpy.array(ends)}
        if axes:
            constants["axes"] = numpy.array(axes)
        if steps:
            constants["steps"] = numpy.array(steps)
        f.add("Slice", variant, {"x": x}, constants, **more)
    for dtype in ("f4", "f2", "u1", "i1", "i4"):
        x = f.noise(*X, dtype=dtype)
        slice_("plain", x, [1, 2], [5, 7], [2, 3])
        slice_("negative steps", x, [-1, 6], [-9, 0], [2, 3], [-1, -2])
    x = f.noise(*X)
    slice_("steps", x, [0, 1], [6, 8], [2, 3], [2, 3])
    slice_("beyond the end", x, [1, -20], [100, 2**62], [2, 3])
    slice_("reversed", x, [-1], [-(2**62)], [3], [-1])
    slice_("first axes", f.noise(4, 5), [1, 0], [3, 4])
    f.add("Slice", "ends as an input", {"x": x, "ends": numpy.array([4])}, {"starts": numpy.array([1]), "axes": numpy.array([3])}, order=["x", "starts", "ends", "axes"], opened={"x": (3,)})
    f.add("Slice", "opset 1", {"x": x}, opset=9, only=[2, 3], starts=[1, 2], ends=[4, -1])
    for dtype in ("f4", "f2", "u1", "i1"):
        x = f.noise(*X, dtype=dtype)
        f.add("Split", "even", {"x": x}, outputs=["a", "b", "c"], opset=13, axis=1)
        f.add("Split", "uneven", {"x": x}, {"s": numpy.array([1, 5, 2])}, outputs=["a", "b", "c"], axis=3)
        f.add("Split", "num_outputs, uneven", {"x": x}, outputs=["a", "b", "c"], opset=18, axis=3, num_outputs=3)
    x = f.noise(*X)
    f.add("Split", "parts of an open axis", {"x": x}, {"s": numpy.array([2, 4])}, outputs=["a", "b"], axis=2)
    f.add("Split", "num_outputs, even", {"x": x}, outputs=["a", "b"], opset=18, axis=3, num_outputs=2)
    f.add("Split", "opset 2", {"x": x}, outputs=["a", "b"], opset=9, axis=1, split=[1, 2])
    f.add("Split", "parts as an input", {"x": f.noise(2, 9), "s": numpy.array([2, 3, 4])}, outputs=["a", "b", "c"], axis=1, opened={"x": (0, 1)})
    f.add("Trilu", "upper", {"x": x}, opset=14)
    f.add("Trilu", "lower, shifted", {"x": x}, {"k": numpy.array(2)}, opset=14, upper=0)
    f.add("Trilu", "upper, shifted down", {"x": x}, {"k": numpy.array(-2)}, opset=14)


def joined(f):
    for dtype in ("f4", "f2", "u1", "i1", "i4", "?"):
        f.add("Concat", "channels", {"x": f.noise(*X, dtype=dtype), "z": f.noise(1, 2, 6, 8, dtype=dtype)}, axis=1)
        f.add("Tile", "plain", {"x": f.noise(*X, dtype=dtype)}, {"r": numpy.array([1, 2, 3, 1])})
    f.add("Concat", "negative axis", {"x": f.noise(*X), "z": f.noise(1, 3, 6, 2)}, axis=-1)
    f.add("Concat", "with itself", {"x": f.noise(*X)}, order=["x", "x", "x"], axis=2)
    for dtype in ("f4", "u1", "i4"):
        f.add("Tile", "repeats as an input", {"x": f.noise(2, 3, 4, 5, dtype=dtype), "r": numpy.array([7, 6, 4, 2])}, opened={"x": (2, 3)})
        f.add("Tile", "repeats as an input, open batch", {"x": f.noise(2, 3, dtype=dtype), "r": numpy.array([2, 3])}, opened={"x": (0,)})
    f.add("Tile", "opset 1", {"x": f.noise(*X)}, {"r": numpy.array([2, 1, 1, 2])}, opset=6)


def shaped(f):
    for dtype in ("f4", "u1", "i1"):
        x = f.noise(*X, dtype=dtype)
        f.add("Transpose", "to channels last", {"x": x}, perm=[0, 2, 3, 1])
        f.add("Reshape", "flat", {"x": x}, {"s": numpy.array([1, -1])})
        f.add("Reshape", "zero and minus one", {"x": x}, {"s": numpy.array([0, 3, -1])})
    x = f.noise(*X)
    f.add("Transpose", "default", {"x": x})
    f.add("Transpose", "sides", {"x": x}, perm=[0, 1, 3, 2])
    f.add("Reshape", "shape as an input", {"x": x, "s": numpy.array([1, 9, 16])}, opened={"x": (2, 3)})
    f.add("Reshape", "allowzero", {"x": f.noise(2, 6)}, {"s": numpy.array([3, 4])}, opset=14, allowzero=1)
    f.add("Flatten", "plain", {"x": x})
    f.add("Flatten", "axis 0", {"x": x}, axis=0)
    f.add("Flatten", "axis 3", {"x": x}, axis=3)
    f.add("Flatten", "negative axis", {"x": x}, axis=-2)
    f.add("Squeeze", "axes", {"x": f.noise(1, 3, 1, 8)}, {"a": numpy.array([0, 2])})
    f.add("Squeeze", "all", {"x": f.noise(1, 3, 1, 8)}, axes=("fixed",))
    f.add("Squeeze", "opset 11", {"x": f.noise(1, 3, 1, 8)}, opset=11, only=[2])
    f.add("Unsqueeze", "axes", {"x": f.noise(3, 8)}, {"a": numpy.array([0, -1])})
    f.add("Unsqueeze", "opset 11", {"x": f.noise(3, 8)}, opset=11, only=[0, 3])
    f.add("Shape", "plain", {"x": x})
    f.add("Shape", "start and end", {"x": x}, start=1, end=-1)
    f.add("Size", "plain", {"x": x})
    nodes = [helper.make_node("Shape", ["x"], ["s"], start=0, end=2), helper.make_node("Constant", [], ["m"], value_ints=[-1]),
             helper.make_node("Concat", ["s", "m"], ["t"], axis=0), helper.make_node("Reshape", ["x", "t"], ["y"])]
    f.add("Reshape", "by its own shape", {"x": x}, graph=nodes)


def ordered(f):
    for dtype in ("f4", "i4"):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                f.add("CumSum", f"plain{', exclusive' * exclusive}{', reverse' * reverse}", {"x": f.noise(*X, dtype=dtype)}, {"a": numpy.array(2)}, exclusive=exclusive, reverse=reverse)
    f.add("CumSum", "negative axis", {"x": f.noise(*X)}, {"a": numpy.array(-1)})
    f.add("CumProd", "plain", {"x": f.noise(*X)}, {"a": numpy.array(2)}, opset=26)
    f.add("ReverseSequence", "plain", {"x": f.noise(3, 6, 4)}, {"n": numpy.array([2, 6, 1])}, batch_axis=0, time_axis=1, opened={"x": (1,)})
    f.add("ReverseSequence", "by time", {"x": f.noise(6, 3, 4)}, {"n": numpy.array([2, 6, 1])}, batch_axis=1, time_axis=0)
    f.add("Unique", "sorted", {"x": tied(f, "f4")}, outputs=["y", "i", "r", "n"], opened={"x": (3,)})
    f.add("Unique", "in order", {"x": tied(f, "f4")}, outputs=["y", "i", "r", "n"], sorted=0, opened={"x": (3,)})
    f.add("Unique", "axis", {"x": numpy.array([[1, 0], [1, 0], [2, 3]], "f4")}, outputs=["y", "i", "r", "n"], axis=0)
    for dtype in ("f4", "i4", "?", "u1"):
        f.add("NonZero", "plain", {"x": f.noise(*X, dtype=dtype, low=-1, high=1) if dtype not in "?u1" else f.noise(*X, dtype="?").astype(dtype)})


def made(f):
    x = f.noise(*X)
    f.add("ConstantOfShape", "of a shape", {"x": x}, graph=[helper.make_node("Shape", ["x"], ["s"]),
          helper.make_node("ConstantOfShape", ["s"], ["y"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2.5]))])
    f.add("EyeLike", "plain", {"x": f.noise(4, 6)})
    f.add("EyeLike", "shifted", {"x": f.noise(4, 6)}, k=1, dtype=TensorProto.FLOAT)
    f.add("Range", "limits as inputs", {"a": numpy.array(2, "f4"), "b": numpy.array(9, "f4"), "c": numpy.array(1.5, "f4")}, opened={})
    f.add("Range", "down", {"a": numpy.array(9, "i4")}, {"b": numpy.array(-3, "i4"), "c": numpy.array(-2, "i4")}, opened={})
    f.add("OneHot", "last axis", {"x": numpy.array([[1, 0], [3, 2]])}, {"d": numpy.array(4), "v": numpy.array([0, 1], "f4")})
    f.add("OneHot", "axis 1", {"x": numpy.array([[1, 0, 3], [2, 2, 0]])}, {"d": numpy.array(4), "v": numpy.array([-1, 5], "f4")}, axis=1)
    f.add("OneHot", "out of range and negative", {"x": numpy.array([[1, -1], [7, -9]])}, {"d": numpy.array(4), "v": numpy.array([0, 1], "f4")})
    f.add("OneHot", "float indices", {"x": numpy.array([[1, 0], [3, 2]], "f4")}, {"d": numpy.array(4), "v": numpy.array([0, 1], "f4")})
    f.add("Constant", "added", {"x": x}, graph=[helper.make_node("Constant", [], ["c"], value_float=2.5), helper.make_node("Add", ["x", "c"], ["y"])])
