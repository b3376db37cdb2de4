"""TF Lite operators that resample a picture or move its elements."""

import numpy

from tflite_model import Family

SHAPE = (1, 6, 8, 3)
SAME_SCALE = {name: (0.05, 3) for name in ("x", "z", "u", "y", "a", "c")}


def cases():
    family = Family(13, {"float32", "int8"})
    for part in (resized, padded, rearranged, cut, joined, shaped, gathered, made):
        part(family)
    return family.cases


def i4(*values):
    return numpy.array(values, "i4")


def sources(size, out, align, half):
    """Where each element of an axis comes from, as TF Lite's kernels compute it, in float32."""
    scale = numpy.float32((size - 1) / (out - 1)) if align and out > 1 else numpy.float32(size / out)
    at = numpy.arange(out, dtype="f4")
    return (at + numpy.float32(0.5)) * scale - numpy.float32(0.5) if half else at * scale


def bilinear(align, half):
    def formula(x, size):
        result = x.astype("f8")
        for axis, out in zip((1, 2), size):
            at = sources(x.shape[axis], int(out), align, half)
            low = numpy.maximum(numpy.floor(at), 0).astype(int)
            high = numpy.minimum(numpy.ceil(at), x.shape[axis] - 1).astype(int)
            part = (at - numpy.floor(at) if not half else at - numpy.maximum(numpy.floor(at), 0)).clip(0, 1).reshape([-1 if a == axis else 1 for a in range(4)])
            result = numpy.take(result, low.clip(0, x.shape[axis] - 1), axis) * (1 - part) + numpy.take(result, high.clip(0, None), axis) * part
        return result.astype("f4")
    return formula


def nearest(align, half):
    """The source is floor((i + 0.5) * in / out) with half pixels, round(i * (in - 1) / (out - 1)) with aligned corners."""
    def formula(x, size):
        for axis, out in zip((1, 2), size):
            n, out = x.shape[axis], int(out)
            scale = numpy.float32((n - 1) / (out - 1)) if align and out > 1 else numpy.float32(n / out)
            at = (numpy.arange(out, dtype="f4") + numpy.float32(0.5 if half else 0)) * scale
            at = numpy.floor(at + numpy.float32(0.5)) if align else numpy.floor(at)
            x = numpy.take(x, at.astype(int).clip(0, n - 1), axis)
        return x
    return formula


