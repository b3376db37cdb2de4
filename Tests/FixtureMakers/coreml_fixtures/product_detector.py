"""A detector as Create ML, Turi Create and YOLO's exporters write it: a pipeline of a network and a non-maximum suppression.

The network gives the same boxes for every picture, and scores that grow with its brightness.
"""

import numpy as np

from coremltools import proto
from coremltools.models import datatypes
from coremltools.models.neural_network import NeuralNetworkBuilder

from .classical_features import suppressed
from .classical_files import feature

SIZE = 16
LABELS = ["cat", "dog"]
# Centre x and y, width and height, as fractions of the picture. The second overlaps the first.
BOXES = np.array([[0.25, 0.25, 0.3, 0.4], [0.28, 0.27, 0.3, 0.4], [0.7, 0.6, 0.25, 0.5], [0.5, 0.8, 0.2, 0.1]], np.float32)
SCORES = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.7], [0.35, 0.3]], np.float32)
IOU, LEAST = 0.45, 0.25


FACE = ["face"]


def specification():
    """As YOLO's exporter writes it: the pipeline takes the thresholds."""
    return pipeline(LABELS, SCORES, True)


def faces():
    """The same of one class. Its thresholds are those of the file alone, and its outputs are declared without their shapes."""
    return pipeline(FACE, SCORES.max(axis=1, keepdims=True), False)


def pipeline(labels, table, takes_thresholds):
    builder = NeuralNetworkBuilder(
        [("image", datatypes.Array(1, 3, SIZE, SIZE))], [("raw_confidence", None), ("raw_coordinates", None)],
        disable_rank5_shape_mapping=True)
    builder.add_reduce_mean("mean", "image", "mean", reduce_all=True, keepdims=False)
    builder.add_load_constant_nd("scores", "scores", table, table.shape)
    builder.add_load_constant_nd("boxes", "boxes", BOXES, BOXES.shape)
    builder.add_multiply_broadcastable("confidence", ["scores", "mean"], "raw_confidence")
    builder.add_copy("coordinates", "boxes", "raw_coordinates")
    builder.set_pre_processing_parameters(image_input_names=["image"], image_scale=2 / 255)
    network = builder.spec
    last = proto.Model_pb2.Model()
    last.specificationVersion = 4
    for name, array in (("raw_confidence", table), ("raw_coordinates", BOXES)):
        feature(last.description.input, name, datatypes.Array(*array.shape))
    for name, width in (("confidence", len(labels)), ("coordinates", 4)):
        array = feature(last.description.output, name, datatypes.Array(1)).type.multiArrayType
        if not takes_thresholds:
            continue
        del array.shape[:]
        for low, high in ((0, -1), (width, width)):
            array.shapeRange.sizeRanges.add(lowerBound=low, upperBound=high)
    nms = last.nonMaximumSuppression
    nms.confidenceInputFeatureName, nms.coordinatesInputFeatureName = "raw_confidence", "raw_coordinates"
    nms.confidenceOutputFeatureName, nms.coordinatesOutputFeatureName = "confidence", "coordinates"
    if takes_thresholds:
        nms.iouThresholdInputFeatureName, nms.confidenceThresholdInputFeatureName = "iouThreshold", "confidenceThreshold"
    nms.iouThreshold, nms.confidenceThreshold = IOU, LEAST
    nms.pickTop.perClass = True
    nms.stringClassLabels.vector.extend(labels)
    pipeline = proto.Model_pb2.Model()
    pipeline.specificationVersion = 4
    pipeline.description.input.add().CopyFrom(network.description.input[0])
    # Inputs of the pipeline alone, and not marked as optional, as YOLO's exporter has them.
    for name in ("iouThreshold", "confidenceThreshold") if takes_thresholds else ():
        feature(pipeline.description.input, name, datatypes.Double())
    for output in last.description.output:
        pipeline.description.output.add().CopyFrom(output)
    pipeline.pipeline.models.add().CopyFrom(network)
    pipeline.pipeline.models.add().CopyFrom(last)
    return pipeline


def answers(rgb, iou=IOU, least=LEAST, labels=LABELS):
    """What is kept of a picture of one colour, the best first."""
    table = SCORES if len(labels) > 1 else SCORES.max(axis=1, keepdims=True)
    scores = table * (np.mean(rgb) * 2 / 255)
    kept = suppressed(scores, BOXES, iou, least, True)
    return [{"label": labels[int(scores[i].argmax())], "confidence": float(scores[i].max()), "box": BOXES[i].tolist()} for i in kept]
