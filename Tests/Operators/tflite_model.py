"""TF Lite files of one operator, written with LiteRT's own classes of the format, and what LiteRT's two sets of kernels compute."""

import flatbuffers
import numpy
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from case import Case, Collection, axis_word

XNNPACK, BUILTIN, FORMULA = "LiteRT with XNNPACK", "LiteRT without XNNPACK", "numpy"
RESOLVERS = {XNNPACK: OpResolverType.BUILTIN, BUILTIN: OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}
TYPES = {"float32": "FLOAT32", "float16": "FLOAT16", "int8": "INT8", "uint8": "UINT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint32": "UINT32", "bool": "BOOL",
         "complex64": "COMPLEX64", "float64": "FLOAT64", "uint16": "UINT16"}


class Family(Collection):
    """TF Lite cases."""

    def add(self, operator, variant, inputs, constants=None, *, order=None, outputs=("y",), dtypes=None, options=None, version=1, scales=None,
            opened="auto", tolerance=None, formula=None, right=None, counted=None, types=None, custom=None, axes=("fixed", "open"), nodes=None, variables=None):
        """Adds the operator's case with fixed axes, and one with open axes. `scales`: of each quantized tensor scale and zero point, for
        weights with the axis of channels. `options`: the table's name and members. `dtypes`: those of the outputs, by default the first
        input's. `formula`: computes the outputs of the inputs, then the constants, with numpy.
        `variables`: shapes of tensors that keep their values between runs. `nodes`: several operators instead of one: (operator, version, inputs, outputs, options)."""
        constants, first = constants or {}, next(iter(inputs.values()))
        names = order if order is not None else [*inputs, *constants]
        dtypes = dtypes or [first.dtype.name] * len(outputs)
        nodes = nodes or [(operator, version, names, list(outputs), options)]
        types = types or first.dtype.name
        for kind in self.kinds(types, axes):
            extents = {name: list(value.shape) for name, value in inputs.items()}
            label = "fixed" if kind == "fixed" else open_axes(extents, opened)
            if not label:
                continue
            file = File(nodes, inputs, extents, constants, list(outputs), dtypes, scales or {}, custom, variables or {})
            case = Case("TF Lite", operator, variant, types, label, file.with_shapes, inputs, list(outputs), run, tolerance, right, counted or {}, {node[0] for node in nodes})
            case.formula = formula and (lambda given=(*inputs.values(), *constants.values()), formula=formula: formula(*given))
            self.cases.append(case)


def open_axes(extents, opened):
    """Opens axes of the inputs in place; what is open, in words."""
    words = set()
    for name, shape in extents.items():
        which = opened.get(name, ()) if isinstance(opened, dict) else (0,) if opened == "batch" else {4: (1, 2), 5: (1, 2, 3)}.get(len(shape), (0,))
        for axis in which:
            if axis < len(shape) and (shape[axis] > 1 or opened != "auto"):
                words.add(axis_word(len(shape), axis, 0 < axis < len(shape) - 1))
                shape[axis] = -1
    return "open " + " and ".join(sorted(words, key=lambda word: (word[0] == "h", word))) if words else None


