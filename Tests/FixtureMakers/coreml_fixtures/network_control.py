"""Networks with branches and loops, and layers about boxes and places that depend on the values."""
import numpy as np
from coremltools.models.neural_network import NeuralNetworkBuilder

from .network_values import F, values
from .program_oracles import keep_boxes


def inner(network):
    """A builder of a network that a layer holds."""
    return NeuralNetworkBuilder(nn_spec=network, disable_rank5_shape_mapping=True, use_float_arraytype=True)


def make(exact):
    loops(exact)
    recurrent(exact)
    branches(exact)
    positions(exact)
    crops(exact)
    suppression(exact)


def scalar(builder, name, value):
    builder.add_load_constant_nd(name, name, np.array([value], F), (1,))


def condition(loop, limit):
    network = inner(loop.loop.conditionNetwork)
    scalar(network, "limit", limit)
    network.add_less_than("less", ["i", "limit"], "goes on")
    loop.loop.conditionVar = "goes on"


def step(network):
    network.add_elementwise("count", ["i"], "next", "ADD", alpha=1.0)
    network.add_copy("counted", "next", "i")


def loops(exact):
    x = values("loop", 3, 4)

    def counted(builder):
        builder.add_copy("start", "x", "state")
        loop = builder.add_loop("loop", max_iterations=5)
        body = inner(loop.loop.bodyNetwork)
        body.add_activation("grow", "LINEAR", "state", "grown", [1.5, -0.25])
        body.add_copy("back", "grown", "state")
        builder.add_copy("end", "state", "y")

    y = x
    for _ in range(5):
        y = F(1.5) * y - F(0.25)
    exact("loop-counted", ["loop"], {"x": x}, {"y": y}, counted)

    def interrupted(builder):
        scalar(builder, "i", 0)
        builder.add_copy("start", "x", "state")
        loop = builder.add_loop("loop", max_iterations=20)
        condition(loop, 10)
        body = inner(loop.loop.bodyNetwork)
        step(body)
        # The second round adds nothing, the fifth is the last.
        scalar(body, "two", 2)
        body.add_equal("is two", ["i", "two"], "skips")
        branch = body.add_branch("skip", "skips")
        inner(branch.branch.ifBranch).add_loop_continue("continue")
        scalar(body, "five", 5)
        body.add_equal("is five", ["i", "five"], "stops")
        branch = body.add_branch("stop", "stops")
        inner(branch.branch.ifBranch).add_loop_break("break")
        body.add_add_broadcastable("add", ["state", "i"], "sum")
        body.add_copy("back", "sum", "state")
        builder.add_copy("end", "state", "y")

    exact("loop-interrupted", ["loop", "loopBreak", "loopContinue", "branch (known)"], {"x": x}, {"y": x + F(1 + 3 + 4)}, interrupted)

    def limited(builder):
        scalar(builder, "rounds", 3)
        builder.add_copy("start", "x", "state")
        loop = builder.add_loop("loop", input_name="rounds")
        body = inner(loop.loop.bodyNetwork)
        body.add_unary("root", "state", "less", "abs")
        body.add_elementwise("add", ["less"], "more", "ADD", alpha=-1.0)
        body.add_copy("back", "more", "state")
        builder.add_copy("end", "state", "y")

    y = x
    for _ in range(3):
        y = np.abs(y) - 1
    exact("loop-limited-by-input", ["loop"], {"x": x}, {"y": y}, limited)


def recurrent(exact):
    # A recurrent layer as converters write it: places of a list are read and written in a loop.
    sequence, w, r = values("sequence", 6, 3), values("loop w", 4, 3), values("loop r", 4, 4) / 2

    def recurrent(builder):
        scalar(builder, "i", 0)
        builder.add_fill_static("h", "h", (1, 4), 0.0)
        builder.add_load_constant_nd("shape", "shape", np.array([6, 4], F), (2,))
        builder.add_fill_dynamic("list", "shape", "list", 0.0)
        loop = builder.add_loop("loop")
        condition(loop, 6)
        body = inner(loop.loop.bodyNetwork)
        body.add_gather("read", ["x", "i"], "now", axis=0)
        body.add_batched_mat_mul("w", ["now"], "wx", weight_matrix_rows=3, weight_matrix_columns=4, W=w.T)
        body.add_batched_mat_mul("r", ["h"], "rh", weight_matrix_rows=4, weight_matrix_columns=4, W=r.T)
        body.add_add_broadcastable("sum", ["wx", "rh"], "sum")
        body.add_activation("tanh", "TANH", "sum", "h2")
        body.add_scatter("write", ["list", "i", "h2"], "list2", axis=0)
        body.add_copy("h3", "h2", "h")
        body.add_copy("list3", "list2", "list")
        step(body)
        builder.add_copy("last", "h", "last h")
        builder.add_copy("end", "list", "y")

    h, steps = np.zeros(4, F), []
    for vector in sequence:
        h = np.tanh(w @ vector + r @ h)
        steps.append(h)
    exact("loop-recurrent", ["loop"], {"x": sequence}, {"y": np.array(steps), "last h": h[None]}, recurrent)


    # A second blob that takes, in each round: the list after it is written, the list before, and what another layer makes of that.
    x = values("loop", 4, 3)
    for name in ["after", "before", "other"]:
        def second(builder, name=name):
            scalar(builder, "i", 0)
            scalar(builder, "place", 3)
            builder.add_load_constant_nd("row", "row", np.ones((1, 3), F), (1, 3))
            builder.add_copy("list", "x", "list")
            builder.add_copy("second", "x", "second")
            loop = builder.add_loop("loop")
            condition(loop, 3)
            body = inner(loop.loop.bodyNetwork)
            body.add_add_broadcastable("count row", ["row", "i"], "counted row")
            if name == "before":
                body.add_copy("keep", "list", "second")
            if name == "other":
                body.add_scatter("write other", ["list", "place", "counted row"], "other", axis=0)
                body.add_copy("keep", "other", "second")
            body.add_scatter("write", ["list", "i", "counted row"], "list2", axis=0)
            body.add_copy("back", "list2", "list")
            if name == "after":
                body.add_copy("keep", "list", "second")
            step(body)
            builder.add_copy("end", "list", "y")
            builder.add_copy("second end", "second", "z")

        rows = x.copy()
        for i in range(3):
            before, other = rows.copy(), rows.copy()
            rows[i] = other[3] = 1 + i
        exact(f"loop-list-{name}", ["loop"], {"x": x}, {"y": rows, "z": {"after": rows, "before": before, "other": other}[name]}, second)


