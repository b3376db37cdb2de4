"""ONNX files of one operator, and the two programs that say what they compute: ONNX's reference evaluator and ONNX Runtime."""

import functools
import logging
import warnings

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from case import Case, Collection, axis_word

onnxruntime.set_default_logger_severity(4)
logging.getLogger("onnx").setLevel(logging.ERROR)

REFERENCE, RUNTIME = "the reference evaluator", "ONNX Runtime"
# What exporters write where the operator is not newer.
OPSET = 17


class Family(Collection):
    """ONNX cases."""

    def add(self, operator, variant, inputs, constants=None, *, order=None, outputs=("y",), opset=None, opened="auto", domain="",
            tolerance=None, right=None, counted=None, types=None, graph=None, dtypes=None, axes=("fixed", "open"), only=None, **attributes):
        """Adds the operator's case with fixed axes, and one with open axes. `order`: the names of the node's inputs where these are
        not the inputs followed by the constants; "" leaves one out. `opened`: the open axes by input; "auto": height and width of
        tensors with four axes, otherwise the first one. `graph`: the nodes, if there is more than one. `dtypes`: those of the outputs
        that ONNX cannot infer. `only`: the attribute axes.
        `right`: see Case."""
        constants = constants or {}
        if only is not None:
            attributes["axes"] = only
        names = order if order is not None else [*inputs, *constants]
        nodes = graph or [helper.make_node(operator, names, list(outputs), domain=domain, **attributes)]
        opset = opset or (1 if domain else max(OPSET, first_version(operator)))
        types = types or next(iter(inputs.values())).dtype.name
        for kind in self.kinds(types, axes):
            extents = {name: list(value.shape) for name, value in inputs.items()}
            label = "fixed"
            if kind == "open":
                label = open_axes(extents, opened)
                if not label:
                    continue
            make = functools.partial(build, nodes, inputs, extents, constants, [o for o in outputs if o], opset, domain, dtypes)
            self.cases.append(Case("ONNX", operator, variant, types, label, make, inputs, [o for o in outputs if o], run, tolerance, right, counted or {},
                                   {node.op_type for node in nodes}))


def first_version(operator):
    return min((s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == operator and s.domain == ""), default=1)


def open_axes(extents, opened):
    """Opens axes of the inputs in place; what is open, in words. Equal extents of one axis get one name."""
    words = set()
    for name, shape in extents.items():
        which = opened.get(name, ()) if isinstance(opened, dict) else opened
        if opened == "auto":
            which = {4: (2, 3), 5: (2, 3, 4)}.get(len(shape), (0,))
        if opened == "batch":
            which = (0,)
        for axis in which or ():
            if axis < len(shape) and (shape[axis] > 1 or opened != "auto"):
                words.add(axis_word(len(shape), axis, axis > 1))
                shape[axis] = f"{'ncdhw'[axis] if len(shape) == 5 else 'nchw'[axis] if axis < 4 else 'k'}{shape[axis]}"
    return "open " + " and ".join(sorted(words, key=lambda word: (word[0] == "h", word))) if words else None


def build(nodes, inputs, extents, constants, outputs, opset, domain, dtypes):
    values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), extents[name]) for name, value in inputs.items()]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    if dtypes:
        results = [helper.make_tensor_value_info(name, dtype, None) for name, dtype in zip(outputs, dtypes)]
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    sets = [helper.make_opsetid("", 17 if domain else opset)] + ([helper.make_opsetid(domain, opset)] if domain else [])
    model = helper.make_model(helper.make_graph(nodes, "g", values, results, weights), opset_imports=sets)
    model.ir_version = 8 if opset < 19 else 9 if opset < 21 else 10 if opset < 23 else 11 if opset < 25 else 12
    inferred = shape_inference.infer_shapes(model, data_prop=True)
    for result in inferred.graph.output:
        if not result.type.tensor_type.elem_type:
            raise ValueError(f"ONNX infers no type of {result.name} of {[node.op_type for node in nodes]}: give dtypes")
    return inferred.SerializeToString()


def run(case):
    """The truths of a case, and the reasons of a program that has none."""
    truths, refusals = {}, {}
    for name, program in ((REFERENCE, by_reference), (RUNTIME, by_runtime)):
        try:
            with warnings.catch_warnings(), numpy.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                truths[name] = [numpy.asarray(value) for value in program(case)]
        except Exception as error:  # whatever a program raises, it has no answer
            refusals[name] = str(error).strip().split("\n")[0][:200]
    return truths, refusals


def by_reference(case):
    model = onnx.load_from_string(case.model)
    if model.opset_import[0].version < 19 and any(node.op_type.endswith("quantizeLinear") for node in model.graph.node):
        # The evaluator has DequantizeLinear from opset 19 on, which computes the same.
        model.opset_import[0].version = 19
    return ReferenceEvaluator(model).run(case.outputs, case.inputs)


def by_runtime(case):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # As the file has it: no operator is joined with another.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(case.model, options, providers=["CPUExecutionProvider"])
    return session.run(case.outputs, case.inputs)
