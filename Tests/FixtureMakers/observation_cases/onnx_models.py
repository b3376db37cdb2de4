"""ONNX files that give the same tensors whatever the picture."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "u8": TensorProto.UINT8, "i64": TensorProto.INT64, "i32": TensorProto.INT32}


class Output:
    """One tensor. `rows` is the axis whose length depends on data, `batch` whether the first axis is the batch's."""

    def __init__(self, name, values, kind="f32", batch=True, rows=None):
        self.name, self.kind, self.batch, self.rows = name, kind, batch, rows
        self.values = np.asarray(values, np.float32)


def save(path, picture, outputs, *, is_batch_open=False, are_sides_open=False, element="f32", kept=None):
    """`kept`: of tensors with `rows`, how many the model lets through."""
    shape = [picture.channels, picture.height, picture.width] if picture.layout == "NCHW" else [picture.height, picture.width, picture.channels]
    if are_sides_open:
        shape = [s if s <= 3 else name for s, name in zip(shape, ("a", "b", "c"))]
    image = helper.make_tensor_value_info("image", TYPES[element], ["batch" if is_batch_open else 1] + shape)
    constants = [numpy_helper.from_array(np.array(0, np.float32), "zero")]
    nodes = [helper.make_node("Cast", ["image"], ["floats"], to=TensorProto.FLOAT),
             helper.make_node("ReduceMean", ["floats"], ["mean"], axes=[1, 2, 3], keepdims=1),
             helper.make_node("Mul", ["mean", "zero"], ["nothing"])]
    infos = []
    for one in outputs:
        shape, name = list(one.values.shape), one.name
        constants.append(numpy_helper.from_array(one.values, name + "_values"))
        ones = [-1 if one.batch else 1] + [1] * (len(shape) - 1)
        constants.append(numpy_helper.from_array(np.array(ones, np.int64), name + "_rank"))
        nodes.append(helper.make_node("Reshape", ["nothing", name + "_rank"], [name + "_nothing"]))
        nodes.append(helper.make_node("Add", [name + "_values", name + "_nothing"], [name + "_sum"]))
        last = name + "_sum"
        if one.rows is not None:
            mask = np.zeros(shape[one.rows], np.float32)
            mask[:kept] = 1
            constants.append(numpy_helper.from_array(mask, name + "_mask"))
            constants.append(numpy_helper.from_array(np.array([-1], np.int64), name + "_flat"))
            constants.append(numpy_helper.from_array(np.array([0], np.int64), name + "_axis"))
            nodes += [helper.make_node("Reshape", ["nothing", name + "_flat"], [name + "_one"]),
                      helper.make_node("Add", [name + "_mask", name + "_one"], [name + "_kept"]),
                      helper.make_node("NonZero", [name + "_kept"], [name + "_places"]),
                      helper.make_node("Squeeze", [name + "_places", name + "_axis"], [name + "_list"]),
                      helper.make_node("Gather", [last, name + "_list"], [name + "_rows"], axis=one.rows)]
            last = name + "_rows"
            shape[one.rows] = name + "_n"
        if one.kind == "f32":
            nodes.append(helper.make_node("Identity", [last], [name]))
        else:
            nodes.append(helper.make_node("Cast", [last], [name], to=TYPES[one.kind]))
        if is_batch_open and one.batch:
            shape[0] = "batch"
        infos.append(helper.make_tensor_value_info(name, TYPES[one.kind], shape))
    graph = helper.make_graph(nodes, "known", [image], infos, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
