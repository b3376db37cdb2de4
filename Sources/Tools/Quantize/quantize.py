"""Quantizes a model with NNCF: the part of `ocelli quantize` that needs Python.

usage: quantize.py JOB.json

The job names the model file, the tensors of the pictures (.npy, made by the bundle's own preprocessing), the file for the result, and a
file for the output of the libraries. Prints lines of JSON on standard output: {"step": ...} for progress, {"done": ...} at the end,
{"missing": ...} for a package that is not installed, {"error": ...} for a failure.
"""
import json
import os
import sys

LAYERS_WITH_WEIGHTS = {"Convolution", "GroupConvolution", "MatMul"}

with open(sys.argv[1], encoding="utf-8") as file:
    JOB = json.load(file)
OUT = os.fdopen(os.dup(1), "w")
with open(JOB["log"], "wb") as log:
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)


def tell(**what):
    print(json.dumps(what), file=OUT, flush=True)


def fail(reason):
    tell(error=reason)
    sys.exit(1)


def fail_with(error):
    """The libraries' reason is the reason of the failure."""
    fail(f"{type(error).__name__}: {error}"[:2000])


tell(step="loading NNCF")
try:
    import nncf
    import numpy as np
    import openvino
except ImportError as error:
    tell(missing=error.name)
    sys.exit(1)
except Exception as error:
    fail_with(error)


class Tensors:
    """The tensors of the pictures. They stay in memory, unless all together are more than 1 GB."""

    def __init__(self, paths):
        self.tensors = {path: None for path in paths}

    def load(self, path):
        if self.tensors[path] is not None:
            return self.tensors[path]
        tensor = np.load(path)
        if tensor.nbytes * len(self.tensors) < 1 << 30:
            self.tensors[path] = tensor
        return tensor


class Answers:
    """The answers of a model for pictures, and the agreement of two models. `output`: the output of a classifier, or None."""

    def __init__(self, tensors, output):
        self.tensors, self.output = tensors, output

    def scores(self, compiled, path):
        results = compiled(self.tensors.load(path))
        if self.output is not None:
            return [np.asarray(results[self.output], dtype=np.float64).ravel()]
        return [np.asarray(value, dtype=np.float64).ravel() for value in results.values()]

    def likeness(self, wanted, found):
        """For classifiers, 1 if the first label is the same, else 0; for other models, the cosine of the outputs."""
        if self.output is not None:
            return float(np.argmax(wanted[0]) == np.argmax(found[0]))
        shares = []
        for a, b in zip(wanted, found):
            length = np.linalg.norm(a) * np.linalg.norm(b)
            shares.append(float(a @ b / length) if length > 0 else float(not a.any() and not b.any()))
        return min(shares)


class Validation:
    """Compares quantized models with the original, for NNCF's search for the most sensitive layers."""

    def __init__(self, core, model, answers, paths):
        # As Ocelli computes, and NNCF: on some processors bf16 would be the default.
        original = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        self.answers, self.rounds = answers, 0
        self.wanted = {path: answers.scores(original, path) for path in paths}

    def __call__(self, compiled, items):
        found = {path: self.answers.scores(compiled, path) for path in items}
        share = float(np.mean([self.answers.likeness(self.wanted[path], values) for path, values in found.items()]))
        if len(found) == len(self.wanted):
            self.rounds += 1
            tell(step=f"search for the most sensitive layers, round {self.rounds}: {share:.3f} of the answers are the same")
        # The outputs, not the shares: how far they move says more about a layer than whether a label has changed.
        return share, list(found.values())


def read_model(core, job):
    model = core.read_model(job["model"])
    if len(model.inputs) != 1:
        fail(f"the model has {len(model.inputs)} inputs: only models with one input, a picture, can be quantized")
    if any(node.get_type_name() == "FakeQuantize" for node in model.get_ops()):
        fail("the model is already quantized")
    if model.input(0).partial_shape.is_dynamic:
        model.reshape({model.input(0): list(np.load(job["calibration"][0]).shape)})
    return model


def classifier_output(model, name):
    """The index of the output with the labels; None for a model without labels."""
    if name is None:
        return None
    names = [value.get_any_name() if value.get_names() else None for value in model.outputs]
    known = [index for index, value in enumerate(model.outputs) if name in value.get_names()]
    if len(names) > 1 and not known:
        fail(f"the model's outputs are {names}: none is called {name}")
    return known[0] if known else 0


def quantize(core, model, job):
    tensors = Tensors(job["calibration"] + job["validation"])
    calibration = nncf.Dataset(job["calibration"], tensors.load)
    count, preset = len(job["calibration"]), nncf.QuantizationPreset.MIXED
    answers = Answers(tensors, classifier_output(model, job.get("output")))
    tell(step=f"calibrating with {count} pictures")
    if job.get("at_least") is None:
        return nncf.quantize(model, calibration, preset=preset, subset_size=count)
    validate = Validation(core, model, answers, job["validation"])
    return nncf.quantize_with_accuracy_control(
        model, calibration, nncf.Dataset(job["validation"], tensors.load), lambda compiled, items: validate(compiled, items),
        max_drop=1 - job["at_least"], preset=preset, subset_size=count,
        advanced_accuracy_restorer_parameters=nncf.AdvancedAccuracyRestorerParameters(max_num_iterations=job["most_layers"]))


def is_quantized(node):
    """Whether the weights of a layer are integers."""
    waiting = [node.input_value(1).get_node()]
    while waiting:
        source = waiting.pop()
        kind = source.get_type_name()
        if kind == "FakeQuantize" or kind == "Constant" and source.get_element_type().size == 1:
            return True
        waiting += [value.get_node() for value in source.input_values()]
    return False


def main():
    core = openvino.Core()
    quantized = quantize(core, read_model(core, JOB), JOB)
    layers = [node for node in quantized.get_ops() if node.get_type_name() in LAYERS_WITH_WEIGHTS]
    left = [node.get_friendly_name() for node in layers if not is_quantized(node)]
    openvino.save_model(quantized, JOB["result"], compress_to_fp16=False)
    tell(done={"layers": len(layers), "float": left, "nncf": nncf.__version__, "openvino": openvino.__version__})


try:
    main()
except Exception as error:
    fail_with(error)
