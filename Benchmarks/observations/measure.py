"""Decoding and suppression: Ocelli's in turns with numpy's on the same tensors, one core each. usage: measure.py PROGRAM [ROUNDS]

numpy does what a careful script does: the threshold first, then everything on what is left, vectors throughout. Both must find the same."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np

PROGRAM, ROUNDS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
THRESHOLD, IOU, MOST = 0.25, 0.45, 300
rng = np.random.default_rng(20261122)


def overlaps(box, area, boxes, areas):
    w = np.minimum(box[2], boxes[:, 2]) - np.maximum(box[0], boxes[:, 0])
    h = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[1], boxes[:, 1])
    inter = np.maximum(w, 0) * np.maximum(h, 0)
    return inter > IOU * (area + areas - inter)


def suppress(boxes, labels, most):
    """The indices of the kept boxes; boxes are sorted, the most confident first."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    left, kept = np.arange(len(boxes)), []
    while len(left) and len(kept) < most:
        first, rest = left[0], left[1:]
        kept.append(first)
        drop = overlaps(boxes[first], areas[first], boxes[rest], areas[rest])
        if labels is not None:
            drop &= labels[rest] == labels[first]
        left = rest[~drop]
    return kept


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def decode(one, tensor):
    rows = tensor[0]
    gates = 1 if one["layout"] == "yolov5" else 0
    logits = one.get("scores") == "sigmoid"
    least = np.log(THRESHOLD / (1 - THRESHOLD)) if logits else THRESHOLD
    columns = one["order"] == "columns"
    if gates:
        keep = (rows[4] if columns else rows[:, 4]) >= least
    else:
        keep = (rows[4:].max(0) if columns else rows[:, 4:].max(1)) >= least
    rows = rows[:, keep].T if columns else rows[keep]
    boxes, scores = rows[:, :4], rows[:, 4 + gates:]
    if logits:
        scores = sigmoid(scores)
    if gates:
        gate = rows[:, 4:5]
        scores = scores * (sigmoid(gate) if logits else gate)
    if one.get("multiLabel"):
        place, labels = np.nonzero(scores >= THRESHOLD)
        best, boxes = scores[place, labels], boxes[place]
    else:
        labels = scores.argmax(1)
        best = np.take_along_axis(scores, labels[:, None], 1)[:, 0]
        over = best >= THRESHOLD
        labels, best, boxes = labels[over], best[over], boxes[over]
    order = np.argsort(-best, kind="stable")
    half = boxes[order, 2:] / 2
    boxes = np.concatenate([boxes[order, :2] - half, boxes[order, :2] + half], 1)
    labels = labels[order]
    kept = suppress(boxes, labels, MOST)
    return len(kept), float(boxes[kept].sum(dtype=np.float64) + labels[kept].sum())


