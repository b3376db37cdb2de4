"""TF Lite operators over whole axes, operators that choose, and those of detectors."""

import numpy
from flatbuffers import flexbuffers
from ai_edge_litert import schema_py_generated as schema

from tflite_model import Family

SHAPE = (1, 6, 8, 3)
QUANTIZED = {"i1": (0.05, 3), "u1": (0.05, 128)}


def cases():
    family = Family(14)
    for part in (reductions, softmaxes, chosen, segments, detections, recurrent, transforms, stable):
        part(family)
    return family.cases


def i4(*values):
    return numpy.array(values, "i4")


def reductions(f):
    for operator, formula in (("MEAN", numpy.mean), ("SUM", numpy.sum), ("REDUCE_MAX", numpy.max), ("REDUCE_MIN", numpy.min), ("REDUCE_PROD", numpy.prod)):
        for keep in (False, True):
            word = ", keep_dims" * keep
            for name, axes in (("sides", (1, 2)), ("channels", (3,)), ("negative axis", (-2,)), ("all", (0, 1, 2, 3))):
                f.add(operator, name + word, {"x": f.noise(*SHAPE)}, {"a": i4(*axes)}, options=("ReducerOptions", {"keepDims": keep}), formula=lambda x, a, g=formula, k=keep: g(x.astype("f8"), axis=tuple(a), keepdims=k).astype("f4"))
            f.add(operator, "sides" + word, {"x": f.noise(*SHAPE, dtype="i4", low=1 if operator == "REDUCE_PROD" else -9, high=2 if operator == "REDUCE_PROD" else 9)}, {"a": i4(1)}, options=("ReducerOptions", {"keepDims": keep}),
                  formula=None if operator == "MEAN" else lambda x, a, g=formula, k=keep: g(x, axis=1, keepdims=k).astype("i4"))
            if operator != "REDUCE_PROD":
                for dtype, parameters in QUANTIZED.items():
                    same = operator in ("REDUCE_MAX", "REDUCE_MIN")
                    f.add(operator, "sides" + word, {"x": f.noise(*SHAPE, dtype=dtype)}, {"a": i4(1, 2)}, options=("ReducerOptions", {"keepDims": keep}), scales={"x": parameters, "y": parameters if same else (0.07 if operator == "MEAN" else 0.9, parameters[1])},
                          version=2, tolerance=None if same else 1)
    for operator, formula in (("REDUCE_ANY", numpy.any), ("REDUCE_ALL", numpy.all)):
        f.add(operator, "sides", {"x": f.random.random(SHAPE) < (0.03 if operator == "REDUCE_ANY" else 0.97)}, {"a": i4(1, 2)}, options=("ReducerOptions", {"keepDims": False}), formula=lambda x, a, g=formula: g(x, axis=(1, 2)))
    for exclusive in (False, True):
        for reverse in (False, True):
            f.add("CUMSUM", f"plain{', exclusive' * exclusive}{', reverse' * reverse}", {"x": f.noise(*SHAPE)}, {"a": numpy.array(1, "i4")}, options=("CumsumOptions", {"exclusive": exclusive, "reverse": reverse}))


