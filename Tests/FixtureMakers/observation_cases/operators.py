"""TensorFlow Lite files that end with TFLite_Detection_PostProcess: its options at random, LiteRT's own operator as the reference."""
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as tfl
from ai_edge_litert.interpreter import Interpreter
from flatbuffers import flexbuffers

from .detectors import Unsure


def tensor(name, shape, buffer=0, kind=tfl.TensorType.FLOAT32):
    t = tfl.TensorT()
    t.name, t.shape, t.type, t.buffer = name, list(shape), kind, buffer
    return t


def operator(code, inputs, outputs, options=None, kind=0, custom=None):
    o = tfl.OperatorT()
    o.opcodeIndex, o.inputs, o.outputs, o.builtinOptions, o.builtinOptionsType = code, inputs, outputs, options, kind
    if custom is not None:
        o.customOptions = list(custom)
    return o


class Operator:
    """A detector whose boxes and scores are the same whatever the picture."""

    def __init__(self, rng, picture):
        self.rng, self.picture, self.layout, self.outputs, self.kept = rng, picture, "tflite-detection, operator", [], None
        picture.layout, picture.format = "NHWC", "RGB"
        self.files, self.labels = {}, True
        n, self.classes = int(rng.integers(5, 200)), int(rng.choice([1, 2, 5, 20, 90]))
        columns = self.classes + int(rng.integers(0, 2))
        regular = bool(rng.random() < 0.4)
        options = {"max_detections": int(rng.integers(1, 30)), "max_classes_per_detection": 1 if rng.random() < 0.7 else int(rng.integers(1, 4)),
                   "nms_score_threshold": float(np.float32(rng.choice([1e-8, 0.1, 0.3, 0.5]))), "nms_iou_threshold": float(np.float32(rng.uniform(0.2, 0.8))),
                   "num_classes": self.classes, **dict(zip(["x_scale", "y_scale", "w_scale", "h_scale"],
                                                           [[10.0, 10.0, 5.0, 5.0], [1.0, 2.0, 3.0, 4.0]][int(rng.random() < 0.3)]))}
        if regular:
            options["use_regular_nms"], options["max_classes_per_detection"] = True, 1
            if rng.random() < 0.5:
                options["detections_per_class"] = int(rng.integers(1, 40))
        elif rng.random() < 0.5:
            options["use_regular_nms"] = False
        boxes = rng.normal(0, 1, (1, n, 4)).astype(np.float32)
        # No two scores are equal: their order would be anybody's choice.
        scores = rng.permutation(np.linspace(0.001, 0.999, n * columns)).astype(np.float32).reshape(1, n, columns)
        anchors = np.stack([rng.uniform(0.1, 0.9, n), rng.uniform(0.1, 0.9, n), rng.uniform(0.1, 0.5, n), rng.uniform(0.1, 0.5, n)], 1)
        anchors = anchors.astype(np.float32)
        file = self.file(boxes, scores, anchors, options)
        self.files["model.tflite"] = file
        interpreter = Interpreter(model_content=file)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.zeros((1, picture.height, picture.width, 3), np.float32))
        interpreter.invoke()
        found = [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
        count = int(found[3][0])
        self.threshold = round(float(rng.uniform(0.05, 0.6)), 2)
        if (np.abs(found[2][0][:count] - self.threshold) < 1e-4).any():
            raise Unsure
        name = "TFLite_Detection_PostProcess"
        self.entry = {"name": "things", "type": "boxes", "layout": "tflite-detection", "threshold": self.threshold,
                      "tensors": {"boxes": name, "classes": name + ":1", "scores": name + ":2", "count": name + ":3"}}
        self.options = options
        rows = [r for r in range(count) if found[2][0][r] >= self.threshold]
        rows.sort(key=lambda r: -found[2][0][r])
        size = np.array([picture.height, picture.width] * 2)
        self.corners = (found[0][0] * size)[:, [1, 0, 3, 2]].astype(float)
        self.expected = [(float(found[2][0][r]), r, int(found[1][0][r])) for r in rows]

    def detections(self, threshold=None, iou=None, top=None, classes=None):
        threshold = self.threshold if threshold is None else threshold
        if any(abs(s - threshold) < 1e-4 for s, _, _ in self.expected) or threshold < self.threshold:
            raise Unsure
        kept = [d for d in self.expected if d[0] >= threshold and (classes is None or d[2] in classes)]
        return kept[:top or len(kept)]

    def file(self, boxes, scores, anchors, options):
        model = tfl.ModelT()
        model.version, model.description, model.operatorCodes, model.buffers = 3, "the same boxes whatever the picture", [], [tfl.BufferT()]
        for builtin in (tfl.BuiltinOperator.RESHAPE, tfl.BuiltinOperator.SLICE, tfl.BuiltinOperator.MUL, tfl.BuiltinOperator.ADD):
            code = tfl.OperatorCodeT()
            code.builtinCode, code.deprecatedBuiltinCode, code.version = builtin, builtin, 1
            model.operatorCodes.append(code)
        code = tfl.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = tfl.BuiltinOperator.CUSTOM
        code.customCode, code.version = "TFLite_Detection_PostProcess", 1
        model.operatorCodes.append(code)

        def constant(array):
            b = tfl.BufferT()
            b.data = list(np.ascontiguousarray(array).tobytes())
            model.buffers.append(b)
            return len(model.buffers) - 1

        def ints(*values):
            return constant(np.array(values, np.int32))

        h, w = self.picture.height, self.picture.width
        integer, whole = tfl.TensorType.INT32, h * w * 3
        graph = tfl.SubGraphT()
        graph.name = "main"
        name = "TFLite_Detection_PostProcess"
        graph.tensors = [
            tensor("image", [1, h, w, 3]), tensor("shape", [1], ints(whole), integer), tensor("flat", [whole]), tensor("begin", [1], ints(0), integer),
            tensor("size", [1], ints(1), integer), tensor("first", [1]), tensor("zero", [1], constant(np.zeros(1, np.float32))), tensor("nothing", [1]),
            tensor("box_values", boxes.shape, constant(boxes)), tensor("boxes", boxes.shape),
            tensor("score_values", scores.shape, constant(scores)), tensor("scores", scores.shape),
            tensor("anchors", anchors.shape, constant(anchors)), tensor(name, []), tensor(name + ":1", []), tensor(name + ":2", []), tensor(name + ":3", []),
        ]
        shape = tfl.ReshapeOptionsT()
        shape.newShape = [whole]
        graph.operators = [
            operator(0, [0, 1], [2], shape, tfl.BuiltinOptions.ReshapeOptions), operator(1, [2, 3, 4], [5], tfl.SliceOptionsT(), tfl.BuiltinOptions.SliceOptions),
            operator(2, [5, 6], [7], tfl.MulOptionsT(), tfl.BuiltinOptions.MulOptions), operator(3, [8, 7], [9], tfl.AddOptionsT(), tfl.BuiltinOptions.AddOptions),
            operator(3, [10, 7], [11], tfl.AddOptionsT(), tfl.BuiltinOptions.AddOptions),
            operator(4, [9, 11, 12], [13, 14, 15, 16], custom=flexbuffers.Dumps(options)),
        ]
        graph.inputs, graph.outputs = [0], [13, 14, 15, 16]
        model.subgraphs = [graph]
        builder = flatbuffers.Builder(4096)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
