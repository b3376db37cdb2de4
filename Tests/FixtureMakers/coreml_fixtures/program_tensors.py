"""ML Programs: Operations that move elements: shapes, slices, gathers, orders."""


import numpy as np
from coremltools.converters.mil import Builder as mb

from .program_cases import IOS16, IOS17, IOS18, case, integers, normal


def shapes():
    x, image = normal(2, 3, 4), normal(1, 8, 4, 6, seed=2)
    n = integers(1, 3, 1, 2)

    def build(x, image, n):
        first, second, third = mb.split(x=image, split_sizes=[1, 3, 4], axis=1)
        half, other = mb.split(x=image, num_splits=2, axis=-1)
        return {
            "reshape_": mb.reshape(x=x, shape=[4, 6]), "reshape_infer": mb.reshape(x=x, shape=[0, -1, 2]),
            "reshape_runtime": mb.reshape(x=x, shape=mb.concat(values=[mb.slice_by_index(x=mb.shape(x=x), begin=[0], end=[1]), [-1]], axis=0)),
            "transpose_": mb.transpose(x=x, perm=[2, 0, 1]), "transpose_negative": mb.transpose(x=x, perm=[-1, 0, -2]),
            "expand": mb.expand_dims(x=x, axes=[0, -2]), "squeeze_": mb.squeeze(x=n, axes=[0, -2]), "squeeze_all": mb.squeeze(x=n),
            "concat_": mb.concat(values=[x, x, mb.relu(x=x)], axis=-2),
            "concat_constant": mb.concat(values=[x, np.ones((2, 1, 4), np.float32)], axis=1),
            "interleave": mb.concat(values=[image, mb.relu(x=image)], axis=-3, interleave=True),
            "stack_": mb.stack(values=[x, mb.relu(x=x)], axis=1), "stack_last": mb.stack(values=[x, x], axis=-1),
            "first": first, "second": mb.relu(x=second), "third": third, "half_": half, "other": other,
            "flatten": mb.flatten2d(x=image), "flatten_2": mb.flatten2d(x=image, axis=2), "flatten_last": mb.flatten2d(x=image, axis=-1),
            "shape_": mb.shape(x=image), "tile_": mb.tile(x=x, reps=[1, 2, 3]), "tile_one": mb.tile(x=x, reps=[2, 1, 1]),
            "reverse_": mb.reverse(x=x, axes=[0, -1]), "reverse_all": mb.reverse(x=x),
            "fill_": mb.fill(shape=[2, 3], value=1.5), "fill_zero": mb.fill(shape=mb.shape(x=x)),
            "space_to_depth_": mb.space_to_depth(x=image, block_size=2), "depth_to_space_": mb.depth_to_space(x=image, block_size=2),
            "pixel_shuffle_": mb.pixel_shuffle(x=image, upscale_factor=2),
            "to_batch": mb.space_to_batch(x=image, block_shape=[2, 3], paddings=[[1, 1], [0, 3]]),
            "windows_": mb.sliding_windows(x=image, axis=2, size=2), "windows_last": mb.sliding_windows(x=image, axis=-1, size=3, stride=2),
            "range_": mb.range_1d(start=1.0, end=4.0, step=0.5),
            "range_int": mb.range_1d(start=0, end=mb.squeeze(x=mb.slice_by_index(x=mb.shape(x=image), begin=[1], end=[2])), step=3),
            "crop_": mb.crop(x=image, crop_height=[1, 0], crop_width=[2, 1]),
        }

    def expect(x, image, n):
        i = image
        both = np.stack([i, np.maximum(i, 0)], 2).reshape(1, 16, 4, 6)
        s2d = i.reshape(1, 8, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 32, 2, 3)
        d2s = i.reshape(1, 2, 2, 2, 4, 6).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 8, 12)
        shuffle = i.reshape(1, 2, 2, 2, 4, 6).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 8, 12)
        padded = np.pad(i, [(0, 0), (0, 0), (1, 1), (0, 3)])
        batch = padded.reshape(1, 8, 3, 2, 3, 3).transpose(3, 5, 0, 1, 2, 4).reshape(6, 8, 3, 3)
        return {
            "reshape_": x.reshape(4, 6), "reshape_infer": x.reshape(2, 6, 2), "reshape_runtime": x.reshape(2, 12),
            "transpose_": x.transpose(2, 0, 1), "transpose_negative": x.transpose(2, 0, 1),
            "expand": x.reshape(1, 2, 3, 1, 4), "squeeze_": n.reshape(3, 2), "squeeze_all": n.reshape(3, 2),
            "concat_": np.concatenate([x, x, np.maximum(x, 0)], 1), "concat_constant": np.concatenate([x, np.ones((2, 1, 4))], 1),
            "interleave": both, "stack_": np.stack([x, np.maximum(x, 0)], 1), "stack_last": np.stack([x, x], -1),
            "first": i[:, :1], "second": np.maximum(i[:, 1:4], 0), "third": i[:, 4:], "half_": i[..., :3], "other": i[..., 3:],
            "flatten": i.reshape(1, -1), "flatten_2": i.reshape(8, 24), "flatten_last": i.reshape(32, 6), "shape_": np.int32(i.shape),
            "tile_": np.tile(x, (1, 2, 3)), "tile_one": np.tile(x, (2, 1, 1)), "reverse_": x[::-1, :, ::-1], "reverse_all": x[::-1, ::-1, ::-1],
            "fill_": np.full((2, 3), 1.5), "fill_zero": np.zeros_like(x), "space_to_depth_": s2d, "depth_to_space_": d2s, "pixel_shuffle_": shuffle,
            "to_batch": batch, "windows_": np.stack([i[:, :, k : k + 2] for k in range(3)], 2),
            "windows_last": np.stack([i[..., k : k + 3] for k in (0, 2)], 3), "range_": np.arange(1, 4, 0.5, np.float32),
            "range_int": np.int32([0, 3, 6]), "crop_": i[:, :, 1:, 2:-1],
        }

    case("shapes", {"x": x, "image": image, "n": n}, build, expect)

    def zeros17(x):
        return {"fewer": mb.reshape(x=x, shape=[0, -1]), "more": mb.reshape(x=x, shape=[0, 1, 0, -1, 0]), "last": mb.reshape(x=x, shape=[-1, 0])}

    # From iOS 17 on each 0 is counted from the end, and is 1 where there is no such axis.
    case("reshape_ios17", {"x": x}, zeros17,
         lambda x: {"fewer": x.reshape(3, 8), "more": x.reshape(1, 1, 2, 3, 4), "last": x.reshape(6, 4)}, opset=IOS17)

    y = normal(6, 2, 3, 2, seed=5)
    ref = normal(3, 2, 4, seed=6)

    def build16(y, image, ref, x):
        return {
            "from_batch": mb.batch_to_space(x=y, block_shape=[2, 3], crops=[[1, 0], [0, 2]]),
            "unshuffle": mb.pixel_unshuffle(x=image, downscale_factor=np.uint32(2)), "filled": mb.fill_like(ref_tensor=ref, value=2.5),
            "like": mb.reshape_like(x=x, ref_tensors=[ref, image], begins=[0, 3], ends=[1, 0], end_masks=[False, True])
            if False else mb.reshape_like(x=x, ref_tensors=[ref, ref], begins=[0, 1], ends=[1, 0], end_masks=[False, True]),
        }

    def expect16(y, image, ref, x):
        space = y.reshape(2, 3, 1, 2, 3, 2).transpose(2, 3, 4, 0, 5, 1).reshape(1, 2, 6, 6)
        unshuffle = image.reshape(1, 8, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 32, 2, 3)
        return {"from_batch": space[:, :, 1:, :-2], "unshuffle": unshuffle, "filled": np.full_like(ref, 2.5), "like": x.reshape(3, 2, 4)}

    case("shapes_ios16", {"y": y, "image": image, "ref": ref, "x": x}, build16, expect16, opset=IOS16)


