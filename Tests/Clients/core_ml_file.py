#!/usr/bin/env python3
"""Evaluates a Core ML classifier of vectors from coremltools' own specification, with NumPy.

usage: core_ml_file.py FILE      reads a JSON list of vectors, writes the metadata, and the label and the probabilities of each vector
"""
import json
import sys

import coremltools
import numpy

spec = coremltools.utils.load_spec(sys.argv[1])
assert spec.WhichOneof("Type") == "pipelineClassifier", spec.WhichOneof("Type")
models = spec.pipelineClassifier.pipeline.models
scaler, normalizer, last = models
assert [scaler.WhichOneof("Type"), normalizer.WhichOneof("Type")] == ["scaler", "normalizer"]
assert normalizer.normalizer.normType == coremltools.proto.Normalizer_pb2.Normalizer.L2
# Each model takes what the one before it gives.
names = [spec.description.input[0].name] + [model.description.output[0].name for model in models]
assert [model.description.input[0].name for model in models] == names[:-1]
features = [*spec.description.input, *spec.description.output]
assert [feature.name for feature in features] == ["embedding", "classLabel", "classLabelProbs"], features
assert spec.description.predictedFeatureName == "classLabel" and spec.description.predictedProbabilitiesName == "classLabelProbs"
shift = numpy.array(scaler.scaler.shiftValue)
assert list(spec.description.input[0].type.multiArrayType.shape) == [len(shift)] and not scaler.scaler.scaleValue


def linear(unit):
    glm = last.glmClassifier
    assert (glm.classEncoding, glm.postEvaluationTransform) == (glm.ReferenceClass, glm.Logit)
    sums = numpy.array([0.0] + [numpy.dot(row.value, unit) + offset for row, offset in zip(glm.weights, glm.offset, strict=True)])
    powers = numpy.exp(sums - sums.max())
    return dict(zip(glm.stringClassLabels.vector, powers / powers.sum(), strict=True))


def nearest(unit):
    knn = last.kNearestNeighborsClassifier
    index = knn.nearestNeighborsIndex
    assert index.WhichOneof("DistanceFunction") == "squaredEuclideanDistance" and index.numberOfDimensions == len(unit)
    assert knn.WhichOneof("WeightingScheme") == "inverseDistanceWeighting"
    count, allowed = knn.numberOfNeighbors.defaultValue, knn.numberOfNeighbors.range
    assert allowed.minValue <= count <= allowed.maxValue
    distances = [float(((numpy.array(sample.vector) - unit) ** 2).sum()) for sample in index.floatSamples]
    labels = knn.stringClassLabels.vector
    votes = dict.fromkeys(sorted(set(labels)), 0.0)
    for place in numpy.argsort(distances, kind="stable")[:count]:
        votes[labels[place]] += 1 / max(distances[place], 1e-30)
    total = sum(votes.values())
    return {label: vote / total for label, vote in votes.items()}


evaluate = linear if last.WhichOneof("Type") == "glmClassifier" else nearest
answers = []
for vector in json.load(sys.stdin):
    centered = numpy.array(vector) + shift
    length = numpy.sqrt((centered ** 2).sum())
    shares = evaluate(centered / length if length else centered)
    answers.append({"label": max(shares, key=shares.get), "probabilities": shares})
print(json.dumps({"metadata": dict(spec.description.metadata.userDefined), "version": spec.specificationVersion, "answers": answers}))