def softmax(x, axis=-1):
    e = numpy.exp(x.astype("f8") - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softmaxes(f):
    for beta in (1.0, 0.5):
        f.add("SOFTMAX", f"beta {beta}", {"x": f.noise(*SHAPE) * 3}, options=("SoftmaxOptions", {"beta": beta}), formula=lambda x, b=beta: softmax(x * b).astype("f4"))
    f.add("SOFTMAX", "of a row", {"x": f.noise(3, 10) * 3}, options=("SoftmaxOptions", {"beta": 1.0}), formula=lambda x: softmax(x).astype("f4"))
    f.add("LOG_SOFTMAX", "of a row", {"x": f.noise(3, 10) * 3}, options=("LogSoftmaxOptions", {}), formula=lambda x: numpy.log(softmax(x)).astype("f4"))
    f.add("LOG_SOFTMAX", "of a map", {"x": f.noise(*SHAPE) * 3}, options=("LogSoftmaxOptions", {}), formula=lambda x: numpy.log(softmax(x)).astype("f4"))
    for dtype, zero in (("i1", -128), ("u1", 0)):
        for word, shape in (("of a row", (3, 10)), ("of a map", SHAPE)):
            f.add("SOFTMAX", word, {"x": f.noise(*shape, dtype=dtype)}, options=("SoftmaxOptions", {"beta": 1.0}), scales={"x": (0.05, 3), "y": (1 / 256, zero)}, version=2 if dtype == "i1" else 1, tolerance=1,
                  formula=lambda x, z=zero, t=dtype: numpy.clip(numpy.round(softmax((x.astype("f8") - 3) * 0.05) * 256) + z, z, z + 255).astype(t))
        f.add("LOG_SOFTMAX", "of a row", {"x": f.noise(3, 10, dtype=dtype)}, options=("LogSoftmaxOptions", {}), scales={"x": (0.05, 3), "y": (16 / 256, 127 if dtype == "i1" else 255)}, version=2 if dtype == "i1" else 1, tolerance=2)


def tied(f, dtype):
    return f.noise(*SHAPE, dtype="i4", low=0, high=5).astype(dtype)


def chosen(f):
    for dtype in ("f4", "i1", "u1", "i4"):
        scales = {name: (0.05, 3) for name in "xyv"} if dtype in ("i1", "u1") else None
        for word, x in (("plain", f.noise(*SHAPE, dtype=dtype)), ("equal values", tied(f, dtype))):
            for operator, table, formula in (("ARG_MAX", "ArgMaxOptions", numpy.argmax), ("ARG_MIN", "ArgMinOptions", numpy.argmin)):
                f.add(operator, word, {"x": x}, {"a": numpy.array(3, "i4")}, options=(table, {"outputType": schema.TensorType.INT32}), dtypes=["int32"], scales=scales, version=2 if dtype == "i1" else 1, formula=lambda x, a, g=formula: g(x, 3).astype("i4"))
            f.add("TOPK_V2", word, {"x": x}, {"k": numpy.array(2, "i4")}, outputs=["v", "i"], dtypes=[numpy.dtype(dtype).name, "int32"], options=("TopKV2Options", {}), scales=scales, version=2 if dtype == "i1" else 1, formula=top)
    f.add("ARG_MAX", "axis 1, int64", {"x": f.noise(*SHAPE)}, {"a": numpy.array(1, "i4")}, options=("ArgMaxOptions", {"outputType": schema.TensorType.INT64}), dtypes=["int64"], formula=lambda x, a: numpy.argmax(x, 1))
    f.add("TOPK_V2", "many equal values", {"x": f.noise(1, 300, dtype="i4", low=0, high=3).astype("f4")}, {"k": numpy.array(100, "i4")}, outputs=["v", "i"], dtypes=["float32", "int32"], options=("TopKV2Options", {}), formula=top)
    f.add("TOPK_V2", "k as an input", {"x": f.noise(1, 20), "k": numpy.array(4, "i4")}, outputs=["v", "i"], dtypes=["float32", "int32"], options=("TopKV2Options", {}), opened={"x": (0,)}, formula=top)
    f.add("UNIQUE", "plain", {"x": f.noise(12, dtype="i4", low=0, high=4)}, outputs=["y", "i"], dtypes=["int32", "int32"], options=("UniqueOptions", {"idxOutType": schema.TensorType.INT32}))
    f.add("WHERE", "plain", {"x": f.noise(4, 5, dtype="?")}, options=("WhereOptions", {}), dtypes=["int64"], formula=lambda x: numpy.argwhere(x))
    f.add("BUCKETIZE", "plain", {"x": f.noise(3, 4) * 3}, options=("BucketizeOptions", {"boundaries": [-2.0, 0.0, 1.0, 3.0]}), dtypes=["int32"], formula=lambda x: numpy.digitize(x, numpy.array([-2, 0, 1, 3], "f4")).astype("i4"))


def top(x, k):
    """The largest, of equal ones the first."""
    order = numpy.argsort(-x.astype("f8"), -1, kind="stable")[..., : int(k)]
    return [numpy.take_along_axis(x, order, -1), order.astype("i4")]


def segments(f):
    ids = i4(0, 0, 1, 2)
    f.add("SEGMENT_SUM", "plain", {"x": f.noise(4, 5)}, {"i": ids}, options=("SegmentSumOptions", {}), axes=("fixed",))
    for name in ("Sum", "Max", "Min", "Prod"):
        f.add(f"UNSORTED_SEGMENT_{name.upper()}", "plain", {"x": f.noise(4, 5)}, {"i": i4(2, 0, 2, 1), "n": numpy.array(4, "i4")}, options=(f"UnsortedSegment{name}Options", {}), axes=("fixed",))


def detections(f):
    boxes = numpy.array([[0, 0, 10, 10], [0, 1, 10, 11], [0, -1, 10, 9], [0, 10, 10, 20], [0, 10.1, 10, 20.1], [0, 100, 10, 110], [0, 5, 10, 15]], "f4")
    scores = numpy.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.55], "f4")
    half = numpy.array([[0, 0, 4, 8], [0, 0, 4, 4], [0, 0, 8, 8], [8, 8, 12, 16], [8, 8, 10, 12]], "f4")
    for word, b, s, limit, iou, least in (("plain", boxes, scores, 5, 0.5, 0.0), ("score threshold", boxes, scores, 5, 0.5, 0.55), ("overlap equal to the threshold", half, scores[:5], 5, 0.5, 0.0),
                                          ("equal scores", boxes, numpy.full(7, 0.5, "f4"), 5, 0.5, 0.0)):
        constants = {"n": numpy.array(limit, "i4"), "iou": numpy.array(iou, "f4"), "least": numpy.array(least, "f4")}
        f.add("NON_MAX_SUPPRESSION_V4", word, {"b": b, "s": s}, constants, outputs=["i", "c"], dtypes=["int32", "int32"], options=("NonMaxSuppressionV4Options", {}), axes=("fixed",), counted={0: 1})
        f.add("NON_MAX_SUPPRESSION_V5", word, {"b": b, "s": s}, {**constants, "sigma": numpy.array(0.5, "f4")}, outputs=["i", "v", "c"], dtypes=["int32", "float32", "int32"], options=("NonMaxSuppressionV5Options", {}), axes=("fixed",),
              counted={0: 2, 1: 2})
    for regular in (False, True):
        builder = flexbuffers.Builder()
        with builder.Map():
            for key, value in (("max_detections", 5), ("max_classes_per_detection", 1), ("detections_per_class", 5), ("num_classes", 3)):
                builder.Int(key, value)
            builder.Bool("use_regular_nms", regular)
            for key, value in (("nms_score_threshold", 0.1), ("nms_iou_threshold", 0.5), ("y_scale", 10.0), ("x_scale", 10.0), ("h_scale", 5.0), ("w_scale", 5.0)):
                builder.Float(key, value)
        anchors = f.noise(12, 4, low=0.2, high=0.8)
        f.add("TFLite_Detection_PostProcess", "regular suppression" if regular else "fast suppression", {"b": f.noise(1, 12, 4), "s": f.noise(1, 12, 4, low=0, high=1)}, {"a": anchors}, outputs=["boxes", "classes", "scores", "count"],
              dtypes=["float32"] * 4, custom=bytes(builder.Finish()), axes=("fixed",), counted={})


