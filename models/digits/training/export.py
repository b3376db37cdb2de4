"""Writes the network as ONNX (opset 17): the same steps as network.py, in NCHW, with a free batch axis."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import network


class Graph:
    """Collects nodes and constants; `graph(op, inputs...)` adds a node and returns its output's name."""

    def __init__(self):
        self.nodes, self.constants, self.known = [], [], {}

    def constant(self, value, name=None):
        value = np.asarray(value)
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self.known:
            self.known[key] = name or f"c{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), self.known[key]))
        return self.known[key]

    def __call__(self, op, *inputs, name=None, **attributes):
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        output = name or f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [output], name=output, **attributes))
        return output


def f32(*values):
    return np.array(values if len(values) != 1 else values[0], np.float32)


def i64(*values):
    return np.array(values, np.int64)


def build(weights):
    weights = {name: np.asarray(value, np.float32) for name, value in weights.items()}
    g = Graph()

    def conv(name, x, relu=True):
        kernel = weights[name + ".w"].transpose(3, 2, 0, 1)
        edge = kernel.shape[2] // 2
        y = g(
            "Conv", x, g.constant(kernel, name + ".w"), g.constant(weights[name + ".b"], name + ".b"),
            kernel_shape=list(kernel.shape[2:]), pads=[edge] * 4,
        )  # fmt: skip
        return g("Relu", y) if relu else y

    def pool(x):
        return g("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])

    def double(x):
        return g("Resize", x, "", f32(1, 1, 2, 2), mode="nearest", coordinate_transformation_mode="asymmetric",
                 nearest_mode="floor")  # fmt: skip

    def total(x, axis):
        return g("ReduceSum", x, i64(axis), keepdims=1)

    # FIND
    levels = g("Mul", "image", f32(255))
    centred = g("Sub", levels, g("ReduceMean", levels, axes=[2, 3], keepdims=1))
    variance = g("ReduceMean", g("Mul", centred, centred), axes=[2, 3], keepdims=1)
    standard = g("Div", centred, g("Add", g("Sqrt", variance), f32(0.25)))
    x = g("Div", g("Mul", standard, f32(3)), g("Add", g("Abs", standard), f32(3)))
    x = g("SpaceToDepth", x, blocksize=2)
    a = conv("f2", conv("f1", x))
    b = conv("f4", conv("f3", pool(a)))
    c = conv("f6", conv("f5", pool(b)))
    d = conv("f7", pool(c))
    c = g("Relu", g("Add", c, double(conv("u3", d, relu=False))))
    b = conv("m2", g("Relu", g("Add", conv("s2", b, relu=False), double(conv("u2", c, relu=False)))))
    a = conv("m1", g("Relu", g("Add", conv("s1", a, relu=False), double(conv("u1", b, relu=False)))))
    ink = g("Sigmoid", g("DepthToSpace", conv("ink", a, relu=False), blocksize=2, mode="CRD"))

    # PLACE
    at = np.arange(network.SIZE, dtype=np.float32)
    at_x, at_y = at.reshape(1, 1, 1, -1), at.reshape(1, 1, -1, 1)
    mass = g("Relu", g("Sub", ink, f32(network.FLOOR)))
    rows, columns = total(mass, 3), total(mass, 2)
    whole = g("Add", total(rows, 2), f32(1e-3))

    def moments(profile, at, axis):
        centre = g("Div", total(g("Mul", profile, at), axis), whole)
        off = g("Sub", at, centre)
        return centre, g("Div", total(g("Mul", profile, g("Mul", off, off)), axis), whole)

    cy, vy = moments(rows, at_y, 2)
    cx, vx = moments(columns, at_x, 3)
    half = g("Add", g("Mul", g("Sqrt", g("Max", vx, vy)), f32(network.REACH)), f32(1))
    step = g("Max", g("Mul", half, f32(2 / (network.WINDOW - 1))), f32(1))
    grid = np.linspace(-1, 1, network.WINDOW, dtype=np.float32)

    def matrix(centre, grid, at):
        wanted = g("Add", centre, g("Mul", half, grid))
        hat = g("Relu", g("Sub", f32(1), g("Div", g("Abs", g("Sub", at, wanted)), step)))
        return g("Div", hat, step)

    down = matrix(cy, grid.reshape(1, 1, -1, 1), at_x)  # [n, 1, window, size]
    across = matrix(cx, grid.reshape(1, 1, 1, -1), at_y)  # [n, 1, size, window]
    ink = g("MatMul", g("MatMul", down, ink), across)
    seen = g("MatMul", g("MatMul", down, "image"), across)
    inside = g("Mul", total(down, 3), total(across, 2))
    bare = g("Sub", inside, ink)

    def mean(weight):
        over = g("Add", g("ReduceSum", g("Mul", inside, weight), i64(2, 3), keepdims=1), f32(1e-3))
        return g("Div", g("ReduceSum", g("Mul", seen, weight), i64(2, 3), keepdims=1), over)

    light = mean(bare)
    gap = g("Sub", mean(ink), light)
    contrast = g("Div", gap, g("Add", g("Mul", gap, gap), f32(1e-4)))
    shown = g("Mul", g("Sub", seen, g("Mul", light, inside)), contrast)
    window = g("Concat", ink, g("Clip", shown, f32(-1), f32(2)), axis=1)

    # READ
    x = pool(conv("r2", conv("r1", window)))
    x = pool(conv("r4", conv("r3", x)))
    x = pool(conv("r5", x))
    x = g("Flatten", x, axis=1)  # channel, y, x
    first = weights["d1.w"].reshape(3, 3, -1, weights["d1.w"].shape[1]).transpose(2, 0, 1, 3)
    first = first.reshape(-1, weights["d1.w"].shape[1])
    x = g("Relu", g("Gemm", x, g.constant(first, "d1.w"), g.constant(weights["d1.b"], "d1.b")))
    x = g("Gemm", x, g.constant(weights["d2.w"], "d2.w"), g.constant(weights["d2.b"], "d2.b"))
    g("Softmax", x, name="probabilities", axis=1)

    size = network.SIZE
    graph = helper.make_graph(
        g.nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, size, size])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])],
        g.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="ocelli-train-digits")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def save(weights, path):
    model = build(weights)
    path.write_bytes(model.SerializeToString(deterministic=True))
