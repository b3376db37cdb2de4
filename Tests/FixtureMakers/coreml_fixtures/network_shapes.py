"""Neural networks: layers about shapes, slices, sizes, constants and selections."""
import numpy as np

from .harness import random
from .network_formulas import bilinear
from .network_values import F, values


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
    # A shape with an axis of 1 in front, as converters of Keras' layer normalization write it.
    exact("fill-dynamic-nested", ["fillDynamic"], {"x": np.array([[3]], F)}, {"y": np.full(3, 1.5, F)},
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
