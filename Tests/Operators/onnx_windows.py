"""ONNX operators that move a window over a picture: convolutions, pools, regions of interest."""

import numpy

from onnx_model import RUNTIME, Family

NAN = (None, "ONNX does not say what a window with NaN gives: the reference evaluator keeps it, ONNX Runtime does not")
LOWER = (RUNTIME, "the reference evaluator rounds the extents of SAME_LOWER down")
RANK = (RUNTIME, "the reference evaluator gives one axis too many")
SUM = (RUNTIME, "the reference evaluator cuts the sum over channels by the size of the batch")
UNPOOLED = (None, "ONNX Runtime reads the indices in the shape of the output, the reference evaluator in the inferred one")
OVERHANG = (None, "ONNX Runtime divides by the whole window, the reference evaluator by its part inside of picture and padding, as PyTorch does")
HALF = (RUNTIME, "the reference evaluator computes opset 10 like opset 16, half a pixel off")


def cases():
    family = Family(1)
    for part in (convolutions, transposed, maxima, averages, others, regions):
        part(family)
    return family.cases


def convolutions(f):
    x = f.noise(1, 4, 9, 12)
    w, b = f.noise(6, 4, 3, 3), f.noise(6)
    for variant, attributes in {
        "plain": {}, "strides": {"strides": [2, 3]}, "pads": {"pads": [1, 0, 2, 1]}, "dilations": {"dilations": [2, 3]},
        "auto_pad SAME_UPPER": {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, "auto_pad SAME_LOWER": {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        "auto_pad VALID": {"auto_pad": "VALID"}, "auto_pad NOTSET": {"auto_pad": "NOTSET", "pads": [1, 1, 1, 1]},
    }.items():
        f.add("Conv", variant, {"x": x}, {"w": w, "b": b}, **attributes)
    f.add("Conv", "auto_pad SAME_UPPER with dilations", {"x": x}, {"w": w}, auto_pad="SAME_UPPER", dilations=[2, 2])
    f.add("Conv", "even kernel SAME_LOWER", {"x": x}, {"w": f.noise(5, 4, 2, 4)}, auto_pad="SAME_LOWER")
    f.add("Conv", "group", {"x": x}, {"w": f.noise(6, 2, 3, 3)}, group=2, pads=[1, 1, 1, 1])
    f.add("Conv", "depthwise", {"x": x}, {"w": f.noise(4, 1, 3, 3), "b": f.noise(4)}, group=4, strides=[2, 2])
    f.add("Conv", "depthwise of two each", {"x": x}, {"w": f.noise(8, 1, 3, 3)}, group=4, dilations=[2, 2], pads=[2, 2, 2, 2])
    f.add("Conv", "one pixel", {"x": x}, {"w": f.noise(3, 4, 1, 1)})
    f.add("Conv", "weights as an input", {"x": x, "w": w}, opened={"x": (2, 3)})
    f.add("Conv", "one axis", {"x": f.noise(1, 4, 20)}, {"w": f.noise(3, 4, 5)}, opened={"x": (2,)}, pads=[2, 2])
    f.add("Conv", "three axes", {"x": f.noise(1, 2, 5, 6, 7)}, {"w": f.noise(3, 2, 2, 3, 3)}, auto_pad="SAME_UPPER")
    f.add("Conv", "float16", {"x": x.astype("f2")}, {"w": w.astype("f2")}, pads=[1, 1, 1, 1], tolerance=5e-3)
    f.add("Conv", "batch", {"x": f.noise(3, 4, 7, 7)}, {"w": w}, opened="batch")
    f.add("DeformConv", "with a mask", {"x": f.noise(1, 2, 6, 7), "offset": f.noise(1, 8, 5, 6), "mask": f.noise(1, 4, 5, 6, low=0, high=1)},
          {"w": f.noise(3, 2, 2, 2), "b": f.noise(3)}, order=["x", "w", "offset", "b", "mask"], opset=19, kernel_shape=[2, 2])
    f.add("DeformConv", "groups of offsets", {"x": f.noise(1, 4, 6, 7), "offset": f.noise(1, 16, 5, 6)},
          {"w": f.noise(4, 2, 2, 2)}, order=["x", "w", "offset"], opset=22, kernel_shape=[2, 2], group=2, offset_group=2)
    f.add("Col2Im", "plain", {"x": f.noise(1, 12, 20)}, {"shape": numpy.array([5, 7]), "block": numpy.array([2, 3])}, opset=18, opened="batch")
    f.add("Col2Im", "pads, strides, dilations", {"x": f.noise(2, 4, 12)}, {"shape": numpy.array([7, 8]), "block": numpy.array([2, 2])},
          opset=18, opened="batch", pads=[1, 0, 0, 1], strides=[2, 2], dilations=[2, 2])


def transposed(f):
    x, w = f.noise(1, 3, 5, 6), f.noise(3, 4, 3, 3)
    for variant, attributes in {
        "plain": {}, "strides": {"strides": [2, 3]}, "pads": {"strides": [2, 2], "pads": [1, 0, 1, 1]},
        "output_padding": {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, "dilations": {"dilations": [2, 2]},
        "auto_pad SAME_UPPER": {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, "auto_pad SAME_LOWER": {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        "auto_pad VALID": {"auto_pad": "VALID", "strides": [2, 2]}, "auto_pad SAME_UPPER, one step": {"auto_pad": "SAME_UPPER"},
        "auto_pad SAME_LOWER, uneven steps": {"auto_pad": "SAME_LOWER", "strides": [3, 2]},
    }.items():
        f.add("ConvTranspose", variant, {"x": x}, {"w": w, "b": f.noise(4)}, **attributes)
    f.add("ConvTranspose", "output_shape", {"x": x}, {"w": w}, strides=[2, 2], output_shape=[10, 12], axes=("fixed",))
    f.add("ConvTranspose", "output_shape SAME_UPPER", {"x": x}, {"w": w}, strides=[2, 2], output_shape=[10, 13], auto_pad="SAME_UPPER", axes=("fixed",))
    f.add("ConvTranspose", "even kernel", {"x": x}, {"w": f.noise(3, 2, 4, 4)}, strides=[2, 2], pads=[1, 1, 1, 1])
    f.add("ConvTranspose", "even kernel SAME_LOWER", {"x": x}, {"w": f.noise(3, 2, 4, 4)}, strides=[2, 2], auto_pad="SAME_LOWER")
    f.add("ConvTranspose", "group", {"x": f.noise(1, 4, 5, 6)}, {"w": f.noise(4, 3, 2, 2)}, group=2, strides=[2, 2])
    f.add("ConvTranspose", "depthwise", {"x": f.noise(1, 4, 5, 6)}, {"w": f.noise(4, 1, 4, 4)}, group=4, strides=[2, 2], pads=[1, 1, 1, 1])
    f.add("ConvTranspose", "one axis", {"x": f.noise(1, 3, 8)}, {"w": f.noise(3, 2, 3)}, strides=[2], opened={"x": (2,)})
    f.add("ConvTranspose", "three axes", {"x": f.noise(1, 2, 3, 4, 5)}, {"w": f.noise(2, 2, 2, 2, 2)}, strides=[2, 2, 2])


def maxima(f):
    x = f.noise(1, 3, 9, 11)
    for variant, attributes in {
        "plain": {}, "strides": {"strides": [2, 2]}, "pads": {"pads": [1, 0, 1, 1], "strides": [2, 2]}, "dilations": {"dilations": [2, 2]},
        "ceil_mode": {"ceil_mode": 1, "strides": [2, 3]}, "auto_pad VALID": {"auto_pad": "VALID", "strides": [2, 2]},
        "auto_pad SAME_UPPER": {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, "auto_pad SAME_LOWER": {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        "ceil_mode with dilations": {"ceil_mode": 1, "strides": [2, 2], "dilations": [2, 2]},
    }.items():
        f.add("MaxPool", variant, {"x": x}, kernel_shape=[3, 3], right=LOWER if "LOWER" in variant else None, **attributes)
    f.add("MaxPool", "ceil_mode with pads", {"x": f.noise(1, 3, 10, 10)}, kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)
    f.add("MaxPool", "ceil_mode with pads at the end", {"x": f.noise(1, 3, 8, 7)}, kernel_shape=[3, 2], strides=[3, 2], pads=[0, 0, 2, 1], ceil_mode=1)
    f.add("MaxPool", "Indices", {"x": x}, outputs=["y", "i"], kernel_shape=[2, 2], strides=[2, 2])
    f.add("MaxPool", "Indices with pads", {"x": x}, outputs=["y", "i"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    f.add("MaxPool", "Indices by columns", {"x": x}, outputs=["y", "i"], kernel_shape=[2, 2], strides=[2, 2], storage_order=1)
    f.add("MaxPool", "one axis", {"x": f.noise(1, 3, 12)}, kernel_shape=[3], strides=[2], opened={"x": (2,)})
    f.add("MaxPool", "three axes", {"x": f.noise(1, 2, 5, 6, 7)}, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    for dtype in ("u1", "i1"):
        f.add("MaxPool", "bytes", {"x": f.noise(1, 3, 8, 9, dtype=dtype)}, kernel_shape=[2, 2], strides=[2, 2])
        f.add("MaxPool", "bytes with pads", {"x": f.noise(1, 3, 8, 9, dtype=dtype)}, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    f.add("MaxPool", "values below zero with pads", {"x": x - 10}, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    nan = x.copy()
    nan[0, 1, 2, 3] = nan[0, 0, 8, 10] = numpy.nan
    f.add("MaxPool", "NaN", {"x": nan}, kernel_shape=[2, 2], right=NAN)
    infinite = x.copy()
    infinite[0, 0, :3, :3] = -numpy.inf
    f.add("MaxPool", "infinities", {"x": infinite}, kernel_shape=[2, 2])
    pooled = f.noise(1, 1, 2, 3)
    f.add("MaxUnpool", "plain", {"x": pooled, "i": numpy.array([[[[0, 3, 5], [13, 14, 22]]]])}, opened={}, kernel_shape=[2, 2], strides=[2, 2])
    f.add("MaxUnpool", "output_shape", {"x": pooled, "i": numpy.array([[[[0, 3, 5], [13, 14, 22]]]])},
          {"s": numpy.array([1, 1, 5, 7])}, opened={}, kernel_shape=[2, 2], strides=[2, 2], right=UNPOOLED)


def averages(f):
    x = f.noise(1, 3, 9, 11)
    for include in (0, 1):
        word = ", count_include_pad" if include else ""
        for variant, attributes in {
            "plain": {}, "pads": {"pads": [1, 0, 1, 1], "strides": [2, 2]}, "ceil_mode": {"ceil_mode": 1, "strides": [2, 3]},
            "ceil_mode with pads": {"ceil_mode": 1, "strides": [2, 2], "pads": [1, 1, 1, 1]},
            "auto_pad SAME_UPPER": {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, "auto_pad SAME_LOWER": {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
            "dilations": {"dilations": [2, 2], "pads": [1, 1, 1, 1], "opset": 19},
            "dilations, ceil_mode": {"dilations": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1, "opset": 19},
        }.items():
            f.add("AveragePool", variant + word, {"x": x}, kernel_shape=[3, 3], count_include_pad=include,
                  right=OVERHANG if include and variant == "ceil_mode" else None, **attributes)
    f.add("AveragePool", "ceil_mode with pads, even", {"x": f.noise(1, 3, 10, 10)}, kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)
    f.add("AveragePool", "ceil_mode with pads, even, count_include_pad", {"x": f.noise(1, 3, 10, 10)}, kernel_shape=[2, 2], strides=[2, 2],
          pads=[1, 1, 1, 1], ceil_mode=1, count_include_pad=1)
    f.add("AveragePool", "one axis", {"x": f.noise(1, 3, 12)}, kernel_shape=[3], strides=[2], opened={"x": (2,)})
    f.add("AveragePool", "three axes", {"x": f.noise(1, 2, 5, 6, 7)}, kernel_shape=[2, 2, 2], pads=[0, 1, 0, 1, 0, 0])
    f.add("AveragePool", "float16", {"x": x.astype("f2")}, kernel_shape=[3, 3])


def others(f):
    x = f.noise(1, 3, 8, 9)
    for p in (1, 2, 3):
        f.add("LpPool", f"p {p}", {"x": x}, kernel_shape=[3, 2], strides=[2, 2], p=p)
    f.add("LpPool", "pads", {"x": x}, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    f.add("LpPool", "auto_pad SAME_UPPER", {"x": x}, kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 2])
    f.add("LpPool", "auto_pad SAME_LOWER", {"x": x}, kernel_shape=[2, 2], auto_pad="SAME_LOWER")
    f.add("LpPool", "ceil_mode", {"x": x}, kernel_shape=[2, 2], strides=[3, 3], ceil_mode=1, opset=18)
    f.add("LpPool", "dilations", {"x": x}, kernel_shape=[2, 2], dilations=[2, 3], opset=18)
    for operator in ("GlobalAveragePool", "GlobalMaxPool"):
        f.add(operator, "plain", {"x": x})
        f.add(operator, "batch", {"x": f.noise(2, 3, 4, 4)}, opened="batch")
        f.add(operator, "three axes", {"x": f.noise(1, 2, 3, 4, 5)}, right=RANK if "Max" in operator else None)
    for p in (1, 2, 3):
        f.add("GlobalLpPool", f"p {p}", {"x": x}, p=p)
    f.add("LRN", "size 3", {"x": f.noise(1, 7, 4, 5)}, size=3, alpha=0.1, beta=0.75, bias=1.0, right=SUM)
    f.add("LRN", "size 5", {"x": f.noise(1, 7, 4, 5)}, size=5, alpha=0.2, beta=0.5, bias=2.0, right=SUM)


def regions(f):
    x = f.noise(1, 2, 12, 14)
    boxes = numpy.array([[0, 0, 9, 6], [1.3, 2.4, 11.6, 9.2], [4, 3, 5, 4], [-2, -1, 20, 18], [3.5, 3.5, 3.6, 3.6]], "f4")
    batch = numpy.zeros(5, "i8")
    for ratio in (0, 1, 2):
        for mode in ("avg", "max") if ratio == 2 else ("avg",):
            for version, transform in ((16, "half_pixel"), (16, "output_half_pixel"), (10, None)):
                extra = {"coordinate_transformation_mode": transform} if transform else {}
                name = f"{mode}, sampling_ratio {ratio}, {transform or 'opset 10'}"
                f.add("RoiAlign", name, {"x": x, "boxes": boxes, "batch": batch}, opened={"x": (2, 3)}, opset=version, mode=mode,
                      output_height=3, output_width=4, sampling_ratio=ratio, spatial_scale=1.0, right=None if transform else HALF, **extra)
    f.add("RoiAlign", "without sampling_ratio, scaled", {"x": x, "boxes": boxes * 4, "batch": batch}, opened={"x": (2, 3), "boxes": (0,), "batch": (0,)},
          output_height=2, output_width=2, spatial_scale=0.25)
    rois = numpy.array([[0, 0, 0, 9, 6], [0, 1, 2, 11, 9], [0, 4, 3, 5, 4]], "f4")
    f.add("MaxRoiPool", "plain", {"x": x, "rois": rois}, opened={"x": (2, 3)}, pooled_shape=[3, 3])
    f.add("MaxRoiPool", "scaled", {"x": x, "rois": rois * numpy.array([1, 2, 2, 2, 2], "f4")}, opened={"x": (2, 3)}, pooled_shape=[2, 4], spatial_scale=0.5)