def branches(exact):
    x = values("loop", 3, 4)

    def chosen(builder):
        builder.add_reduce_sum("sum", "x", "sum", axes=[0, 1], keepdims=False, reduce_all=True)
        builder.add_greater_than("positive", ["sum"], "is positive")
        builder.add_copy("start", "x", "z")
        branch = builder.add_branch("branch", "is positive").branch
        yes, no = inner(branch.ifBranch), inner(branch.elseBranch)
        yes.add_activation("double", "LINEAR", "x", "y", [2.0, 0.0])
        no.add_activation("negate", "LINEAR", "x", "turned", [-1.0, 3.0])
        no.add_copy("result", "turned", "y")
        no.add_copy("z", "turned", "z")

    for sign in (1, -1):
        given = sign * np.abs(x)
        exact(f"branch-{'positive' if sign > 0 else 'negative'}", ["branch"], {"x": given},
              {"y": 2 * given, "z": given} if sign > 0 else {"y": 3 - given, "z": 3 - given}, chosen)


def positions(exact):
    sparse = np.where(values("sparse", 3, 4) > 0.5, values("sparse v", 3, 4), 0).astype(F)
    exact("where-nonzero", ["whereNonZero"], {"x": sparse}, {"y": np.argwhere(sparse).astype(F)},
          lambda builder: builder.add_where_nonzero("w", "x", "y"))


def sample(image, rows, columns):
    def line(points, extent):
        return np.maximum(1 - np.abs(points[:, None] - np.arange(extent)), 0)

    return np.einsum("ay,cyx,bx->cab", line(rows, image.shape[1]), image, line(columns, image.shape[2])).astype(F)


def points(start, end, size, mode):
    i = np.arange(size)
    if mode == "UPSAMPLE_MODE":
        return np.minimum(start + i * (end - start + 1) / size, end)
    if mode == "ROI_ALIGN_MODE":
        delta = max(1, end - start) / size
        return start + (i + 0.5) * delta
    if size == 1:
        return np.array([(start + end) / 2 if mode == "ALIGN_ENDPOINTS_MODE" else start])
    return start + i * (end - start) / (size - 1)


def crops(exact):
    picture = values("crop picture", 1, 2, 3, 6, 7)
    boxes = np.array([[1, 2, 4, 5], [0, 1, 3, 6]], F)

    for mode in ("STRICT_ALIGN_ENDPOINTS_MODE", "ALIGN_ENDPOINTS_MODE", "UPSAMPLE_MODE", "ROI_ALIGN_MODE"):
        for height, width in ((3, 2), (1, 4)):
            y = np.stack([
                np.stack([sample(image, points(b[0], b[2], height, mode), points(b[1], b[3], width, mode)) for image in picture[0]])
                for b in boxes])
            exact(f"crop-resize-{mode.lower().split('_')[0]}-{height}x{width}", ["cropResize"],
                  {"x": picture, "b": boxes.reshape(2, 1, 4, 1, 1)}, {"y": y},
                  lambda builder: builder.add_crop_resize("c", ["x", "b"], "y", height, width, mode))
    numbered = np.array([[1, 0.5, 0.5, 0.6, 0.4], [0, 0.5, 0.5, 1, 1]], F)
    mode = "STRICT_ALIGN_ENDPOINTS_MODE"
    y = np.stack([
        sample(picture[0, int(n)], points((cy - h / 2) * 5, (cy + h / 2) * 5, 3, mode), points((cx - w / 2) * 6, (cx + w / 2) * 6, 3, mode))
        for n, cx, cy, w, h in numbered])[:, None]
    exact("crop-resize-numbered", ["cropResize"], {"x": picture, "b": numbered.reshape(2, 1, 5, 1, 1)}, {"y": y},
          lambda builder: builder.add_crop_resize(
              "c", ["x", "b"], "y", 3, 3, mode, normalized_roi=True, box_indices_mode="CENTER_SIZE_WIDTH_FIRST"))


def suppression(exact):
    centers = np.repeat(np.array([[10, 10], [14, 11], [40, 30]], F), 4, 0)[None] + values("nms", 2, 12, 2, low=-3, high=3)
    frames = np.concatenate([centers, values("nms sizes", 2, 12, 2, low=6, high=12)], 2)
    # The second image has no box that scores high enough.
    scores = values("nms scores", 2, 12, 3, low=0, high=1) * np.array([1, 0.4], F)[:, None, None]
    for per_class in (False, True):
        found = [keep_boxes(b, s, 0.3, 0.5, 7, per_class) for b, s in zip(frames, scores)]
        answers = dict(zip("bsic", (np.stack(part).astype(F) for part in zip(*found))))
        exact(f"non-maximum-suppression{'-per-class' if per_class else ''}", ["NonMaximumSuppression"],
              {"boxes": frames, "scores": scores}, answers,
              lambda builder: builder.add_nms("n", ["boxes", "scores"], list("bsic"), 0.3, 0.5, 7, per_class))
