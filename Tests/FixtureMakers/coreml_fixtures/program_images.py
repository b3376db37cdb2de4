"""ML Programs: Images in other sizes, boxes of images, images at computed points."""


import numpy as np
from coremltools.converters.mil import Builder as mb

from .program_cases import IOS16, IOS17, as_float, case, normal, uniform
from .program_oracles import bilinear, grid, interpolate, keep_boxes, nearest


def resizing():
    x = normal(1, 2, 4, 5)
    plain = normal(2, 3, 4, seed=2)
    modes = ["DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "OFFSET_CORNERS", "UNALIGN_CORNERS"]

    def build(x, plain):
        found = {f"bilinear_{m.lower()}": mb.resize_bilinear(x=x, target_size_height=7, target_size_width=3, sampling_mode=m) for m in modes}
        found |= {f"one_{m.lower()}": mb.resize_bilinear(x=x, target_size_height=1, target_size_width=10, sampling_mode=m) for m in modes}
        return found | {
            "bilinear_plain": mb.resize_bilinear(x=plain, target_size_height=6, target_size_width=8),
            "nearest_": mb.resize_nearest_neighbor(x=x, target_size_height=6, target_size_width=8),
            "nearest_plain": mb.resize_nearest_neighbor(x=plain, target_size_height=2, target_size_width=3),
            "up_nearest": mb.upsample_nearest_neighbor(x=x, scale_factor_height=2, scale_factor_width=3),
            "up_nearest_part": mb.upsample_nearest_neighbor(x=x, scale_factor_height=1.5, scale_factor_width=2.5),
            "up_bilinear": mb.upsample_bilinear(x=x, scale_factor_height=2, scale_factor_width=3),
            "up_bilinear_centers": mb.upsample_bilinear(x=x, scale_factor_height=2.5, scale_factor_width=2.0, align_corners=False),
        }

    def expect(x, plain):
        found = {f"bilinear_{m.lower()}": bilinear(x, 7, 3, m) for m in modes}
        found |= {f"one_{m.lower()}": bilinear(x, 1, 10, m) for m in modes}
        return found | {
            "bilinear_plain": bilinear(plain, 6, 8, "DEFAULT"), "nearest_": nearest(x, 6, 8), "nearest_plain": nearest(plain, 2, 3),
            "up_nearest": np.repeat(np.repeat(x, 2, 2), 3, 3), "up_nearest_part": nearest(x, 6, 12),
            "up_bilinear": bilinear(x, 8, 15, "STRICT_ALIGN_CORNERS"), "up_bilinear_centers": bilinear(x, 10, 10, "UNALIGN_CORNERS"),
        }

    case("resize", {"x": x, "plain": plain}, build, expect)

    def build16(x):
        return {
            "asymmetric": mb.upsample_bilinear(x=x, scale_factor_height=2.0, scale_factor_width=2.0, align_corners=False, half_pixel_centers=False),
            "centers": mb.upsample_bilinear(x=x, scale_factor_height=2.0, scale_factor_width=2.0, align_corners=False, half_pixel_centers=True),
        }

    case("resize_ios16", {"x": x}, build16, lambda x: {"asymmetric": bilinear(x, 8, 10, "DEFAULT"), "centers": bilinear(x, 8, 10, "UNALIGN_CORNERS")}, opset=IOS16)

    def build17(x, plain):
        found = {f"linear_{m.lower()}": mb.resize(x=x, shape=[1, 7, 3], resized_dims=np.uint32(2), interpolation_mode="LINEAR", sampling_mode=m) for m in modes}
        return found | {
            "kept": mb.resize(x=x, shape=[0, 8], resized_dims=np.uint32(2)), "line": mb.resize(x=plain, shape=[9], resized_dims=np.uint32(1)),
            "nearest_": mb.resize(x=x, shape=[8, 10], resized_dims=np.uint32(2), interpolation_mode="NEAREST_NEIGHBOR"),
            "nearest_centers": mb.resize(x=x, shape=[12, 5], resized_dims=np.uint32(2), interpolation_mode="NEAREST_NEIGHBOR", sampling_mode="UNALIGN_CORNERS"),
        }

    def expect17(x, plain):
        found = {f"linear_{m.lower()}": bilinear(x, 7, 3, m) for m in modes}
        return found | {
            "kept": bilinear(x, 4, 8, "DEFAULT"), "line": interpolate(plain, 2, grid(4, 9, "DEFAULT")), "nearest_": nearest(x, 8, 10),
            "nearest_centers": np.repeat(x, 3, 2),
        }

    case("resize_ios17", {"x": x, "plain": plain}, build17, expect17, opset=IOS17)


def sample(image, rows, columns):
    return interpolate(interpolate(image.astype(np.float64), 1, np.clip(rows, 0, image.shape[1] - 1)), 2, np.clip(columns, 0, image.shape[2] - 1))


def crop_points(start, end, size, mode):
    i = np.arange(size, dtype=np.float64)
    length = end - start + 1
    if mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        if size == 1:
            return np.array([(start + end) / 2 if mode == "ALIGN_CORNERS" else start])
        return start + i * (end - start) / (size - 1)
    if mode == "DEFAULT":
        return start + i * (length / size)
    if mode == "OFFSET_CORNERS":
        delta = max(1, end - start) / size
        return start + delta / 2 + i * delta
    return start + (i + 0.5) * length / size - 0.5


def crops():
    picture = normal(2, 3, 6, 7, seed=4)

    boxes = np.float32([[1, 2, 4, 5], [0, 1, 3, 6]])
    crop_modes = ["STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "OFFSET_CORNERS"]

    def build_crop(picture):
        found = {}
        for mode in crop_modes:
            found[f"each_{mode.lower()}"] = mb.crop_resize(x=picture, roi=boxes.reshape(2, 1, 4, 1, 1), target_height=3, target_width=2, sampling_mode=mode)
        found["indexed"] = mb.crop_resize(
            x=mb.slice_by_index(x=picture, begin=[1, 0, 0, 0], end=[2, 3, 6, 7]), roi=np.float32([[0, 2, 1, 5, 4]]).reshape(1, 1, 5, 1, 1), target_height=2, target_width=4,
            box_coordinate_mode="CORNERS_WIDTH_FIRST", sampling_mode="ALIGN_CORNERS", spatial_scale=0.5)
        found["normalized"] = mb.crop_resize(
            x=picture, roi=np.float32([[0.5, 0.5, 0.4, 0.6]]).reshape(1, 1, 4, 1, 1), target_height=3, target_width=3,
            box_coordinate_mode="CENTER_SIZE_HEIGHT_FIRST", normalized_coordinates=True, sampling_mode="STRICT_ALIGN_CORNERS")
        return found

    def expect_crop(picture):
        found = {}
        for mode in crop_modes:
            found[f"each_{mode.lower()}"] = np.stack([
                np.stack([sample(p, crop_points(b[0], b[2], 3, mode), crop_points(b[1], b[3], 2, mode)) for p in picture]) for b in boxes])
        indexed = sample(picture[1], crop_points(0.5, 2, 2, "ALIGN_CORNERS"), crop_points(1, 2.5, 4, "ALIGN_CORNERS"))
        rows, columns = crop_points(0.3 * 5, 0.7 * 5, 3, "STRICT_ALIGN_CORNERS"), crop_points(0.2 * 6, 0.8 * 6, 3, "STRICT_ALIGN_CORNERS")
        return found | {"indexed": indexed[None, None], "normalized": np.stack([sample(p, rows, columns) for p in picture])[None]}

    case("crop_resize", {"picture": picture}, build_crop, expect_crop)

    def build_crop17(picture):
        return {"boxes_": mb.crop_resize(x=picture, boxes=boxes, box_indices=np.int32([1, 0]), target_height=3, target_width=4, sampling_mode="ALIGN_CORNERS"),
                "plain": mb.crop_resize(x=picture, boxes=boxes, target_height=2, target_width=2, sampling_mode="STRICT_ALIGN_CORNERS")}

    def expect_crop17(picture):
        pick = lambda order, h, w, m: np.stack([sample(picture[k], crop_points(b[0], b[2], h, m), crop_points(b[1], b[3], w, m)) for k, b in zip(order, boxes)])
        return {"boxes_": pick([1, 0], 3, 4, "ALIGN_CORNERS"), "plain": pick([0, 1], 2, 2, "STRICT_ALIGN_CORNERS")}

    case("crop_resize_ios17", {"picture": picture}, build_crop17, expect_crop17, opset=IOS17)


def suppression():
    # Three clusters of boxes; the second image has no box that scores high enough.
    centers = np.repeat(np.float32([[10, 10], [14, 11], [40, 30]]), 4, 0)[None] + uniform(2, 12, 2, low=-3, high=3, seed=61)
    frames = np.concatenate([centers, uniform(2, 12, 2, low=6, high=12, seed=62)], 2)
    marks = uniform(2, 12, 3, seed=63) * np.float32([1, 0.4])[:, None, None]
    for per_class in (False, True):
        suffix = "_per_class" if per_class else ""

        def build_nms(frames, marks, per_class=per_class):
            names = ("chosen", "marks_", "places", "count")
            found = mb.non_maximum_suppression(
                boxes=frames, scores=marks, iou_threshold=0.3, score_threshold=0.5, max_boxes=7, per_class_suppression=per_class)
            return dict(zip(names, [*found[:2], *(as_float(value) for value in found[2:])]))

        def expect_nms(frames, marks, per_class=per_class):
            found = [keep_boxes(b, s, 0.3, 0.5, 7, per_class) for b, s in zip(frames, marks)]
            return dict(zip(("chosen", "marks_", "places", "count"), (np.stack(part).astype(np.float32) for part in zip(*found))))

        case(f"non_maximum_suppression{suffix}", {"frames": frames, "marks": marks}, build_nms, expect_nms)

        def build_nms17(frames, marks, per_class=per_class):
            found = mb.non_maximum_suppression(
                boxes=mb.transpose(x=frames, perm=[0, 2, 1]), scores=mb.transpose(x=marks, perm=[0, 2, 1]), iou_threshold=0.3,
                max_boxes=7, per_class_suppression=per_class)
            return dict(zip(("chosen", "marks_", "places"), [*found[:2], as_float(found[2])]))

        def expect_nms17(frames, marks, per_class=per_class):
            found = [keep_boxes(b, s, 0.3, -1, 7, per_class) for b, s in zip(frames, marks)]
            chosen, scores, places, _ = (np.stack(part).astype(np.float32) for part in zip(*found))
            return {"chosen": chosen.transpose(0, 2, 1), "marks_": scores.transpose(0, 2, 1), "places": places}

        case(f"non_maximum_suppression_ios17{suffix}", {"frames": frames, "marks": marks}, build_nms17, expect_nms17, opset=IOS17)


def look(image, x, y, mode, padding, value):
    height, width = image.shape[1:]

    def pixel(row, column):
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        if padding == "border":
            row, column = np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)
        elif padding == "reflection":
            row, column = [np.abs((v + s - 1) % (2 * s - 2) - (s - 1)) for v, s in ((row, height), (column, width))]
        elif padding == "symmetric":
            row, column = [np.where(v % (2 * s) < s, v % (2 * s), 2 * s - 1 - v % (2 * s)) for v, s in ((row, height), (column, width))]
        else:
            found = image[:, np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
            return np.where(inside, found, value)
        return image[:, row, column]

    if mode == "nearest":
        return pixel(np.rint(y).astype(int), np.rint(x).astype(int))
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    a, b = x - left, y - top
    return ((1 - a) * (1 - b) * pixel(top, left) + a * (1 - b) * pixel(top, left + 1)
            + (1 - a) * b * pixel(top + 1, left) + a * b * pixel(top + 1, left + 1))


def resampling():
    picture = normal(2, 3, 6, 7, seed=4)
    where = uniform(2, 3, 4, 2, low=-1.3, high=1.3, seed=5)

    settings = {
        "zero": ("bilinear", "constant", 0.0, "normalized_minus_one_to_one", True),
        "edges": ("bilinear", "constant", 0.0, "normalized_minus_one_to_one", False),
        "border": ("bilinear", "border", 0.0, "normalized_zero_to_one", True),
        "reflection": ("bilinear", "reflection", 0.0, "normalized_minus_one_to_one", True),
        "symmetric": ("bilinear", "symmetric", 0.0, "normalized_minus_one_to_one", False),
        "filled": ("bilinear", "constant", 2.5, "normalized_minus_one_to_one", True),
        "nearest": ("nearest", "border", 0.0, "normalized_minus_one_to_one", True),
        "pixels": ("bilinear", "border", 0.0, "unnormalized", True),
    }

    def build_resample(picture, where):
        found = {}
        for name, (mode, padding, value, coordinates, corners) in settings.items():
            found["resample_" + name] = mb.resample(x=picture, coordinates=where, sampling_mode=mode, padding_mode=padding, padding_value=value, coordinates_mode=coordinates, align_corners=corners)
        found["affine_"] = mb.affine(
            x=picture, transform_matrix=np.float32([[0.8, 0.2, 0.1, -0.3, 0.9, 0.05]]), output_height=4, output_width=5, sampling_mode="bilinear",
            padding_mode="constant", padding_value=0.0, coordinates_mode="normalized_minus_one_to_one", align_corners=True)
        return found

    def expect_resample(picture, where):
        found = {}
        for name, (mode, padding, value, coordinates, corners) in settings.items():
            x, y = where[..., 0].astype(np.float64), where[..., 1].astype(np.float64)
            if coordinates == "normalized_zero_to_one":
                x, y = 2 * x - 1, 2 * y - 1
            if coordinates != "unnormalized":
                x, y = ((x + 1) / 2 * 6, (y + 1) / 2 * 5) if corners else ((x + 1) / 2 * 7 - 0.5, (y + 1) / 2 * 6 - 0.5)
            found["resample_" + name] = np.stack([look(picture[k], x[k], y[k], mode, padding, value) for k in range(2)])
        y, x = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 5), indexing="ij")
        x, y = 0.8 * x + 0.2 * y + 0.1, -0.3 * x + 0.9 * y + 0.05
        found["affine_"] = np.stack([look(p, (x + 1) / 2 * 6, (y + 1) / 2 * 5, "bilinear", "constant", 0.0) for p in picture])
        return found

    case("resample", {"picture": picture, "where": where}, build_resample, expect_resample)


FAMILIES = [resizing, crops, suppression, resampling]