def head(rows, classes, found, gates, logits):
    """Rows of which `found` are over the threshold: things of an ordinary picture, each found by several neighbouring cells."""
    t = np.zeros((rows, 4 + gates + classes), np.float32)
    t[:, 0], t[:, 1] = rng.uniform(0, 640, rows), rng.uniform(0, 640, rows)
    t[:, 2:4] = rng.uniform(8, 200, (rows, 2))
    t[:, 4:] = rng.uniform(0, 0.2, (rows, gates + classes))
    hot = rng.choice(rows, found, replace=False)
    things = max(1, found // 8)
    for place, row in enumerate(hot):
        thing = place % things
        near = np.random.default_rng(thing)
        t[row, :4] = near.uniform(40, 600, 4) * [1, 1, 0.3, 0.3] + rng.normal(0, 2, 4)
        t[row, 4 + gates + int(near.integers(classes))] = rng.uniform(0.5, 0.95)
        if gates:
            t[row, 4] = rng.uniform(0.7, 1)
    if logits:
        t[:, 4:] = np.log(t[:, 4:].clip(1e-4, 1 - 1e-4) / (1 - t[:, 4:].clip(1e-4, 1 - 1e-4)))
    return t


def boxes(count, spread, classes):
    corner = rng.uniform(0, spread, (count, 2))
    size = rng.uniform(20, 120, (count, 2))
    return np.concatenate([corner, corner + size, rng.integers(0, classes, (count, 1))], 1).astype(np.float32)


cases, tensors = [], []


def add(name, tensor, **members):
    members = {"name": name, "kind": "decode", "file": f"{len(cases)}.f32", "shape": list(tensor.shape), "most": MOST, "iou": IOU,
               "threshold": THRESHOLD, **members}
    cases.append(members)
    tensors.append(np.ascontiguousarray(tensor, np.float32))


for found in (40, 400):
    for logits in (False, True):
        scores = {"scores": "sigmoid"} if logits else {}
        suffix = f", {'logits, ' if logits else ''}{found} over the threshold"
        rows = head(8400, 80, found, 0, logits)
        add("yolov8 [1, 84, 8400]" + suffix, rows.T[None], layout="yolov8", order="columns", **scores)
        add("yolov8 [1, 8400, 84]" + suffix, rows[None], layout="yolov8", order="rows", **scores)
rows = head(8400, 80, 400, 0, False)
add("yolov8 [1, 84, 8400], several classes a box", rows.T[None], layout="yolov8", order="columns", multiLabel=True)
rows = head(25200, 80, 100, 1, False)
add("yolov5 [1, 25200, 85], 100 over the threshold", rows[None], layout="yolov5", order="rows")
add("yolov5 [1, 85, 25200], 100 over the threshold", rows.T[None], layout="yolov5", order="columns")
for spread, words in ((600, "crowded"), (4000, "apart")):
    for scope, classes in (("all", 1), ("per_class", 10)):
        add(f"suppression of 1,000, {words}, {'one class' if classes == 1 else '10 classes'}", boxes(1000, spread, classes),
            kind="suppression", scope=scope, most=MOST)
add("suppression of 1,000, apart, one class, all kept", boxes(1000, 20000, 1), kind="suppression", scope="all", most=1000)
# No sensible model outputs this: at most 10,000 candidates go into suppression, and as many can be kept.
add("suppression of 10,000, apart, one class, all kept", boxes(10000, 60000, 1), kind="suppression", scope="all", most=10000, isHeavy=True)
rows = head(20000, 80, 20000, 0, False)
rows[:, :2] = rng.uniform(0, 6000, (20000, 2))
add("yolov8 [1, 84, 20000], all over the threshold", rows.T[None], layout="yolov8", order="columns", isHeavy=True)
rows = np.concatenate([rng.uniform(0, 6000, (1000000, 2)), rng.uniform(8, 200, (1000000, 2)), rng.uniform(0.3, 1, (1000000, 1))], 1).astype(np.float32)
add("yolov8 [1, 5, 1000000], all over the threshold", rows.T[None], layout="yolov8", order="columns", isHeavy=True)

with tempfile.TemporaryDirectory() as folder:
    for one, tensor in zip(cases, tensors):
        tensor.tofile(pathlib.Path(folder) / one["file"])
    (pathlib.Path(folder) / "cases.json").write_text(json.dumps(cases))
    ours, theirs = [[] for _ in cases], [[] for _ in cases]
    # In turns, so that other load of the machine affects both.
    for turn in range(3):
        lines = subprocess.run([PROGRAM, folder, str(ROUNDS)], check=True, capture_output=True, text=True).stdout.splitlines()
        for place, (one, tensor, line) in enumerate(zip(cases, tensors, lines, strict=True)):
            name, median, least, count, total = line.split("\t")
            assert name == one["name"]
            if one["kind"] == "suppression":
                def run():
                    kept = suppress(tensor[:, :4], None if one["scope"] == "all" else tensor[:, 4], one["most"])
                    return len(kept), float(sum(kept))
            else:
                def run():
                    return decode(one, tensor)
            spent = []
            for _ in range(1 if one.get("isHeavy") else max(10, ROUNDS // 10)):
                start = time.perf_counter_ns()
                found = run()
                spent.append((time.perf_counter_ns() - start) / 1e3)
            assert found[0] == int(count) and abs(found[1] - float(total)) <= 1e-4 * abs(found[1]) + 0.5, (name, found, line)
            ours[place].append((float(median), float(least)))
            theirs[place].append((statistics.median(spent), min(spent)))

print("| what | found | Ocelli, ms (least) | numpy, ms (least) | numpy / Ocelli |")
print("| --- | --- | --- | --- | --- |")
for one, line, mine, other in zip(cases, lines, ours, theirs):
    m, o = statistics.median(x[0] for x in mine), statistics.median(x[0] for x in other)
    print(f"| {one['name']} | {line.split(chr(9))[3]} | {m / 1e3:.3f} ({min(x[1] for x in mine) / 1e3:.3f}) | "
          f"{o / 1e3:.3f} ({min(x[1] for x in other) / 1e3:.3f}) | {o / m:.1f} |")