class File:
    def __init__(self, nodes, inputs, extents, constants, outputs, dtypes, scales, custom, variables):
        self.nodes, self.inputs, self.extents, self.constants = nodes, inputs, extents, constants
        self.outputs, self.dtypes, self.scales, self.custom, self.variables = outputs, dtypes, scales, custom, variables

    def with_shapes(self):
        """The file with the outputs' shapes as LiteRT computes them; axes that follow the open ones are open."""
        content = self.content({})
        if not (found := shapes(content, self.inputs)):
            return content
        if not any(-1 in shape for shape in self.extents.values()):
            return self.content({name: (shape, None) for name, shape in found.items()})
        larger = {name: numpy.resize(value, [extent + (2 if self.extents[name][axis] == -1 else 0) for axis, extent in enumerate(value.shape)]) for name, value in self.inputs.items()}
        others, signatures = shapes(content, larger), {}
        for name, shape in found.items():
            other = others.get(name, shape)
            signature = [-1 if a != b else a for a, b in zip(shape, other)] if len(shape) == len(other) else list(shape)
            signatures[name] = ([1 if extent == -1 else extent for extent in signature], signature)
        return self.content(signatures)

    def content(self, given):
        model, graph = schema.ModelT(), schema.SubGraphT()
        model.version, model.description = 3, "one operator"
        model.buffers, graph.tensors, places = [buffer(b"")], [], {}

        def tensor(name, dtype, shape, signature=None, data=None):
            each = schema.TensorT()
            each.name, each.type = name, getattr(schema.TensorType, TYPES[dtype])
            each.shape = list(shape)
            each.shapeSignature = signature
            each.buffer = 0
            if data is not None:
                each.buffer = len(model.buffers)
                model.buffers.append(buffer(numpy.ascontiguousarray(data).tobytes()))
            # Of integers of four bytes only a bias has a scale.
            if name in self.scales and (dtype in ("int8", "uint8", "int16") or name == "b"):
                scale, zero, *axis = self.scales[name]
                each.quantization = schema.QuantizationParametersT()
                each.quantization.scale = numpy.ravel(scale).astype("f4").tolist()
                each.quantization.zeroPoint = numpy.ravel(zero).tolist()
                each.quantization.quantizedDimension = axis[0] if axis else 0
            places[name] = len(graph.tensors)
            graph.tensors.append(each)

        for name, value in self.inputs.items():
            extents = self.extents[name]
            tensor(name, value.dtype.name, [1 if extent == -1 else extent for extent in extents], extents if -1 in extents else None)
        for name, value in self.constants.items():
            tensor(name, value.dtype.name, value.shape, data=value)
        for name, shape in self.variables.items():
            tensor(name, "float32", shape)
            graph.tensors[-1].isVariable = True
        between = {}
        for _, _, _, produced, *rest in self.nodes:
            for name in produced:
                if name not in self.outputs:
                    between[name] = rest[1] if len(rest) > 1 else self.dtypes[0]
        for name, dtype in [*between.items(), *zip(self.outputs, self.dtypes)]:
            shape, signature = given.get(name, ([], None))
            tensor(name, dtype, shape, signature if signature and -1 in signature else None)
        codes, graph.operators = [], []
        for operator, version, names, produced, options, *_ in self.nodes:
            code = schema.OperatorCodeT()
            code.builtinCode = getattr(schema.BuiltinOperator, operator, schema.BuiltinOperator.CUSTOM)
            code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
            if code.builtinCode == schema.BuiltinOperator.CUSTOM:
                code.customCode = operator
            node = schema.OperatorT()
            node.opcodeIndex = len(codes)
            codes.append(code)
            node.inputs, node.outputs = [places[name] if name else -1 for name in names], [places[name] for name in produced]
            if self.custom is not None:
                node.customOptions = list(self.custom)
            elif options:
                table, members = options
                made = getattr(schema, table + "T")()
                for key, value in members.items():
                    setattr(made, key, value)
                if hasattr(schema.BuiltinOptions, table):
                    node.builtinOptionsType, node.builtinOptions = getattr(schema.BuiltinOptions, table), made
                else:
                    node.builtinOptions2Type, node.builtinOptions2 = getattr(schema.BuiltinOptions2, table), made
            graph.operators.append(node)
        model.operatorCodes, model.subgraphs = codes, [graph]
        graph.inputs, graph.outputs = [places[name] for name in self.inputs], [places[name] for name in self.outputs]
        builder = flatbuffers.Builder(4096)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def buffer(data):
    made = schema.BufferT()
    if data:
        made.data = list(data)
    return made


def interpreter(content, inputs, resolver):
    made = Interpreter(model_content=content, num_threads=1, experimental_op_resolver_type=resolver)
    details = {each["name"]: each for each in made.get_input_details()}
    for name, value in inputs.items():
        if tuple(details[name]["shape"]) != value.shape:
            made.resize_tensor_input(details[name]["index"], value.shape)
    made.allocate_tensors()
    for name, value in inputs.items():
        made.set_tensor(details[name]["index"], value)
    made.invoke()
    return made


def outputs_of(content, inputs, resolver):
    made = interpreter(content, inputs, resolver)
    return {each["name"]: made.get_tensor(each["index"]).copy() for each in made.get_output_details()}


def shapes(content, inputs):
    """The shapes of the outputs; empty if LiteRT does not run the model on these inputs."""
    try:
        return {name: list(value.shape) for name, value in outputs_of(content, inputs, RESOLVERS[BUILTIN]).items()}
    except (ValueError, RuntimeError):
        return {}


def run(case):
    """The truths of a case, and the reasons of a program that has none."""
    truths, refusals = {}, {}
    for name, resolver in RESOLVERS.items():
        try:
            found = outputs_of(case.model, case.inputs, resolver)
            truths[name] = [found[output] for output in case.outputs]
        except (ValueError, RuntimeError) as error:
            refusals[name] = str(error).strip().split("\n")[0][:200]
    if case.formula:
        with numpy.errstate(all="ignore"):
            result = case.formula()
        truths[FORMULA] = [numpy.asarray(value) for value in (result if isinstance(result, (list, tuple)) else [result])]
    return truths, refusals
