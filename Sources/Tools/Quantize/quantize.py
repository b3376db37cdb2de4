"""Quantizes a model with NNCF: the part of `ocelli quantize` that needs Python.

usage: quantize.py JOB.json

The job names the model file, the tensors of the pictures (.npy, made by the bundle's own preprocessing), where the result goes, and a
file for what the libraries print. One line of JSON on standard output for each thing that happens: {"step": ...} for progress,
{"done": ...} at the end, {"missing": ...} for a package that is not installed, {"error": ...} if it cannot be done.
"""
import json
import os
import sys

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


def main():
    job = JOB
    tell(step="loading NNCF")
    try:
        import nncf
        import numpy as np
        import openvino
    except ImportError as error:
        tell(missing=error.name)
        sys.exit(1)
    core = openvino.Core()
    model = core.read_model(job["model"])
    if len(model.inputs) != 1:
        fail(f"the model has {len(model.inputs)} inputs: only models with one, a picture, can be quantized")
    if any(node.get_type_name() == "FakeQuantize" for node in model.get_ops()):
        fail("the model is quantized already")
    tensors = {path: None for path in job["calibration"] + job["validation"]}
    first = np.load(job["calibration"][0])
    if model.input(0).partial_shape.is_dynamic:
        model.reshape({model.input(0): list(first.shape)})

    def load(path):
        # Held where they are few; read again where all would be more than 1 GB.
        if tensors[path] is not None:
            return tensors[path]
        tensor = np.load(path)
        if tensor.nbytes * len(tensors) < 1 << 30:
            tensors[path] = tensor
        return tensor

    calibration = nncf.Dataset(job["calibration"], load)
    count = len(job["calibration"])
    output = None
    if job.get("output") is not None:
        names = [value.get_any_name() if value.get_names() else None for value in model.outputs]
        known = [index for index, value in enumerate(model.outputs) if job["output"] in value.get_names()]
        output = known[0] if known else 0
        if len(names) > 1 and not known:
            fail(f"the model's outputs are {names}: none is called {job['output']}")

    def scores(compiled, path):
        results = compiled(load(path))
        if output is not None:
            return [np.asarray(results[output], dtype=np.float64).ravel()]
        return [np.asarray(value, dtype=np.float64).ravel() for value in results.values()]

    def likeness(wanted, found):
        """1 where the answer is the same: the same first label; for other models the cosine of the outputs."""
        if output is not None:
            return float(np.argmax(wanted[0]) == np.argmax(found[0]))
        shares = []
        for a, b in zip(wanted, found):
            length = np.linalg.norm(a) * np.linalg.norm(b)
            shares.append(float(a @ b / length) if length > 0 else float(not a.any() and not b.any()))
        return min(shares)

    tell(step=f"calibrating with {count} pictures")
    preset = nncf.QuantizationPreset.MIXED
    if job.get("at_least") is None:
        quantized = nncf.quantize(model, calibration, preset=preset, subset_size=count)
    else:
        # As Ocelli computes, and NNCF: on some processors bf16 would be the default.
        original = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        wanted = {path: scores(original, path) for path in job["validation"]}
        rounds = 0

        def validate(compiled, items):
            nonlocal rounds
            found = {path: scores(compiled, path) for path in items}
            share = float(np.mean([likeness(wanted[path], values) for path, values in found.items()]))
            if len(found) == len(wanted):
                rounds += 1
                tell(step=f"search for the most sensitive layers, round {rounds}: {share:.3f} of the answers are the same")
            # The outputs, not the shares: how far they move tells more of a layer than whether a label has changed.
            return share, list(found.values())

        validation = nncf.Dataset(job["validation"], load)
        quantized = nncf.quantize_with_accuracy_control(
            model, calibration, validation, validate, max_drop=1 - job["at_least"], preset=preset, subset_size=count,
            advanced_accuracy_restorer_parameters=nncf.AdvancedAccuracyRestorerParameters(
                max_num_iterations=job["most_layers"]))
    kinds = {"Convolution", "GroupConvolution", "MatMul"}

    def is_quantized(node):
        """Whether the weights are whole numbers."""
        waiting = [node.input_value(1).get_node()]
        while waiting:
            source = waiting.pop()
            kind = source.get_type_name()
            if kind == "FakeQuantize" or kind == "Constant" and source.get_element_type().size == 1:
                return True
            waiting += [value.get_node() for value in source.input_values()]
        return False

    layers = [node for node in quantized.get_ops() if node.get_type_name() in kinds]
    left = [node.get_friendly_name() for node in layers if not is_quantized(node)]
    openvino.save_model(quantized, job["result"], compress_to_fp16=False)
    tell(done={"layers": len(layers), "float": left, "nncf": nncf.__version__, "openvino": openvino.__version__})


try:
    main()
except Exception as error:  # Whatever the libraries raise is the answer's reason.
    fail(f"{type(error).__name__}: {error}"[:2000])