def resized(f):
    for operator, table, formulas in (("RESIZE_BILINEAR", "ResizeBilinearOptions", bilinear), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions", nearest)):
        for align, half, word in ((False, False, "asymmetric"), (True, False, "align_corners"), (False, True, "half_pixel_centers")):
            for factor, size in {"twice": (12, 16), "not whole": (10, 13), "smaller": (3, 4), "smaller, not whole": (4, 5), "odd": (7, 31), "once": (6, 8)}.items():
                for dtype in ("f4", "i1", "u1"):
                    f.add(operator, f"{word}, {factor}", {"x": f.noise(*SHAPE, dtype=dtype)}, {"size": i4(*size)}, options=(table, {"alignCorners": align, "halfPixelCenters": half}), scales=SAME_SCALE if dtype != "f4" else None,
                          version=3 if half else 2 if dtype == "i1" else 1, tolerance=2 if dtype != "f4" and "BI" in operator else None,
                          formula=formulas(align, half) if dtype == "f4" or "NEAREST" in operator else None)
            f.add(operator, f"{word}, size as an input", {"x": f.noise(*SHAPE), "size": i4(9, 5)}, options=(table, {"alignCorners": align, "halfPixelCenters": half}), version=3 if half else 1, opened={"x": (1, 2)},
                  formula=formulas(align, half))
            f.add(operator, f"{word}, batch", {"x": f.noise(3, 5, 7, 2)}, {"size": i4(8, 9)}, options=(table, {"alignCorners": align, "halfPixelCenters": half}), version=3 if half else 1, opened="batch", axes=("open",),
                  formula=formulas(align, half))


def padded(f):
    pads = numpy.array([[0, 0], [1, 2], [3, 1], [0, 0]], "i4")
    for dtype in ("f4", "i1", "u1", "i4"):
        x, scales = f.noise(*SHAPE, dtype=dtype), SAME_SCALE if dtype in ("i1", "u1") else None
        zero = 3 if scales else 0
        f.add("PAD", "plain", {"x": x}, {"p": pads}, options=("PadOptions", {}), scales=scales, version=2 if dtype == "i1" else 1, formula=lambda x, p, v=zero: numpy.pad(x, p, constant_values=v))
        if dtype != "i4":
            f.add("PADV2", "plain", {"x": x}, {"p": pads, "z": numpy.array(7, dtype)}, options=("PadV2Options", {}), scales=scales, version=2 if dtype == "i1" else 1, formula=lambda x, p, z: numpy.pad(x, p, constant_values=z))
        for mode, name in enumerate(("reflect", "symmetric")):
            f.add("MIRROR_PAD", name, {"x": x}, {"p": pads}, options=("MirrorPadOptions", {"mode": mode}), scales=scales, version=2 if dtype == "i1" else 1, formula=lambda x, p, name=name: numpy.pad(x, p, name))
    f.add("PAD", "channels and batch", {"x": f.noise(2, 3, 4, 2)}, {"p": numpy.array([[1, 0], [0, 0], [2, 1], [0, 3]], "i4")}, options=("PadOptions", {}), formula=lambda x, p: numpy.pad(x, p))
    f.add("PAD", "pads as an input", {"x": f.noise(*SHAPE), "p": pads}, options=("PadOptions", {}), opened={"x": (1, 2)}, formula=lambda x, p: numpy.pad(x, p))


def rearranged(f):
    def to_depth(x, b=2):
        n, h, w, c = x.shape
        return x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // b, w // b, b * b * c)

    def to_space(x, b=2):
        n, h, w, c = x.shape
        return x.reshape(n, h, w, b, b, c // b // b).transpose(0, 1, 3, 2, 4, 5).reshape(n, h * b, w * b, c // b // b)

    for dtype in ("f4", "i1", "u1", "i4"):
        scales = SAME_SCALE if dtype in ("i1", "u1") else None
        f.add("SPACE_TO_DEPTH", "plain", {"x": f.noise(*SHAPE, dtype=dtype)}, options=("SpaceToDepthOptions", {"blockSize": 2}), scales=scales, version=2 if dtype == "i1" else 1, formula=to_depth)
        f.add("DEPTH_TO_SPACE", "plain", {"x": f.noise(1, 3, 4, 8, dtype=dtype)}, options=("DepthToSpaceOptions", {"blockSize": 2}), scales=scales, version=2 if dtype == "i1" else 1, formula=to_space)
        f.add("SPACE_TO_BATCH_ND", "plain", {"x": f.noise(*SHAPE, dtype=dtype)}, {"s": i4(2, 2), "p": numpy.array([[0, 0], [2, 0]], "i4")}, options=("SpaceToBatchNDOptions", {}), scales=scales, version=2 if dtype == "i1" else 1)
        f.add("BATCH_TO_SPACE_ND", "plain", {"x": f.noise(4, 3, 4, 2, dtype=dtype)}, {"s": i4(2, 2), "p": numpy.array([[0, 1], [1, 0]], "i4")}, options=("BatchToSpaceNDOptions", {}), scales=scales, version=2 if dtype == "i1" else 1)
        f.add("TRANSPOSE", "to channels first", {"x": f.noise(*SHAPE, dtype=dtype)}, {"p": i4(0, 3, 1, 2)}, options=("TransposeOptions", {}), scales=scales, version=2 if dtype == "i1" else 1, formula=lambda x, p: x.transpose(p))
        f.add("REVERSE_V2", "plain", {"x": f.noise(*SHAPE, dtype=dtype)}, {"a": i4(2)}, options=("ReverseV2Options", {}), scales=scales, version=3 if dtype == "i1" else 1, formula=lambda x, a: numpy.flip(x, a))
    f.add("TRANSPOSE", "sides", {"x": f.noise(*SHAPE)}, {"p": i4(0, 2, 1, 3)}, options=("TransposeOptions", {}), formula=lambda x, p: x.transpose(p))
    f.add("TRANSPOSE", "five axes", {"x": f.noise(1, 2, 3, 4, 5)}, {"p": i4(4, 0, 3, 1, 2)}, options=("TransposeOptions", {}), version=4, formula=lambda x, p: x.transpose(p))
    f.add("REVERSE_SEQUENCE", "plain", {"x": f.noise(3, 6, 4)}, {"n": i4(2, 6, 1)}, options=("ReverseSequenceOptions", {"seqDim": 1, "batchDim": 0}), opened={"x": (1,)})


def cut(f):
    def strided(variant, x, begin, end, strides, **masks):
        scales = SAME_SCALE if x.dtype.itemsize == 1 else None
        f.add("STRIDED_SLICE", variant, {"x": x}, {"begin": i4(*begin), "end": i4(*end), "steps": i4(*strides)}, options=("StridedSliceOptions", {**{name: 0 for name in MASKS}, **masks}), scales=scales, version=2 if x.dtype == "i1" else 1)

    for dtype in ("f4", "i1", "u1", "i4"):
        x, scales = f.noise(*SHAPE, dtype=dtype), SAME_SCALE if dtype in ("i1", "u1") else None
        strided("plain", x, (0, 1, 2, 0), (1, 5, 8, 3), (1, 1, 2, 1))
        strided("negative steps", x, (0, 5, 7, 0), (1, 0, 1, 3), (1, -1, -2, 1))
        f.add("SLICE", "plain", {"x": x}, {"begin": i4(0, 1, 2, 0), "size": i4(1, 4, -1, 2)}, options=("SliceOptions", {}), scales=scales, version=2 if dtype == "i1" else 1, formula=lambda x, *_: x[:, 1:5, 2:, :2])
        f.add("SPLIT", "plain", {"x": f.noise(1, 6, 8, 4, dtype=dtype)}, {"axis": numpy.array(3, "i4")}, order=["axis", "x"], outputs=["a", "c"], options=("SplitOptions", {"numSplits": 2}), scales=scales, version=2 if dtype == "i1" else 1,
              formula=lambda x, axis: numpy.split(x, 2, 3))
        f.add("SPLIT_V", "uneven", {"x": x}, {"s": i4(1, 5, -1), "axis": numpy.array(2, "i4")}, outputs=["a", "c", "y"], options=("SplitVOptions", {"numSplits": 3}), scales=scales, version=2 if dtype == "i1" else 1,
              formula=lambda x, s, axis: numpy.split(x, (1, 6), 2))
        f.add("UNPACK", "plain", {"x": f.noise(1, 3, 5, 2, dtype=dtype)}, outputs=["a", "c", "y"], options=("UnpackOptions", {"num": 3, "axis": 1}), scales=scales, version=2 if dtype == "i1" else 1, opened={"x": (2,)},
              formula=lambda x: [x[:, i] for i in range(3)])
    x = f.noise(*SHAPE)
    strided("masks", x, (0, 1, 2, 0), (0, 5, 0, 2), (1, 1, 1, 1), beginMask=1, endMask=5)
    strided("shrink_axis_mask", x, (0, 2, 3, 0), (1, 3, 8, 3), (1, 1, 1, 1), shrinkAxisMask=2)
    strided("negative limits", x, (0, -4, -3, -2), (1, -1, 8, 3), (1, 1, 1, 1))
    strided("reversed", x, (0, 0, 0, 0), (0, 0, 0, 0), (1, -1, 1, 1), beginMask=15, endMask=15)
    f.add("SLICE", "begin as an input", {"x": x, "begin": i4(0, 1, 2, 0)}, {"size": i4(1, 3, 4, 2)}, options=("SliceOptions", {}), opened={"x": (1, 2)}, formula=lambda x, *_: x[:, 1:4, 2:6, :2])


MASKS = ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask")


def joined(f):
    for dtype in ("f4", "i1", "u1", "i4"):
        scales = SAME_SCALE if dtype in ("i1", "u1") else None
        f.add("CONCATENATION", "channels", {"x": f.noise(*SHAPE, dtype=dtype), "z": f.noise(1, 6, 8, 2, dtype=dtype)}, options=("ConcatenationOptions", {"axis": 3}), scales=scales, version=2 if dtype == "i1" else 1,
              formula=lambda x, z: numpy.concatenate([x, z], 3))
        f.add("PACK", "plain", {"x": f.noise(1, 5, 2, dtype=dtype), "z": f.noise(1, 5, 2, dtype=dtype)}, options=("PackOptions", {"valuesCount": 2, "axis": 1}), scales=scales, version=2 if dtype == "i1" else 1, opened={"x": (1,), "z": (1,)},
              formula=lambda x, z: numpy.stack([x, z], 1))
        f.add("TILE", "plain", {"x": f.noise(1, 3, 4, 2, dtype=dtype)}, {"r": i4(1, 2, 3, 1)}, options=("TileOptions", {}), scales=scales, version=3 if dtype in ("i1", "u1") else 1, formula=lambda x, r: numpy.tile(x, r))
    f.add("CONCATENATION", "different scales", {"x": f.noise(*SHAPE, dtype="u1"), "z": f.noise(*SHAPE, dtype="u1")}, options=("ConcatenationOptions", {"axis": 3}), scales={"x": (0.05, 3), "z": (0.03, 100), "y": (0.06, 50)}, tolerance=1)
    f.add("CONCATENATION", "negative axis", {"x": f.noise(*SHAPE), "z": f.noise(*SHAPE)}, options=("ConcatenationOptions", {"axis": -1}), formula=lambda x, z: numpy.concatenate([x, z], 3))
    f.add("TILE", "repeats as an input", {"x": f.noise(2, 3, 4, 5), "r": i4(7, 6, 4, 2)}, options=("TileOptions", {}), opened={"x": (1, 2)}, formula=lambda x, r: numpy.tile(x, r))
    f.add("BROADCAST_TO", "plain", {"x": f.noise(1, 3, 1, 2)}, {"s": i4(2, 3, 4, 2)}, options=("BroadcastToOptions", {}), version=2, axes=("fixed",), formula=lambda x, s: numpy.broadcast_to(x, s))
    f.add("BROADCAST_ARGS", "plain", {"x": i4(1, 3, 1), "z": i4(2, 1, 4)}, opened={}, formula=lambda x, z: i4(2, 3, 4))


def shaped(f):
    for dtype in ("f4", "i1", "u1"):
        scales = SAME_SCALE if dtype != "f4" else None
        f.add("RESHAPE", "flat", {"x": f.noise(*SHAPE, dtype=dtype)}, {"s": i4(1, -1)}, options=("ReshapeOptions", {"newShape": [1, -1]}), scales=scales, formula=lambda x, s: x.reshape(1, -1))
    x = f.noise(*SHAPE)
    f.add("RESHAPE", "shape as an input", {"x": x, "s": i4(1, 16, 9)}, options=("ReshapeOptions", {}), opened={"x": (1, 2)}, formula=lambda x, s: x.reshape(s))
    f.add("RESHAPE", "by the option", {"x": x}, options=("ReshapeOptions", {"newShape": [1, 48, 3]}), axes=("fixed",), formula=lambda x: x.reshape(1, 48, 3))
    f.add("EXPAND_DIMS", "plain", {"x": f.noise(1, 5, 3)}, {"a": numpy.array(1, "i4")}, options=("ExpandDimsOptions", {}), opened={"x": (1,)}, formula=lambda x, a: x[:, None])
    f.add("SQUEEZE", "axes", {"x": f.noise(1, 5, 1, 3)}, options=("SqueezeOptions", {"squeezeDims": [2]}), opened={"x": (1,)}, formula=lambda x: x[:, :, 0])
    f.add("SQUEEZE", "all", {"x": f.noise(1, 5, 1, 3)}, options=("SqueezeOptions", {"squeezeDims": []}), axes=("fixed",), formula=numpy.squeeze)
    f.add("SHAPE", "plain", {"x": x}, options=("ShapeOptions", {"outType": 2}), dtypes=["int32"], formula=lambda x: i4(*x.shape))
    f.add("RANK", "plain", {"x": x}, options=("RankOptions", {}), dtypes=["int32"], formula=lambda x: numpy.array(x.ndim, "i4"))


def gathered(f):
    for dtype in ("f4", "i1", "u1", "i4"):
        x, scales = f.noise(*SHAPE, dtype=dtype), SAME_SCALE if dtype in ("i1", "u1") else None
        f.add("GATHER", "plain", {"x": x}, {"i": i4(2, 0, 1, 1)}, options=("GatherOptions", {"axis": 3}), scales=scales, version=2 if dtype == "i1" else 1, formula=lambda x, i: numpy.take(x, i, 3))
        f.add("GATHER_ND", "plain", {"x": x}, {"i": numpy.array([[0, 1], [0, 2], [0, 5]], "i4")}, options=("GatherNdOptions", {}), scales=scales, version=3 if dtype == "i1" else 1, formula=lambda x, i: x[i[:, 0], i[:, 1]])
        f.add("SCATTER_ND", "plain", {"u": f.noise(3, 4, dtype=dtype)}, {"i": numpy.array([[4], [1], [0]], "i4"), "s": i4(6, 4)}, order=["i", "u", "s"], options=("ScatterNdOptions", {}), axes=("fixed",))
    f.add("SCATTER_ND", "equal indices", {"u": f.noise(3, 4)}, {"i": numpy.array([[4], [1], [4]], "i4"), "s": i4(6, 4)}, order=["i", "u", "s"], options=("ScatterNdOptions", {}), axes=("fixed",))
    f.add("GATHER", "batch_dims", {"x": f.noise(2, 5, 3)}, {"i": i4(*range(6)).reshape(2, 3) % 5}, options=("GatherOptions", {"axis": 1, "batchDims": 1}), version=5, opened={"x": ()}, axes=("fixed",))
    f.add("GATHER", "indices as an input", {"x": f.noise(9, 4), "i": i4(8, 0, 3)}, options=("GatherOptions", {"axis": 0}), formula=lambda x, i: x[i])
    f.add("EMBEDDING_LOOKUP", "plain", {"i": i4(3, 0, 4)}, {"w": f.noise(5, 6)}, dtypes=["float32"], formula=lambda i, w: w[i])
    f.add("DYNAMIC_UPDATE_SLICE", "plain", {"x": f.noise(1, 6, 4), "u": f.noise(1, 2, 3), "i": i4(0, 3, 1)}, options=("DynamicUpdateSliceOptions", {}), opened={"x": (1,)})
    f.add("DILATE", "plain", {"x": f.noise(3, 4)}, {"d": i4(2, 3), "p": numpy.array(-1.5, "f4")}, options=("DilateOptions", {}), opened={})


def made(f):
    f.add("FILL", "shape as an input", {"s": i4(2, 3)}, {"v": numpy.array(2.5, "f4")}, options=("FillOptions", {}), dtypes=["float32"], opened={}, formula=lambda s, v: numpy.full(s, v))
    f.add("RANGE", "limits as inputs", {"a": numpy.array(2, "i4"), "b": numpy.array(9, "i4"), "c": numpy.array(3, "i4")}, options=("RangeOptions", {}), opened={}, formula=lambda a, b, c: numpy.arange(a, b, c, dtype="i4"))
    f.add("ONE_HOT", "last axis", {"i": numpy.array([[1, 0], [3, 2]], "i4")}, {"d": numpy.array(4, "i4"), "on": numpy.array(5, "f4"), "off": numpy.array(-1, "f4")}, options=("OneHotOptions", {"axis": -1}), dtypes=["float32"],
          formula=lambda i, d, on, off: numpy.where(i[..., None] == numpy.arange(4), on, off))
    f.add("ONE_HOT", "axis 1, out of range", {"i": numpy.array([[1, 0, -1], [3, 2, 7]], "i4")}, {"d": numpy.array(4, "i4"), "on": numpy.array(1, "f4"), "off": numpy.array(0, "f4")}, options=("OneHotOptions", {"axis": 1}), dtypes=["float32"],
          formula=lambda i, d, on, off: numpy.where(i[:, None] == numpy.arange(4)[:, None], on, off))
    f.add("MATRIX_DIAG", "plain", {"x": f.noise(2, 4)}, options=("MatrixDiagOptions", {}), formula=lambda x: numpy.stack([numpy.diag(row) for row in x]))
    f.add("MATRIX_SET_DIAG", "plain", {"x": f.noise(2, 4, 5), "d": f.noise(2, 4)}, options=("MatrixSetDiagOptions", {}))
    f.add("SPARSE_TO_DENSE", "plain", {"v": f.noise(3)}, {"i": numpy.array([[0, 1], [1, 2], [2, 0]], "i4"), "s": i4(3, 4), "z": numpy.array(-1, "f4")}, order=["i", "s", "v", "z"], options=("SparseToDenseOptions", {"validateIndices": False}), axes=("fixed",))
