"""A program as a fixture: built with coremltools' Builder, its answers from numpy."""

import json
import pathlib

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import Function, Program, types

IOS15, IOS16, IOS17, IOS18 = ct.target.iOS15, ct.target.iOS16, ct.target.iOS17, ct.target.iOS18
TYPES = {np.dtype("float32"): types.fp32, np.dtype("int32"): types.int32, np.dtype("float16"): types.fp16}
CASES = []


class Case:
    """One program: sample inputs, a function that builds it, and one that computes its answers with numpy.

    half: computed in 16-bit floats, as coremltools does unless configured otherwise. whole: with coremltools' own passes; without them
    the operations stay as they are written. change: what is done to the model afterwards, such as compressing it.
    """

    def __init__(self, name, inputs, build, expect, opset=IOS15, half=False, whole=False, tolerance=None, shapes=None, change=None, arguments=None):
        self.name, self.inputs, self.build, self.expect = name, inputs, build, expect
        self.opset, self.half, self.whole, self.change = opset, half, whole, change
        self.shapes, self.arguments = shapes or {}, arguments or {}
        self.tolerance = tolerance or (1e-2 if half else 1e-4)

    def model(self):
        program = Program()
        placeholders = {
            name: mb.placeholder(shape=self.shapes.get(name, value.shape), dtype=TYPES[value.dtype])
            for name, value in self.inputs.items()
        }
        with Function(placeholders, opset_version=self.opset) as function:
            outputs = self.build(**{name: function.inputs[name] for name in self.inputs})
            function.set_outputs([mb.identity(x=value, name=name) for name, value in outputs.items()])
            program.add_function("main", function)
        arguments = {} if self.whole or self.half else {"pass_pipeline": ct.PassPipeline.EMPTY}
        model = ct.convert(
            program,
            convert_to="mlprogram",
            minimum_deployment_target=self.opset,
            compute_precision=ct.precision.FLOAT16 if self.half else ct.precision.FLOAT32,
            skip_model_load=True,
            **arguments,
            **self.arguments,
        )
        return self.change(model) if self.change else model

    def answers(self):
        answers = self.expect(**{name: value.copy() for name, value in self.inputs.items()})
        return {name: np.asarray(value) if not isinstance(value, (str, int, dict)) else value for name, value in answers.items()}


class Package:
    """A model that is saved without what differs from run to run: dates and random identifiers."""

    def __init__(self, model):
        self.model = model

    def save(self, path):
        spec = self.model.get_spec()
        spec.description.metadata.userDefined.clear()
        ct.models.MLModel(spec, weights_dir=self.model.weights_dir, skip_model_load=True).save(path)
        # Maps in the order of their keys.
        (pathlib.Path(path) / "Data/com.apple.CoreML/model.mlmodel").write_bytes(spec.SerializeToString(deterministic=True))
        manifest = pathlib.Path(path) / "Manifest.json"
        known = json.loads(manifest.read_text())
        entries = sorted(known["itemInfoEntries"].items(), key=lambda entry: entry[1]["path"])
        names = {key: f"00000000-0000-0000-0000-{index:012d}" for index, (key, _) in enumerate(entries)}
        known["itemInfoEntries"] = {names[key]: entry for key, entry in entries}
        known["rootModelIdentifier"] = names[known["rootModelIdentifier"]]
        manifest.write_text(json.dumps(known, indent=4) + "\n")


def operations(spec):
    """The types of the operations that a program has, those of its loops among them."""

    def types(block):
        for operation in block.operations:
            yield operation.type
            for inner in operation.blocks:
                yield from types(inner)

    function = spec.mlProgram.functions["main"]
    return sorted(set(types(function.block_specializations[function.opset])))


def case(name, inputs, build, expect, **options):
    CASES.append(Case(name, inputs, build, expect, **options))


def normal(*shape, seed=1, scale=1.0, shift=0.0):
    return (np.random.RandomState(seed).standard_normal(shape) * scale + shift).astype(np.float32)


def uniform(*shape, seed=1, low=0.0, high=1.0):
    return np.random.RandomState(seed).uniform(low, high, shape).astype(np.float32)


def integers(*shape, seed=1, low=0, high=10):
    return np.random.RandomState(seed).randint(low, high, shape).astype(np.int32)


def as_float(value):
    return mb.cast(x=value, dtype="fp32")