def slices():
    x, at = normal(3, 5, 6), np.int32([1, -4, 2])

    def build(x, at):
        return {
            "index": mb.slice_by_index(x=x, begin=[0, 1, 2], end=[2, 4, 6]),
            "masked": mb.slice_by_index(x=x, begin=[1, 0, -4], end=[0, 3, -1], begin_mask=[False, True, False], end_mask=[True, False, False]),
            "strided": mb.slice_by_index(x=x, begin=[0, 0, 1], end=[3, 5, 6], stride=[2, 3, 2]),
            "backwards": mb.slice_by_index(x=x, begin=[0, -1, 4], end=[3, 0, 0], stride=[1, -2, -1], end_mask=[True, True, False]),
            "squeezed": mb.slice_by_index(x=x, begin=[1, 0, -2], end=[0, 4, 0], squeeze_mask=[True, False, True]),
            "size": mb.slice_by_size(x=x, begin=[1, 2, 0], size=[2, -1, 3]),
            "size_runtime": mb.slice_by_size(x=x, begin=at, size=[2, 2, 3]),
            "index_runtime": mb.slice_by_index(x=x, begin=at, end=mb.add(x=at, y=np.int32([1, 3, 2]))),
        }

    def expect(x, at):
        return {
            "index": x[0:2, 1:4, 2:6], "masked": x[1:, :3, -4:-1], "strided": x[::2, ::3, 1::2], "backwards": x[:, ::-2, 4:0:-1],
            "squeezed": x[1, 0:4, -2], "size": x[1:3, 2:, :3], "size_runtime": x[1:3, 1:3, 2:5], "index_runtime": x[1:2, 1:4, 2:4],
        }

    case("slices", {"x": x, "at": at}, build, expect)

    u, piece = normal(2, 2, 3, seed=2), normal(5, seed=3)

    def build18(x, u, piece):
        return {
            "update": mb.slice_update(x=x, update=u, begin=[1, 0, 0], end=[3, 4, 3], stride=[1, 2, 1]),
            "update_masked": mb.slice_update(x=x, update=piece, begin=[1, 0, -2], end=[0, 0, 0], begin_mask=[False, True, False], end_mask=[False, True, False], squeeze_mask=[True, False, True]),
        }

    def expect18(x, u, piece):
        one, two = x.copy(), x.copy()
        one[1:3, 0:4:2, 0:3] = u
        two[1, :, -2] = piece
        return {"update": one, "update_masked": two}

    case("slice_update_ios18", {"x": x, "u": u, "piece": piece}, build18, expect18, opset=IOS18)


