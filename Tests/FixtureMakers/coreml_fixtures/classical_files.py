"""What the fixtures of classical models share: values, files, descriptions."""

import json

from coremltools import proto
from coremltools.models import datatypes
import numpy as np

# Where the files go; set by classical.make.
folder = None


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(plain(key)): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    return value


def write(name, model, covers, oracle, cases, tolerance=1e-9):
    spec = model.get_spec() if hasattr(model, "get_spec") else model
    (folder / f"{name}.mlmodel").write_bytes(spec.SerializeToString(deterministic=True))
    record = {
        "covers": covers,
        "oracle": oracle,
        "tolerance": tolerance,
        "cases": [{"inputs": plain(inputs), "outputs": plain(outputs)} for inputs, outputs in cases],
    }
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def rng(seed=7):
    return np.random.default_rng(seed)


def data(rows=60, columns=3, classes=2, seed=7):
    """Classes that overlap somewhat, with numbers that 32-bit floats can hold."""
    random = rng(seed)
    y = np.arange(rows) % classes
    x = random.normal(size=(rows, columns)) + y[:, None] * np.linspace(0.5, 1.5, columns)
    return np.round(x * 64) / 64, y


def queries(columns=3, count=8, seed=99):
    return np.round(rng(seed).normal(scale=1.5, size=(count, columns)) * 64) / 64 + 1 / 256


def array_model(name, count, output, output_type, version=1):
    spec = proto.Model_pb2.Model()
    spec.specificationVersion = version
    feature(spec.description.input, name, datatypes.Array(count))
    feature(spec.description.output, output, output_type)
    return spec


def feature(features, name, type):
    entry = features.add()
    entry.name = name
    datatypes._set_datatype(entry.type, type)
    return entry


def classifier_model(count, labels, version=1):
    key = datatypes.String() if isinstance(labels[0], str) else datatypes.Int64()
    spec = array_model("x", count, "label", key, version)
    feature(spec.description.output, "probabilities", datatypes.Dictionary(key))
    spec.description.predictedFeatureName = "label"
    spec.description.predictedProbabilitiesName = "probabilities"
    return spec