def recurrent(f):
    """State between runs: both engines refuse these, with that reason."""
    w = {f"w{k}": f.noise(5, 4) for k in ("i", "f", "c", "o")}
    r = {f"r{k}": f.noise(5, 5) * numpy.float32(0.3) for k in ("i", "f", "c", "o")}
    b = {f"b{k}": f.noise(5) for k in ("i", "f", "c", "o")}
    order = ["x", *w, *r, "", "", "", *b, "", "", "h", "c", "", "", "", ""]
    f.add("UNIDIRECTIONAL_SEQUENCE_LSTM", "plain", {"x": f.noise(1, 6, 4)}, {**w, **r, **b}, order=order, options=("UnidirectionalSequenceLSTMOptions", {"fusedActivationFunction": 4, "timeMajor": False}), axes=("fixed",),
          variables={"h": (1, 5), "c": (1, 5)})


def transforms(f):
    f.add("RFFT2D", "and COMPLEX_ABS", {"x": f.noise(1, 8, 16)}, {"n": i4(8, 16)}, nodes=[("RFFT2D", 1, ["x", "n"], ["c"], ("Rfft2dOptions", {}), "complex64"), ("COMPLEX_ABS", 1, ["c"], ["y"], None)], opened="batch",
          formula=lambda x, n: numpy.abs(numpy.fft.rfft2(x)).astype("f4"))


def stable(f):
    x, z = f.noise(*SHAPE), f.noise(*SHAPE)
    for name, formula in (("ADD", numpy.add), ("MULTIPLY", numpy.multiply), ("SUBTRACT", numpy.subtract), ("DIVIDE", numpy.divide), ("MAXIMUM", numpy.maximum), ("MINIMUM", numpy.minimum)):
        f.add(f"STABLEHLO_{name}", "plain", {"x": x, "z": z}, formula=formula, axes=("fixed",))
    for name, formula in (("ABS", numpy.abs), ("COSINE", numpy.cos), ("EXPONENTIAL", numpy.exp), ("FLOOR", numpy.floor), ("NEGATE", numpy.negative), ("TANH", numpy.tanh), ("LOGISTIC", lambda x: (1 / (1 + numpy.exp(-x))).astype("f4"))):
        f.add(f"STABLEHLO_{name}", "plain", {"x": x}, formula=formula, axes=("fixed",))