def pads():
    x = normal(1, 2, 4, 5)

    def build(x):
        return {
            "constant": mb.pad(x=x, pad=[1, 2, 0, 3], mode="constant", constant_val=0.5), "default": mb.pad(x=x, pad=[1, 1]),
            "reflect": mb.pad(x=x, pad=[2, 3, 1, 4], mode="reflect"), "replicate": mb.pad(x=x, pad=[3, 0, 1, 5], mode="replicate"),
            "channels": mb.pad(x=x, pad=[0, 0, 1, 2, 0, 0, 0, 0], mode="constant", constant_val=-1.0),
        }

    def expect(x):
        return {
            "constant": np.pad(x, [(0, 0), (0, 0), (1, 2), (0, 3)], constant_values=0.5), "default": np.pad(x, [(0, 0), (0, 0), (0, 0), (1, 1)]),
            "reflect": np.pad(x, [(0, 0), (0, 0), (2, 3), (1, 4)], "reflect"), "replicate": np.pad(x, [(0, 0), (0, 0), (3, 0), (1, 5)], "edge"),
            "channels": np.pad(x, [(0, 0), (1, 2), (0, 0), (0, 0)], constant_values=-1),
        }

    case("pad", {"x": x}, build, expect)


def gathers():
    x, deep = normal(4, 5), normal(2, 3, 4, seed=2)
    i1, i2, along = np.int32([3, 0, -1, 1]), np.int32([[1, -2], [0, 2]]), np.int32([[0, -1, 2, 1, 0], [3, 1, 0, -4, 2]])
    nd, pairs = np.int32([[0, 1], [3, -1]]), np.int32([[[0, 2]], [[1, 0]]])
    updates, rows = normal(2, 5, seed=3), np.int32([2, 0])

    def build(x, deep, i1, i2, along, nd):
        return {
            "gather_": mb.gather(x=x, indices=i1), "gather_columns": mb.gather(x=x, indices=i1, axis=1), "gather_2d": mb.gather(x=deep, indices=i2, axis=-2),
            "gather_scalar": mb.gather(x=x, indices=2, axis=0), "gather_negative": mb.gather(x=x, indices=np.int32([-1, 2]), axis=-1),
            "along_": mb.gather_along_axis(x=x, indices=along), "along_columns": mb.gather_along_axis(x=x, indices=np.int32([[1], [-1], [0], [4]]), axis=1),
            "nd_": mb.gather_nd(x=x, indices=nd), "nd_rows": mb.gather_nd(x=deep, indices=np.int32([[1], [0], [-1]])),
        }

    def expect(x, deep, i1, i2, along, nd):
        return {
            "gather_": x[i1], "gather_columns": x[:, i1], "gather_2d": deep[:, i2], "gather_scalar": x[2], "gather_negative": x[:, [-1, 2]],
            "along_": np.take_along_axis(x, along % 4, 0), "along_columns": np.take_along_axis(x, np.int32([[1], [4], [0], [4]]), 1),
            "nd_": x[[0, 3], [1, -1]], "nd_rows": deep[[1, 0, -1]],
        }

    case("gather", {"x": x, "deep": deep, "i1": i1, "i2": i2, "along": along, "nd": nd}, build, expect)

    def build16(deep, i2, pairs):
        return {
            "batched": mb.gather(x=deep, indices=i2, axis=1, batch_dims=1), "batched_last": mb.gather(x=deep, indices=i2, axis=2, batch_dims=1),
            "nd_batched": mb.gather_nd(x=deep, indices=pairs, batch_dims=1),
        }

    def expect16(deep, i2, pairs):
        return {
            "batched": np.stack([deep[b][i2[b]] for b in range(2)]), "batched_last": np.stack([deep[b][:, i2[b]] for b in range(2)]),
            "nd_batched": np.stack([deep[b][pairs[b][:, 0], pairs[b][:, 1]] for b in range(2)]),
        }

    case("gather_ios16", {"deep": deep, "i2": i2, "pairs": pairs}, build16, expect16, opset=IOS16)
    case("gather_ios17", {"x": x}, lambda x: {"small": mb.gather(x=x, indices=np.uint16([3, 1]), validate_indices=False)}, lambda x: {"small": x[[3, 1]]}, opset=IOS17)

    modes = {"update": lambda a, b: b, "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum}

    def build_scatter(x, updates, rows):
        found = {}
        for mode in modes:
            found["rows_" + mode] = mb.scatter(data=x, indices=rows, updates=updates, mode=mode)
            found["along_" + mode] = mb.scatter_along_axis(data=x, indices=np.int32([[2, 0, -1, 1, 0], [1, 3, 0, 2, 1]]), updates=updates, mode=mode)
            found["nd_" + mode] = mb.scatter_nd(data=x, indices=np.int32([[1], [-1]]), updates=updates, mode=mode)
        found["columns"] = mb.scatter(data=x, indices=np.int32([4, -2]), updates=mb.transpose(x=mb.slice_by_index(x=updates, begin=[0, 0], end=[2, 4]), perm=[1, 0]), axis=1, mode="add")
        found["points"] = mb.scatter_nd(data=x, indices=np.int32([[0, 1], [2, -2]]), updates=np.float32([7, 8]), mode="update")
        return found

    def expect_scatter(x, updates, rows):
        found = {}
        places = np.int32([[2, 0, 3, 1, 0], [1, 3, 0, 2, 1]])
        for mode, tool in modes.items():
            a, b, c = x.copy(), x.copy(), x.copy()
            a[rows] = tool(x[rows], updates)
            for r in range(2):
                for k in range(5):
                    b[places[r, k], k] = tool(x[places[r, k], k], updates[r, k])
            c[[1, 3]] = tool(x[[1, 3]], updates)
            found |= {"rows_" + mode: a, "along_" + mode: b, "nd_" + mode: c}
        columns, points = x.copy(), x.copy()
        columns[:, [4, 3]] += updates[:, :4].T
        points[0, 1], points[2, 3] = 7, 8
        return found | {"columns": columns, "points": points}

    case("scatter", {"x": x, "updates": updates, "rows": rows}, build_scatter, expect_scatter)
    case("scatter_ios17", {"x": x, "updates": updates, "rows": rows}, build_scatter, expect_scatter, opset=IOS17)


def tensors():
    x, n = normal(2, 5, 4), np.int32([[1, 0], [3, 2]])
    square = normal(2, 4, 5, seed=3)

    def build(x, n, square):
        values, indices = mb.topk(x=x, k=3)
        low, low_at = mb.topk(x=x, k=2, axis=1, ascending=True)
        return {
            "values": values, "indices": indices, "low": low, "low_at": low_at, "argsort_": mb.argsort(x=x),
            "argsort_up": mb.argsort(x=x, axis=1, ascending=True),
            "cumsum_": mb.cumsum(x=x), "cumsum_options": mb.cumsum(x=x, axis=1, exclusive=True, reverse=True), "cumsum_negative": mb.cumsum(x=x, axis=-1, reverse=True),
            "one_hot_": mb.one_hot(indices=n, one_hot_vector_size=4), "one_hot_values": mb.one_hot(indices=n, one_hot_vector_size=5, axis=1, on_value=2.5, off_value=-1.0),
            "band_": mb.band_part(x=square, lower=1, upper=0), "band_upper": mb.band_part(x=square, lower=0, upper=-1), "band_all": mb.band_part(x=square),
            "band_lower": mb.band_part(x=square, lower=-1, upper=0),
            "reverse_sequence_": mb.reverse_sequence(x=x, lengths=[4, 2], seq_axis=1, batch_axis=0),
        }

    def expect(x, n, square):
        order, up = np.argsort(-x, -1), np.argsort(x, 1)
        eye = lambda size: np.eye(size, dtype=np.float32)[n]
        reverse = x.copy()
        reverse[0, :4], reverse[1, :2] = x[0, :4][::-1], x[1, :2][::-1]
        exclusive = np.cumsum(x[:, ::-1], 1)[:, ::-1] - x
        return {
            "values": np.take_along_axis(x, order, -1)[..., :3], "indices": order[..., :3], "low": np.sort(x, 1)[:, :2], "low_at": up[:, :2],
            "argsort_": order, "argsort_up": up, "cumsum_": np.cumsum(x, 0), "cumsum_options": exclusive,
            "cumsum_negative": np.cumsum(x[..., ::-1], -1)[..., ::-1], "one_hot_": eye(4),
            "one_hot_values": np.moveaxis(np.where(eye(5) > 0, 2.5, -1.0), -1, 1),
            "band_": np.stack([np.tril(s) - np.tril(s, -2) for s in square]), "band_upper": np.triu(square), "band_all": square,
            "band_lower": np.tril(square), "reverse_sequence_": reverse,
        }

    case("tensors", {"x": x, "n": n, "square": square}, build, expect)

    sparse = np.float32([[0, 2, 0], [-1, 0, 3]])
    case("non_zero", {"x": sparse}, lambda x: {"places": mb.non_zero(x=x)}, lambda x: {"places": np.argwhere(x)})

    def build16(x):
        values, indices = mb.topk(x=x, k=2, axis=-1, sort=True, return_indices=True)
        return {"values": values, "indices": indices, "alone": mb.topk(x=x, k=1, axis=0, return_indices=False)}

    case("topk_ios16", {"x": x}, build16, lambda x: {"values": np.sort(x, -1)[..., ::-1][..., :2], "indices": np.argsort(-x, -1)[..., :2], "alone": x.max(0, keepdims=True)}, opset=IOS16)

    def build17(x):
        _, indices = mb.topk(x=x, k=2, output_indices_dtype="uint16")
        return {"indices": mb.cast(x=indices, dtype="int32")}

    case("topk_ios17", {"x": x}, build17, lambda x: {"indices": np.argsort(-x, -1)[..., :2]}, opset=IOS17)


FAMILIES = [shapes, slices, pads, gathers, tensors]
