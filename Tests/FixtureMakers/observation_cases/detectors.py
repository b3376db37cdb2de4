"""Detectors of every layout: random outputs, and the detections in them by plain numpy, written from the descriptions of the families."""
import math

import numpy as np

from .onnx_models import Output


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def single(a, kind="f32"):
    """What a tensor of this type holds, as float64."""
    return np.asarray(a, np.float16 if kind == "f16" else np.float32).astype(np.float64)


def overlap(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    union = max(0, a[2] - a[0]) * max(0, a[3] - a[1]) + max(0, b[2] - b[0]) * max(0, b[3] - b[1]) - w * h
    return w * h / union


def from_centers(b):
    return np.stack([b[:, 0] - b[:, 2] / 2, b[:, 1] - b[:, 3] / 2, b[:, 0] + b[:, 2] / 2, b[:, 1] + b[:, 3] / 2], 1)


FORMS = {
    "centers": (lambda c: c, from_centers),
    "centers_yx": (lambda c: c[:, [1, 0, 3, 2]], lambda v: from_centers(v[:, [1, 0, 3, 2]])),
    "corners": (from_centers, lambda v: v),
    "corners_yx": (lambda c: from_centers(c)[:, [1, 0, 3, 2]], lambda v: v[:, [1, 0, 3, 2]]),
    "top_left": (lambda c: np.concatenate([from_centers(c)[:, :2], c[:, 2:]], 1),
                 lambda v: np.concatenate([v[:, :2], v[:, :2] + v[:, 2:]], 1)),
}


class Unsure(Exception):
    """Single precision may decide otherwise: another case is drawn."""


class Detector:
    """One bundle: its outputs, its entry in model.json, its files, and what is in the outputs."""

    def __init__(self, layout, rng, picture):
        self.layout, self.rng, self.picture = layout, rng, picture
        self.size = np.array([picture.width, picture.height] * 2, float)
        self.entry = {"name": "things", "type": "boxes", "layout": layout}
        self.files, self.outputs, self.kept = {}, [], None
        self.kind = str(rng.choice(["f32", "f16"], p=[0.8, 0.2]))
        self.classes = int(rng.choice([1, 2, 3, 7, 20, 81]))
        self.masks, self.points, self.quantum, self.has_order = None, None, None, True
        self.threshold, self.iou, self.scope, self.multi, self.most = 0.25, 0.45, "per_class", False, 300
        # A class number that the model itself puts out.
        self.labels, self.shift = True, 0
        getattr(self, "make_" + layout.replace("-", "_"))()
        for key, value in self.options().items():
            self.entry[key] = value

    # MARK: What is drawn

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *values):
        return values[int(self.rng.integers(len(values)))]

    def centers(self, n):
        w, h = self.picture.width, self.picture.height
        b = np.stack([self.rng.uniform(-0.1 * w, 1.1 * w, n), self.rng.uniform(-0.1 * h, 1.1 * h, n),
                      self.rng.uniform(0.02 * w, 0.6 * w, n), self.rng.uniform(0.02 * h, 0.6 * h, n)], 1)
        # Some come several times, nearly the same.
        for row in range(1, n):
            if self.chance(0.4):
                b[row] = b[row - 1] * self.rng.uniform(0.95, 1.05, 4)
        return b

    def options(self):
        """Thresholds and the like: what the family has, or something else."""
        keys = {}
        if self.chance(0.5):
            self.threshold = keys["threshold"] = round(float(self.rng.uniform(0.05, 0.8)), 2)
        if self.chance(0.5):
            self.iou = keys["iou"] = round(float(self.rng.uniform(0.1, 0.9)), 2)
        if self.chance(0.3):
            self.scope = keys["nms"] = self.pick("per_class", "all", "none")
        if self.chance(0.3):
            self.most = keys["max_detections"] = int(self.rng.integers(1, 30))
        if self.may_be_several and self.chance(0.3):
            self.multi = keys["multi_label"] = self.pick(True, False)
        return keys

    may_be_several = True

    def store(self, a):
        """What a tensor holds, dequantized where it is quantized."""
        if self.quantum is None:
            return single(a, self.kind)
        scale, bias = self.quantum
        return np.clip(np.round((np.asarray(a) - bias) / scale), 0, 255) * scale + bias

    def quantize(self):
        """From now on tensors are of 8 bits: boxes are fractions, scores probabilities."""
        self.kind, self.quantum = "u8", self.pick((1 / 256, 0.0), (0.005, -0.1), (0.0041, -0.02))

    def form(self, default, *forms):
        form = self.pick(*(forms or FORMS))
        if form != default:
            self.entry["form"] = form
        return form

    def units(self, default):
        units = "fractions" if self.quantum else self.pick("pixels", "fractions")
        if units != default:
            self.entry["units"] = units
        return units

    def boxes(self, n, form_default, units_default, *forms):
        """Numbers as the tensor has them, and corners in pixels of the tensor."""
        form, units = self.form(form_default, *forms), self.units(units_default)
        centers = self.centers(n)
        if units == "fractions":
            centers = centers / self.size
        values = self.store(FORMS[form][0](centers))
        corners = FORMS[form][1](values)
        return values, corners * self.size if units == "fractions" else corners

    def scores(self, n, classes, default, *forms):
        """Numbers as the tensor has them, and what they mean."""
        form = "probabilities" if self.quantum else self.pick(*(forms or ("probabilities", "sigmoid")))
        if form != default:
            self.entry["scores"] = form
        if form == "probabilities":
            raw = self.store(self.rng.uniform(0, 1, (n, classes)) ** 2)
            return raw, raw
        raw = single(self.rng.normal(-0.5, 2, (n, classes)), self.kind)
        return raw, sigmoid(raw) if form == "sigmoid" else softmax(raw)

    def output(self, role, values, *, role_of=None, kind=None, batch=True, rows=None):
        name = role if role_of is None else role_of
        values = np.asarray(values)
        if self.quantum and kind is None:
            values = np.round((values - self.quantum[1]) / self.quantum[0])
            self.entry.setdefault("dequantize", {})[role] = {"scale": self.quantum[0], "bias": self.quantum[1]}
        self.outputs.append(Output(name, values, kind or self.kind, batch=batch, rows=rows))
        self.entry.setdefault("tensors", {})[role] = name

    def only_output(self, values):
        self.entry["name"] = "output"
        if self.quantum:
            values = np.round((values - self.quantum[1]) / self.quantum[0])
            self.entry["dequantize"] = {"scale": self.quantum[0], "bias": self.quantum[1]}
        self.outputs.append(Output("output", values, self.kind))

    # MARK: One tensor

    def row_extras(self, n, units):
        """Masks' coefficients and points behind the classes."""
        columns = []
        if self.chance(0.25):
            count, h, w = int(self.rng.integers(1, 9)), int(self.rng.integers(4, 30)), int(self.rng.integers(4, 30))
            coarse = self.rng.normal(0, 2, (count, 4, 4))
            ys, xs = np.linspace(0, 3, h).round().astype(int), np.linspace(0, 3, w).round().astype(int)
            prototypes = single(coarse[:, ys][:, :, xs] + self.rng.normal(0, 0.2, (count, h, w)), self.kind)
            coefficients = single(self.rng.normal(0, 1, (n, count)), self.kind)
            is_last = count not in (h, w) and self.chance(0.4)
            self.outputs.append(Output("protos", (prototypes.transpose(1, 2, 0) if is_last else prototypes)[None], self.kind))
            if is_last and count == h:
                raise Unsure
            threshold = 0.5
            self.entry["masks"] = {"prototypes": "protos", "coefficients": count}
            if self.chance(0.4):
                threshold = self.entry["masks"]["threshold"] = round(float(self.rng.uniform(0.2, 0.8)), 2)
            self.masks = (coefficients, prototypes, math.log(threshold / (1 - threshold)))
            columns.append(coefficients)
        if self.chance(0.25):
            count = int(self.rng.integers(1, 8))
            order = self.pick("x y score", "y x score", "x y", "y x")
            xy = self.rng.uniform(-0.2, 1.2, (n, count, 2)) * [self.picture.width, self.picture.height]
            shown = self.rng.uniform(0, 1, (n, count))
            keys = {"point": order}
            if self.chance(0.5):
                keys["names"] = [f"point {i}" for i in range(count)]
            else:
                keys["points"] = count
            least = 0.0
            if self.chance(0.5):
                least = keys["threshold"] = round(float(self.rng.uniform(0.1, 0.6)), 2)
            if units == "fractions":
                xy = xy / [self.picture.width, self.picture.height]
            xy = single(xy, self.kind)
            confidence = shown = single(shown, self.kind)
            if "score" in order and self.chance(0.3):
                keys["scores"] = "sigmoid"
                shown = single(shown * 6 - 3, self.kind)
                confidence = sigmoid(shown)
            values = xy[:, :, ::-1] if order.startswith("y") else xy
            if "score" in order:
                values = np.concatenate([values, shown[:, :, None]], 2)
                if (np.abs(confidence - least) < 1e-5).any():
                    raise Unsure
            self.entry["keypoints"] = keys
            if units == "fractions":
                xy = xy * [self.picture.width, self.picture.height]
            names = keys.get("names") or [str(i) for i in range(count)]
            self.points = (xy, confidence if "score" in order else None, least, names)
            columns.append(values.reshape(n, -1))
        return columns

    def one_tensor(self, has_objectness):
        n = int(self.rng.integers(5, 120))
        if self.chance(0.2):
            self.quantize()
        values, self.corners = self.boxes(n, "centers", "pixels")
        place = self.background("none") if self.chance(0.25) else "none"
        raw, meant = self.scores(n, self.classes + (place != "none"), "probabilities")
        meant = self.without(place, meant)
        columns = [values]
        if has_objectness:
            if self.entry.get("scores") == "sigmoid":
                gate = single(self.rng.normal(0, 2, n), self.kind)
                meant = meant * sigmoid(gate)[:, None]
            else:
                gate = self.store(self.rng.uniform(0, 1, n))
                meant = meant * gate[:, None]
            columns.append(gate[:, None])
        self.meant = meant
        extras = [] if self.quantum else self.row_extras(n, self.entry.get("units", "pixels"))
        rows = np.concatenate(columns + [raw] + extras, 1)
        is_columns = self.chance(0.5)
        if rows.shape[0] == rows.shape[1] or self.chance(0.3):
            self.entry["order"] = "columns" if is_columns else "rows"
        self.only_output((rows.T if is_columns else rows)[None])

    def make_yolov5(self):
        self.one_tensor(True)

    def make_yolov8(self):
        self.one_tensor(False)

    def make_yolox(self):
        strides = self.pick([8, 16, 32], [8, 16, 32, 64], [16], [4, 8])
        if strides != [8, 16, 32]:
            self.entry["strides"] = strides
        grid = np.array([(x, y, s) for s in strides for y in range(math.ceil(self.picture.height / s))
                         for x in range(math.ceil(self.picture.width / s))], float)
        n = len(grid)
        raw = single(np.concatenate([self.rng.uniform(-1, 2, (n, 2)), self.rng.normal(0, 0.7, (n, 2))], 1), self.kind)
        stride = grid[:, 2:]
        self.corners = from_centers(np.concatenate([(raw[:, :2] + grid[:, :2]) * stride, np.exp(raw[:, 2:]) * stride], 1))
        self.classes = min(self.classes, 20)
        form = self.pick("probabilities", "sigmoid")
        if form == "sigmoid":
            self.entry["scores"] = form
            o, c = single(self.rng.normal(-1, 2, n), self.kind), single(self.rng.normal(0, 2, (n, self.classes)), self.kind)
            self.meant = sigmoid(c) * sigmoid(o)[:, None]
        else:
            o, c = single(self.rng.uniform(0, 1, n) ** 2, self.kind), single(self.rng.uniform(0, 1, (n, self.classes)), self.kind)
            self.meant = c * o[:, None]
        rows = np.concatenate([raw, o[:, None], c], 1)
        is_columns = self.chance(0.2)
        if is_columns or rows.shape[0] == rows.shape[1]:
            self.entry["order"] = "columns" if is_columns else "rows"
        self.only_output((rows.T if is_columns else rows)[None])

    # MARK: Final detections

    may_have_background = False

    def finished(self, n, values, corners):
        """Classes as numbers, scores; room at the end that is not used."""
        self.scope, self.may_be_several, self.labels = "none", False, self.chance(0.8)
        label = self.rng.integers(0, self.classes, n)
        score = single(self.rng.uniform(0.02, 0.99, n), self.kind)
        if self.chance(0.5):
            score = np.sort(score)[::-1].copy()
        self.corners = corners
        self.meant = np.zeros((n, self.classes))
        self.meant[np.arange(n), label] = score
        # Numbers that count a class for nothing.
        if self.may_have_background and self.chance(0.4):
            self.entry["background"] = "first"
            label = label + 1
            zero = self.rng.random(n) < 0.2
            label[zero] = 0
            self.meant[zero] = 0
        return label, score

    def make_yolo_end_to_end(self):
        self.may_have_background = True
        n = int(self.rng.integers(1, 60))
        values, corners = self.boxes(n, "corners", "pixels")
        label, score = self.finished(n, values, corners)
        unused = int(self.rng.integers(0, n // 2 + 1))
        rows = np.concatenate([values, score[:, None], label[:, None]] + self.row_extras(n, self.entry.get("units", "pixels")), 1)
        if unused:
            rows[n - unused:] = 0
            self.meant[n - unused:] = 0
        self.only_output(rows[None])

    def make_tflite_detection(self):
        self.may_have_background = True
        n = int(self.rng.integers(1, 40))
        values, corners = self.boxes(n, "corners_yx", "fractions")
        label, score = self.finished(n, values, corners)
        # As torchvision exports detectors: no batch axis, as many rows as were found.
        is_bare = self.chance(0.3)
        kind = self.pick("f32", "i64") if is_bare else self.pick("f32", "f32", "i32")
        if is_bare:
            self.kept = int(self.rng.integers(1, n + 1)) if self.chance(0.9) else 0
            self.meant[self.kept:] = 0
            for role, v, k in (("boxes", values, self.kind), ("classes", label, kind), ("scores", score, self.kind)):
                self.output(role, v, kind=k, batch=False, rows=0)
        else:
            self.output("boxes", values[None])
            self.output("classes", label[None], kind=kind)
            self.output("scores", score[None])
            if self.chance(0.7):
                count = int(self.rng.integers(0, n + 1))
                self.meant[count:] = 0
                self.output("count", np.array([count], float), kind=self.pick("f32", "i32", "i64"))

    def make_detection_output(self):
        self.may_have_background = True
        n = int(self.rng.integers(1, 50))
        values, corners = self.boxes(n, "corners", "fractions")
        label, score = self.finished(n, values, corners)
        rows = np.concatenate([np.zeros((n, 1)), label[:, None], score[:, None], values], 1)
        if self.chance(0.6):
            end = int(self.rng.integers(0, n))
            rows[end, 0] = -1
            self.meant[end:] = 0
        self.entry["name"] = "output"
        self.outputs.append(Output("output", rows[None, None], self.kind, batch=False))

    def make_scored_boxes(self):
        n = int(self.rng.integers(1, 50))
        values, corners = self.boxes(n, "corners", "pixels")
        has_classes = self.chance(0.7)
        if not has_classes:
            self.classes = 1
        label, score = self.finished(n, values, corners)
        is_bare = self.chance(0.5)
        self.kept = int(self.rng.integers(1, n + 1)) if is_bare else None
        if is_bare:
            self.meant[self.kept:] = 0
        rows = np.concatenate([values, score[:, None]], 1)
        self.output("boxes", rows if is_bare else rows[None], batch=not is_bare, rows=0 if is_bare else None)
        if has_classes:
            self.output("classes", label if is_bare else label[None], kind=self.pick("f32", "i64"), batch=not is_bare,
                        rows=0 if is_bare else None)

    # MARK: Boxes and scores

    def background(self, default, forms=("none", "first", "last")):
        place = self.pick(*forms)
        if place != default:
            self.entry["background"] = place
        return place

    @staticmethod
    def without(place, meant):
        return meant[:, 1:] if place == "first" else meant[:, :-1] if place == "last" else meant

    def pair(self, n, values, default_scores, default_background, flat=False):
        place = self.background(default_background)
        columns = self.classes + (place != "none")
        raw, meant = self.scores(n, columns, default_scores, "probabilities", "sigmoid", "softmax")
        self.meant = self.without(place, meant)
        self.output("boxes", values.reshape(1, -1) if flat else values[None])
        self.output("scores", raw.reshape(1, -1) if flat else raw[None])

    def make_corners(self):
        self.threshold = 0.5
        n = int(self.rng.integers(5, 120))
        if self.chance(0.3):
            self.quantize()
        values, self.corners = self.boxes(n, "corners", "fractions")
        self.pair(n, values, "probabilities", "none")

    def make_detr(self):
        self.threshold, self.scope = 0.5, "none"
        n = int(self.rng.integers(5, 100))
        values, self.corners = self.boxes(n, "centers", "fractions")
        self.pair(n, values, "softmax", "last")

    def levels(self, strides):
        """Boxes round cells; how model.json says it."""
        levels, priors = [], []
        for stride in strides:
            level = {"stride": stride}
            if self.chance(0.5):
                level["sizes"] = [round(float(stride * v), 2) for v in self.rng.uniform(1, 4, self.rng.integers(1, 4))]
                ratios = [1]
                if self.chance(0.7):
                    ratios = level["ratios"] = [0.5, 1, 2]
                sides = [(s / math.sqrt(r), s * math.sqrt(r)) for r in ratios for s in level["sizes"]]
            else:
                level["boxes"] = [[round(float(v), 1) for v in self.rng.uniform(1, 4, 2) * stride] for _ in range(self.rng.integers(1, 4))]
                sides = level["boxes"]
            offset = 0.5
            if self.chance(0.4):
                offset = level["offset"] = self.pick(0, 0.25, 0.5)
            cells = [(x, y) for y in range(math.ceil(self.picture.height / stride)) for x in range(math.ceil(self.picture.width / stride))]
            priors += [((x + offset) * stride, (y + offset) * stride, w, h) for x, y in cells for w, h in sides]
            levels.append((level, len(cells), len(sides)))
        return levels, np.array(priors, float)

    def offsets(self, deltas, priors, variances, form, cut=None):
        d = deltas[:, [1, 0, 3, 2]] if form == "centers_yx" else deltas
        v = np.asarray(variances, float)
        if v.ndim == 1:
            v = np.tile(v, (len(d), 1))
        sizes = d[:, 2:] * v[:, 2:]
        if cut:
            sizes = np.minimum(sizes, cut)
        return from_centers(np.concatenate([priors[:, :2] + d[:, :2] * v[:, :2] * priors[:, 2:], priors[:, 2:] * np.exp(sizes)], 1))

    def make_ssd(self):
        kind = self.pick("levels", "file", "tensor", "caffe")
        strides = self.pick([8, 16], [16, 32], [32], [8, 16, 32])
        levels, priors = self.levels(strides)
        n = len(priors)
        variances = [0.1, 0.1, 0.2, 0.2]
        if self.chance(0.3):
            variances = self.entry["variances"] = self.pick([0.2, 0.2, 0.1, 0.1], [1, 1, 1, 1], [0.125, 0.125, 0.25, 0.25])
        form = self.form("centers", "centers", "centers_yx")
        deltas = single(self.rng.normal(0, 1, (n, 4)), self.kind)
        fractions = single(priors / self.size)
        if kind == "levels":
            self.entry["priors"] = [level for level, _, _ in levels]
        elif kind == "file":
            priors = fractions * self.size
            self.files["priors.npy"] = fractions.astype(np.float32)
            self.entry["priors"] = "priors.npy"
        elif kind == "tensor":
            priors = single(fractions) * self.size
            self.output("priors", fractions[None], kind="f32")
        else:
            corners = single(from_centers(fractions))
            each = single(self.rng.choice([0.1, 0.2], (n, 4)))
            priors = np.stack([(corners[:, 0] + corners[:, 2]) / 2, (corners[:, 1] + corners[:, 3]) / 2, corners[:, 2] - corners[:, 0],
                               corners[:, 3] - corners[:, 1]], 1) * self.size
            variances = each
            self.output("priors", np.stack([corners.ravel(), each.ravel()])[None], kind="f32")
        self.corners = self.offsets(deltas, priors, variances, form)
        self.classes = min(self.classes, 7)
        self.pair(n, deltas, "softmax", "first", flat=self.chance(0.3))

    def split(self, table, counts, form, boxes_of):
        """Level by level, as convolutions put them out."""
        parts = np.split(table, np.cumsum([c * b for c, b in counts])[:-1])
        result = []
        for (cells, boxes), part, stride in zip(counts, parts, boxes_of):
            h, w = math.ceil(self.picture.height / stride), math.ceil(self.picture.width / stride)
            if form == "rows":
                result.append(part[None])
            else:
                grid = part.reshape(h, w, boxes * table.shape[1])
                result.append(grid[None] if form == "last" else grid.transpose(2, 0, 1)[None])
        return result

    def maps(self, tables, counts, strides):
        form = self.pick("whole", "rows", "first", "last")
        # Of equal scores any may come first.
        self.has_order = form in ("whole", "rows")
        for role, table in tables.items():
            if form == "whole":
                self.output(role, table[None])
                continue
            names = []
            for index, values in enumerate(self.split(table, counts, form, strides)):
                names.append(f"{role}_{index}")
                self.outputs.append(Output(names[-1], values, self.kind))
            self.entry.setdefault("tensors", {})[role] = names if len(names) > 1 or self.chance(0.5) else names[0]
        return form

    def make_retinanet(self):
        self.multi, self.iou, self.kind = True, 0.5, "f32"
        if self.chance(0.5):
            strides = [8, 16, 32, 64, 128]
            boxes = [(s / math.sqrt(r), s * math.sqrt(r)) for r in (0.5, 1, 2) for s in (4, 4 * 1.2599210498948732, 4 * 1.5874010519681994)]
            priors = np.array([((x + 0.5) * s, (y + 0.5) * s, w * s, h * s) for s in strides
                               for y in range(math.ceil(self.picture.height / s)) for x in range(math.ceil(self.picture.width / s))
                               for w, h in boxes])
            counts = [(math.ceil(self.picture.height / s) * math.ceil(self.picture.width / s), 9) for s in strides]
        else:
            strides = self.pick([8, 16], [16, 32], [32, 64])
            levels, priors = self.levels(strides)
            self.entry["priors"] = [level for level, _, _ in levels]
            counts = [(cells, boxes) for _, cells, boxes in levels]
        n = len(priors)
        variances = [1, 1, 1, 1]
        if self.chance(0.3):
            variances = self.entry["variances"] = [0.1, 0.1, 0.2, 0.2]
        form = self.form("centers", "centers", "centers_yx")
        deltas = single(self.rng.normal(0, 0.4, (n, 4)), self.kind)
        self.corners = self.offsets(deltas, priors, variances, form, cut=math.log(1000 / 16))
        self.classes = min(self.classes, 3)
        place = self.background("none")
        raw, meant = self.scores(n, self.classes + (place != "none"), "sigmoid", "sigmoid", "probabilities", "softmax")
        self.meant = self.without(place, meant)
        self.maps({"boxes": deltas, "scores": raw}, counts, strides)

    def make_fcos(self):
        self.multi, self.iou, self.kind = True, 0.6, "f32"
        strides = self.pick([8, 16, 32, 64, 128], [8, 16], [16])
        if strides != [8, 16, 32, 64, 128]:
            self.entry["strides"] = strides
        cells = [(x, y, s) for s in strides for y in range(math.ceil(self.picture.height / s)) for x in range(math.ceil(self.picture.width / s))]
        points = np.array([((x + 0.5) * s, (y + 0.5) * s, s) for x, y, s in cells])
        counts = [(math.ceil(self.picture.height / s) * math.ceil(self.picture.width / s), 1) for s in strides]
        n = len(points)
        units = self.units("pixels")
        sides = single(self.rng.uniform(0.1, 3, (n, 4)) * (1 if units == "fractions" else points[:, 2:]), self.kind)
        d = sides * points[:, 2:] if units == "fractions" else sides
        self.corners = np.stack([points[:, 0] - d[:, 0], points[:, 1] - d[:, 1], points[:, 0] + d[:, 2], points[:, 1] + d[:, 3]], 1)
        self.classes = min(self.classes, 3)
        raw, meant = self.scores(n, self.classes, "sigmoid", "sigmoid", "probabilities")
        tables = {"boxes": sides, "scores": raw}
        if self.chance(0.6):
            if self.entry.get("scores") == "probabilities":
                center = single(self.rng.uniform(0, 1, (n, 1)), self.kind)
                gate = center
            else:
                center = single(self.rng.normal(0, 2, (n, 1)), self.kind)
                gate = sigmoid(center)
            tables["centerness"] = center
            meant = np.sqrt(meant * gate)
        self.meant = meant
        self.maps(tables, counts, strides)

    # MARK: What is in the outputs

    def detections(self, threshold=None, iou=None, top=None, classes=None):
        """Score, row and class of each detection, the most confident first."""
        threshold = self.threshold if threshold is None else threshold
        iou = self.iou if iou is None else iou
        most = min(top or self.most, self.most)
        found = []
        for row in range(len(self.corners)):
            scores = self.meant[row]
            if self.multi:
                candidates = range(len(scores))
            else:
                best = int(scores.argmax())
                others = np.delete(scores, best)
                if len(others) and scores[best] >= threshold - 1e-5 and 0 < scores[best] - others.max() < 1e-6:
                    raise Unsure
                candidates = [best]
            for label in candidates:
                if abs(scores[label] - threshold) < 1e-5:
                    raise Unsure
                if scores[label] >= threshold and scores[label] > 0 and (classes is None or label in classes):
                    found.append((float(scores[label]), row, label))
        found.sort(key=lambda d: (-d[0], d[1], d[2]))
        for one, next_one in zip(found, found[1:]):
            if (0 if self.has_order else -1) < one[0] - next_one[0] < 1e-6:
                raise Unsure
        kept = []
        for one in found:
            is_dropped = False
            for other in kept if self.scope != "none" else []:
                if self.scope == "all" or one[2] == other[2]:
                    value = overlap(self.corners[one[1]], self.corners[other[1]])
                    if abs(value - iou) < 1e-5:
                        raise Unsure
                    is_dropped = is_dropped or value > iou
            if not is_dropped:
                kept.append(one)
        return kept[:most]
