"""ONNX operators that resample a picture or move its pixels: Resize, Upsample, GridSample, Pad, DepthToSpace and others."""

import numpy

from onnx_model import REFERENCE, RUNTIME, Family

COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
BORDER = (RUNTIME, "the reference evaluator moves the point to the border; ONNX Runtime and PyTorch move its neighbours")
SIGNED = (REFERENCE, "ONNX Runtime loses negative bytes between the two passes")


def cases():
    family = Family(2)
    for part in (nearest, linear, cubic, antialiased, forms, bytes_resized, upsampled, sampled, padded, rearranged):
        part(family)
    return family.cases


def resize(f, variant, x, scales=None, sizes=None, opset=19, **attributes):
    """A Resize to `scales`, or to `sizes` of the last axes, of which the others are those of the picture."""
    if scales is not None:
        constants = {"scales": numpy.array(scales, "f4")}
        f.add("Resize", variant, {"x": x}, constants, order=["x", "", "scales"], opset=opset, **attributes)
    else:
        whole = sizes if "only" in attributes else [*x.shape[: x.ndim - len(sizes)], *sizes]
        f.add("Resize", variant, {"x": x}, {"sizes": numpy.array(whole)}, order=["x", "", "", "sizes"], opset=opset, **attributes)


def nearest(f):
    # All factors are exact, and the extents whole: else programs differ by rounding.
    x = f.noise(1, 2, 8, 10)
    for coordinates in COORDINATES:
        for mode in NEAREST:
            resize(f, f"nearest {mode}, {coordinates}", x, [1, 1, 1.5, 0.5], mode="nearest", nearest_mode=mode, coordinate_transformation_mode=coordinates)
    resize(f, "nearest, to sizes", x, sizes=[8, 9], mode="nearest", opened="batch")
    resize(f, "nearest floor, asymmetric, to sizes", x, sizes=[3, 20], mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")


def linear(f):
    x = f.noise(1, 2, 8, 10)
    for coordinates in COORDINATES:
        for word, scales in (("up", [1, 1, 2, 1.5]), ("down", [1, 1, 0.625, 0.5])):
            resize(f, f"linear, {coordinates}, {word}", x, scales, mode="linear", coordinate_transformation_mode=coordinates)
    resize(f, "linear, to sizes", x, sizes=[9, 16], mode="linear")
    resize(f, "linear, one row", x, sizes=[1, 5], mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    resize(f, "linear, channels too", x, [1, 2, 1.5, 1.5], mode="linear")
    resize(f, "linear, three axes", f.noise(1, 1, 3, 4, 5), [1, 1, 2, 1.5, 2], mode="linear")
    resize(f, "linear, one axis", f.noise(1, 2, 8), [1, 1, 1.5], mode="linear", opened={"x": (2,)})


def cubic(f):
    x = f.noise(1, 2, 8, 12)
    for coordinates in COORDINATES:
        for exclude in (0, 1):
            resize(f, f"cubic{', exclude_outside' * exclude}, {coordinates}", x, [1, 1, 1.5, 0.5], mode="cubic", exclude_outside=exclude,
                   coordinate_transformation_mode=coordinates)
    for exclude in (0, 1):
        resize(f, f"cubic, cubic_coeff_a -0.5{', exclude_outside' * exclude}", x, [1, 1, 2, 2], mode="cubic", cubic_coeff_a=-0.5, exclude_outside=exclude)
    resize(f, "cubic, to sizes", x, sizes=[9, 6], mode="cubic")


def antialiased(f):
    x = f.noise(1, 2, 16, 12)
    for mode in ("linear", "cubic"):
        for coordinates in ("half_pixel", "align_corners", "pytorch_half_pixel", "asymmetric"):
            for word, scales in (("down", [1, 1, 0.375, 0.5]), ("up", [1, 1, 1.5, 1.25])):
                resize(f, f"{mode}, antialias, {coordinates}, {word}", x, scales, mode=mode, antialias=1, coordinate_transformation_mode=coordinates)
        resize(f, f"{mode}, antialias, to sizes", x, sizes=[5, 6], mode=mode, antialias=1)
    resize(f, "cubic, antialias, exclude_outside", x, [1, 1, 0.375, 0.5], mode="cubic", antialias=1, exclude_outside=1)


def forms(f):
    """What else Resize takes: parts of a picture, policies, axes, older opsets, scales and sizes as inputs."""
    x = f.noise(1, 2, 6, 8)
    for mode in ("linear", "nearest", "cubic"):
        for word, region in (("inside", [0, 0, 0.2, 0.3, 1, 1, 0.8, 0.9]), ("outside", [0, 0, -0.2, 0.3, 1, 1, 1.2, 0.9])):
            f.add("Resize", f"{mode}, tf_crop_and_resize {word}", {"x": x}, {"roi": numpy.array(region, "f4"), "sizes": numpy.array([1, 2, 4, 5])},
                  order=["x", "roi", "", "sizes"], opset=19, mode=mode, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0)
    for policy in ("not_larger", "not_smaller", "stretch"):
        for mode in ("linear", "nearest", "cubic"):
            resize(f, f"{mode}, keep_aspect_ratio_policy {policy}", x, sizes=[9, 9], mode=mode, keep_aspect_ratio_policy=policy, only=[2, 3])
    resize(f, "linear, axes", x, sizes=[5, 12], mode="linear", only=[2, 3])
    resize(f, "linear, axes in another order", x, sizes=[12, 5], mode="linear", only=[3, 2])
    resize(f, "nearest, axes, keep_aspect_ratio_policy", x, sizes=[7, 7], mode="nearest", only=[2, 3], keep_aspect_ratio_policy="not_larger")
    for opset in (11, 13, 18):
        for mode in ("linear", "nearest", "cubic"):
            f.add("Resize", f"{mode}, opset {opset}", {"x": x}, {"roi": numpy.zeros(0, "f4"), "scales": numpy.array([1, 1, 1.5, 2], "f4")}, opset=opset, mode=mode)
    for mode in ("linear", "nearest"):
        f.add("Resize", f"{mode}, opset 10", {"x": x}, {"scales": numpy.array([1, 1, 1.5, 2], "f4")}, opset=10, mode=mode)
    f.add("Resize", "tf_half_pixel_for_nn, opset 11", {"x": x}, {"roi": numpy.zeros(0, "f4"), "scales": numpy.array([1, 1, 1.5, 2], "f4")}, opset=11,
          mode="nearest", coordinate_transformation_mode="tf_half_pixel_for_nn")
    f.add("Resize", "linear, sizes as an input", {"x": x, "sizes": numpy.array([1, 2, 9, 5])}, order=["x", "", "", "sizes"], opened={"x": (2, 3)}, mode="linear")
    f.add("Resize", "nearest, scales as an input", {"x": x, "scales": numpy.array([1, 1, 2, 1.5], "f4")}, order=["x", "", "scales"], opened={"x": (2, 3)}, mode="nearest")
    f.add("Resize", "float16", {"x": x.astype("f2")}, {"scales": numpy.array([1, 1, 2, 1.5], "f4")}, order=["x", "", "scales"], mode="linear")


def bytes_resized(f):
    for dtype in ("u1", "i1"):
        x = f.noise(1, 3, 6, 8, dtype=dtype)
        resize(f, "nearest, up", x, [1, 1, 1.5, 2.5], mode="nearest")
        resize(f, "nearest floor, asymmetric", x, [1, 1, 2, 2], mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
        resize(f, "linear, up", x, [1, 1, 2, 2], mode="linear", tolerance=1)
        resize(f, "linear, align_corners, to sizes", x, sizes=[9, 5], mode="linear", coordinate_transformation_mode="align_corners", tolerance=1)
        resize(f, "linear, antialias, down", x, [1, 1, 0.5, 0.5], mode="linear", antialias=1, tolerance=1, right=SIGNED if dtype == "i1" else None)
    resize(f, "linear, channels last", f.noise(1, 6, 8, 3, dtype="u1"), [1, 2, 1.5, 1], mode="linear", tolerance=1, opened={"x": (1, 2)})


def upsampled(f):
    x = f.noise(1, 2, 4, 5)
    for mode in ("nearest", "linear"):
        f.add("Upsample", f"{mode}, opset 9", {"x": x}, {"scales": numpy.array([1, 1, 2, 3], "f4")}, opset=9, mode=mode)
        f.add("Upsample", f"{mode}, opset 9, by parts", {"x": x}, {"scales": numpy.array([1, 1, 1.5, 2.5], "f4")}, opset=9, mode=mode)
        f.add("Upsample", f"{mode}, opset 7", {"x": x}, opset=7, mode=mode, scales=[1.0, 1.0, 2.0, 2.0])


def sampled(f):
    x = f.noise(1, 2, 6, 7)
    grid = f.noise(1, 4, 5, 2, low=-1.3, high=1.3)
    for version, modes in ((16, ("bilinear", "nearest", "bicubic")), (20, ("linear", "nearest", "cubic"))):
        for mode in modes:
            for padding in ("zeros", "border", "reflection"):
                for align in (0, 1) if version == 20 else (1,):
                    f.add("GridSample", f"opset {version}, {mode}, {padding}{', align_corners' * align}", {"x": x, "grid": grid},
                          opened={"x": (2, 3), "grid": (1, 2)}, opset=version, mode=mode, padding_mode=padding, align_corners=align,
                          right=BORDER if (mode, padding) == ("cubic", "border") else None)
    f.add("GridSample", "three axes", {"x": f.noise(1, 1, 3, 4, 5), "grid": f.noise(1, 2, 3, 4, 3, low=-1.1, high=1.1)}, opset=20, mode="linear",
          opened={"x": (2, 3, 4), "grid": (1, 2, 3)})
    for align in (0, 1):
        f.add("AffineGrid", f"plain{', align_corners' * align}", {"theta": f.noise(2, 2, 3)}, {"size": numpy.array([2, 3, 5, 6])}, opset=20, opened="batch", align_corners=align)
    f.add("AffineGrid", "three axes", {"theta": f.noise(1, 3, 4)}, {"size": numpy.array([1, 2, 3, 4, 5])}, opset=20, opened="batch")


def padded(f):
    pads = numpy.array([0, 0, 1, 2, 0, 0, 3, 1])
    for dtype in ("f4", "f2", "u1", "i1", "i4"):
        x = f.noise(1, 2, 5, 6, dtype=dtype)
        for mode in ("constant", "reflect", "edge"):
            f.add("Pad", mode, {"x": x}, {"pads": pads, **({"value": numpy.array(3, dtype)} if mode == "constant" else {})}, mode=mode)
        f.add("Pad", "wrap", {"x": x}, {"pads": pads}, opset=19, mode="wrap")
    x = f.noise(1, 2, 5, 6)
    for mode in ("constant", "reflect", "edge"):
        f.add("Pad", f"{mode}, negative", {"x": x}, {"pads": numpy.array([0, 0, -1, 2, 0, 0, 1, -2])}, mode=mode)
        f.add("Pad", f"{mode}, pads as an input", {"x": x, "pads": pads}, opened={"x": (2, 3)}, mode=mode)
        f.add("Pad", f"{mode}, axes", {"x": x}, {"pads": numpy.array([1, 2, 3, 0]), "axes": numpy.array([3, -2])}, order=["x", "pads", "", "axes"], opset=18, mode=mode)
        f.add("Pad", f"{mode}, opset 2", {"x": x}, opset=2, mode=mode, pads=[0, 0, 1, 1, 0, 0, 2, 3])
    f.add("Pad", "constant, infinite", {"x": x}, {"pads": pads, "value": numpy.array(-numpy.inf, "f4")})
    f.add("CenterCropPad", "both", {"x": f.noise(1, 3, 6, 9)}, {"shape": numpy.array([10, 4])}, opset=18, only=[2, 3])
    f.add("CenterCropPad", "odd", {"x": f.noise(1, 3, 7, 8)}, {"shape": numpy.array([4, 13])}, opset=18, only=[2, 3])


def rearranged(f):
    for dtype in ("f4", "f2", "u1", "i1"):
        for mode in ("DCR", "CRD"):
            f.add("DepthToSpace", mode, {"x": f.noise(1, 12, 3, 4, dtype=dtype)}, blocksize=2, mode=mode)
        f.add("SpaceToDepth", "plain", {"x": f.noise(1, 3, 6, 8, dtype=dtype)}, blocksize=2)
    f.add("DepthToSpace", "blocks of three", {"x": f.noise(1, 18, 2, 3)}, blocksize=3, mode="CRD")
    f.add("SpaceToDepth", "blocks of three", {"x": f.noise(1, 2, 6, 9)}, blocksize=3)
