"""Core ML files that the program is tried with as a whole, and what numpy computes for them.

colors.mlmodel        tells a picture's main colour: a network with an image input, scale and bias, and labels
colors_logits.mlmodel the same without its softmax, all scores below 0
colors_mean.mlmodel   the same with biases of the wrong sign, as published SqueezeNets have them
invert.mlmodel        turns a picture into its negative: an image output
pictures_in_turn.mlmodel, picture_shared.mlmodel   pipelines of two networks: one takes the other's picture; both take the client's
detector.mlmodel      boxes of a picture: a pipeline that ends with a non-maximum suppression (product_detector.py)
faces.mlmodel         the same of one class, with no thresholds among its inputs
batch.mlmodel, sizes.mlmodel   networks of open extents that run with one extent only
default.mlmodel       an optional array with a default value
enlarge.mlpackage     a program of open sizes that computes another
pixels.mlmodel        a pipeline: a network's features of a picture, then a linear model of scikit-learn's kind
program.mlpackage     the colors as an ML Program
squeeze_*.mlmodel     SqueezeNet's shape with biases of the wrong sign, weights of 16, 8, 6 and 4 bits (product_squeeze.py)
tickets.mlmodel       a pipeline of a word and numbers, one of them optional

It also writes examples/coreml: Colors.mlmodel, which is colors.mlmodel, and Kickstarter.mlmodel, a logistic regression of scikit-learn.
"""

import json
import logging
import shutil
import struct
import warnings
import zlib

import numpy as np

warnings.filterwarnings("ignore")

import coremltools as ct  # noqa: E402
from coremltools import proto  # noqa: E402
from coremltools.converters.mil import Builder as mb  # noqa: E402
from coremltools.models import datatypes  # noqa: E402
from coremltools.models.neural_network import NeuralNetworkBuilder  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

from coremltools.converters.mil.mil import get_new_symbol  # noqa: E402

from . import classical_files, classical_models, product_detector, product_squeeze  # noqa: E402
from .harness import ROOT  # noqa: E402
from .program_cases import Package  # noqa: E402

folder = None
LABELS = ["red", "green", "blue", "gray"]
# One row for each label: the means of blue, green and red, from -1 to 1.
WEIGHTS = np.array([[-2, -2, 4], [-2, 4, -2], [4, -2, -2], [0.5, 0.5, 0.5]], dtype=np.float32)
BIAS = np.array([0, 0, 0, 0.75], dtype=np.float32)
PICTURES = {"red": (220, 30, 20), "green": (10, 160, 40), "blue": (20, 40, 250), "gray": (128, 128, 128)}


def softmax(v):
    powers = np.exp(v - v.max())
    return powers / powers.sum()


def image(features, name, width, height, space):
    entry = features.add()
    entry.name = name
    entry.type.imageType.width, entry.type.imageType.height = width, height
    entry.type.imageType.colorSpace = getattr(proto.FeatureTypes_pb2.ImageFeatureType, space)


def png(path, rgb):
    """A picture: of an array's pixels, or of one colour, 20 by 16 pixels."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    pixels = rgb if isinstance(rgb, np.ndarray) else np.full((16, 20, 3), rgb, np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def about(spec, text):
    metadata = spec.description.metadata
    metadata.shortDescription, metadata.author, metadata.license = text, "The Ocelli authors", "Apache-2.0"
    metadata.versionString = "1.5"
    metadata.userDefined["source"] = "Tests/FixtureMakers/coreml_fixtures/product.py"


def save(name, spec):
    (folder / f"{name}.mlmodel").write_bytes(spec.SerializeToString(deterministic=True))


def colors(name, scale, bias, lowered=None):
    """lowered: the scores are as much lower, and not put through a softmax."""
    builder = NeuralNetworkBuilder(
        [("image", datatypes.Array(3, 16, 16))], [("probabilities", datatypes.Array(4))], mode="classifier")
    builder.add_pooling("mean", 1, 1, 1, 1, "AVERAGE", "VALID", "image", "mean", is_global=True)
    if lowered is None:
        builder.add_inner_product("scores", WEIGHTS, BIAS, 3, 4, True, "mean", "scores")
        builder.add_softmax("softmax", "scores", "probabilities")
    else:
        builder.add_inner_product("scores", WEIGHTS, BIAS - np.float32(lowered), 3, 4, True, "mean", "probabilities")
    builder.set_class_labels(LABELS, predicted_feature_name="color", prediction_blob="probabilities")
    builder.set_pre_processing_parameters(
        image_input_names=["image"], is_bgr=True, image_scale=scale, red_bias=bias, green_bias=bias, blue_bias=bias)
    spec = builder.spec
    about(spec, "Tells the main colour of a picture.")
    save(name, spec)

    def scores(rgb):
        # The network sees blue first.
        logits = WEIGHTS @ (np.array(rgb[::-1]) * scale + bias) + BIAS
        return softmax(logits) if lowered is None else logits - lowered

    return {picture: dict(zip(LABELS, scores(rgb).tolist())) for picture, rgb in PICTURES.items()}


def invert():
    builder = NeuralNetworkBuilder([("image", datatypes.Array(3, 8, 8))], [("negative", datatypes.Array(3, 8, 8))])
    builder.add_activation("negative", "LINEAR", "image", "negative", params=[-1, 255])
    spec = builder.spec
    builder.set_pre_processing_parameters(image_input_names=["image"])
    del spec.description.output[:]
    image(spec.description.output, "negative", 8, 8, "RGB")
    save("invert", spec)


def pixels():
    """Means of the channels by a network, and a linear model that tells light pictures from dark ones."""
    builder = NeuralNetworkBuilder([("image", datatypes.Array(3, 8, 8))], [("means", datatypes.Array(3))])
    builder.add_pooling("mean", 1, 1, 1, 1, "AVERAGE", "VALID", "image", "means", is_global=True)
    builder.set_pre_processing_parameters(image_input_names=["image"], image_scale=1 / 255)
    glm = proto.Model_pb2.Model()
    glm.specificationVersion = 1
    classical_files.feature(glm.description.input, "means", datatypes.Array(3))
    for features in (glm.description.output,):
        classical_files.feature(features, "shade", datatypes.String())
        classical_files.feature(features, "odds", datatypes.Dictionary(datatypes.String()))
    glm.description.predictedFeatureName, glm.description.predictedProbabilitiesName = "shade", "odds"
    weights, bias = np.array([[2.0, 3.0, 1.0]]), -2.5
    classical_models.fill_rows(glm.glmClassifier, weights, [bias])
    glm.glmClassifier.stringClassLabels.vector.extend(["dark", "light"])
    spec = proto.Model_pb2.Model()
    spec.specificationVersion = 1
    image(spec.description.input, "image", 8, 8, "RGB")
    for feature in glm.description.output:
        spec.description.output.add().CopyFrom(feature)
    spec.description.predictedFeatureName, spec.description.predictedProbabilitiesName = "shade", "odds"
    spec.pipelineClassifier.pipeline.models.extend([builder.spec, glm])
    save("pixels", spec)
    result = {}
    for picture, rgb in PICTURES.items():
        p = 1 / (1 + np.exp(-(weights[0] @ (np.array(rgb) / 255) + bias)))
        result[picture] = {"dark": 1 - p, "light": p}
    return result


def enlarge():
    """Twice as many rows and columns, to a size that the program computes; pictures of 2 to 8 rows and columns."""
    def build(x):
        size = mb.slice_by_index(x=mb.shape(x=x), begin=[2], end=[4])
        size = mb.mul(x=size, y=np.int32([2, 2]))
        return mb.resize(x=x, shape=size, resized_dims=np.uint32(2), interpolation_mode="NEAREST_NEIGHBOR", sampling_mode="DEFAULT", name="y")

    function = mb.program(
        input_specs=[mb.TensorSpec(shape=(1, 2, get_new_symbol(), get_new_symbol()))], opset_version=ct.target.iOS17)(build)
    extent = lambda: ct.RangeDim(2, 8, default=4)  # noqa: E731
    model = ct.convert(
        function, convert_to="mlprogram", inputs=[ct.TensorType(name="x", shape=ct.Shape((1, 2, extent(), extent())))],
        compute_precision=ct.precision.FLOAT32, minimum_deployment_target=ct.target.iOS17, skip_model_load=True)
    Package(model).save(str(folder / "enlarge.mlpackage"))


def ranged(features, name, default, ranges):
    """An array whose extents are in ranges."""
    array = classical_files.feature(features, name, datatypes.Array(*default)).type.multiArrayType
    for low, high in ranges:
        array.shapeRange.sizeRanges.add(lowerBound=low, upperBound=high)


def open_networks():
    """Networks whose files leave extents open that cannot be: crops of a given size, and a batch that coremltools writes by itself."""
    builder = NeuralNetworkBuilder(
        [("x", datatypes.Array(1, 2, 6, 6))], [("y", None)], disable_rank5_shape_mapping=True)
    builder.add_resize_bilinear("resize", "x", "y", 3, 3, mode="ROI_ALIGN_MODE")
    del builder.spec.description.input[:]
    ranged(builder.spec.description.input, "x", (1, 2, 6, 6), [(1, 1), (2, 2), (4, 8), (4, -1)])
    save("sizes", builder.spec)
    builder = NeuralNetworkBuilder([("x", datatypes.Array(1, 3))], [("y", None)], disable_rank5_shape_mapping=True)
    builder.add_activation("y", "LINEAR", "x", "y", params=[2, 0])
    del builder.spec.description.input[:]
    ranged(builder.spec.description.input, "x", (1, 3), [(1, 2), (3, 3)])
    save("batch", builder.spec)
    builder = NeuralNetworkBuilder(
        [("x", datatypes.Array(3)), ("shift", datatypes.Array(3))], [("y", None)], disable_rank5_shape_mapping=True)
    builder.add_add_broadcastable("y", ["x", "shift"], "y")
    shift = builder.spec.description.input[1].type
    shift.isOptional, shift.multiArrayType.floatDefaultValue = True, 0.25
    save("default", builder.spec)


def joined(name, models, inputs, outputs):
    """A pipeline of models."""
    spec = proto.Model_pb2.Model()
    spec.specificationVersion = 3
    spec.description.input.extend(inputs)
    spec.description.output.extend(outputs)
    spec.pipeline.models.extend(models)
    save(name, spec)


def mean_network(given, result, bgr, scale, biases):
    """The means of a picture's channels, each scaled. Biases are for red, green, blue."""
    builder = NeuralNetworkBuilder([(given, datatypes.Array(3, 8, 8))], [(result, datatypes.Array(3))])
    builder.add_pooling("mean", 1, 1, 1, 1, "AVERAGE", "VALID", given, result, is_global=True)
    builder.set_pre_processing_parameters(
        [given], bgr, image_scale=scale, red_bias=biases[0], green_bias=biases[1], blue_bias=biases[2])
    return builder.spec


def picture_pipelines():
    """A network takes the picture that another one made, with scale, bias and order of colours of its own; and two take the same picture."""
    builder = NeuralNetworkBuilder([("image", datatypes.Array(3, 8, 8))], [("negative", datatypes.Array(3, 8, 8))])
    builder.add_activation("negative", "LINEAR", "image", "negative", params=[-1, 255])
    builder.set_pre_processing_parameters(image_input_names=["image"])
    inverting = builder.spec
    del inverting.description.output[:]
    image(inverting.description.output, "negative", 8, 8, "RGB")
    mean = mean_network("negative", "means", True, 0.5, (1, 2, 3))
    joined("pictures_in_turn", [inverting, mean], inverting.description.input, mean.description.output)
    one = mean_network("image", "unscaled", False, 1, (0, 0, 0))
    two = mean_network("image", "scaled", False, 0.25, (-1, -2, -3))
    joined("picture_shared", [one, two], one.description.input, [*one.description.output, *two.description.output])
    red, green, blue = PICTURES["red"]
    return {
        "pictures_in_turn": {"means": [(255 - blue) * 0.5 + 3, (255 - green) * 0.5 + 2, (255 - red) * 0.5 + 1]},
        "picture_shared": {"unscaled": [red, green, blue], "scaled": [red / 4 - 1, green / 4 - 2, blue / 4 - 3]},
    }


def tickets():
    """A price: a base by the day, and a share of the distance; without a distance, that of 100 km."""
    days, weights, bias = ["weekday", "weekend"], np.array([[1.5, 2.5, 0.25]]), 3.0
    hot = proto.Model_pb2.Model()
    hot.specificationVersion = 1
    classical_files.feature(hot.description.input, "day", datatypes.String())
    classical_files.feature(hot.description.output, "encoded", datatypes.Array(2))
    hot.oneHotEncoder.stringCategories.vector.extend(days)
    imputer = proto.Model_pb2.Model()
    imputer.specificationVersion = 1
    for features in (imputer.description.input, imputer.description.output):
        classical_files.feature(features, "distance", datatypes.Double())
    imputer.imputer.imputedDoubleValue = 100
    imputer.description.input[0].type.isOptional = True
    both = proto.Model_pb2.Model()
    both.specificationVersion = 1
    classical_files.feature(both.description.input, "encoded", datatypes.Array(2))
    classical_files.feature(both.description.input, "distance", datatypes.Double())
    classical_files.feature(both.description.output, "all", datatypes.Array(3))
    both.featureVectorizer.inputList.add(inputColumn="encoded", inputDimensions=2)
    both.featureVectorizer.inputList.add(inputColumn="distance", inputDimensions=1)
    glm = classical_files.array_model("all", 3, "price", datatypes.Double())
    classical_models.fill_rows(glm.glmRegressor, weights, [bias])
    spec = proto.Model_pb2.Model()
    spec.specificationVersion = 1
    classical_files.feature(spec.description.input, "day", datatypes.String())
    classical_files.feature(spec.description.input, "distance", datatypes.Double()).type.isOptional = True
    classical_files.feature(spec.description.output, "price", datatypes.Double())
    spec.description.predictedFeatureName = "price"
    spec.pipelineRegressor.pipeline.models.extend([hot, imputer, both, glm])
    about(spec, "What a ticket costs.")
    save("tickets", spec)
    price = lambda day, distance: float(weights[0] @ [day == "weekday", day == "weekend", distance] + bias)  # noqa: E731
    return [({"day": "weekday", "distance": 12.5}, price("weekday", 12.5)), ({"day": "weekend"}, price("weekend", 100))]


def program():
    """An ML Program in a package, with its weights in a file: the same colors, with scale and bias as operations."""
    scale, bias = np.float32(1 / 127.5), np.float32(-1)

    @mb.program(input_specs=[mb.TensorSpec(shape=(1, 3, 16, 16))])
    def function(image):
        scaled = mb.add(x=mb.mul(x=image, y=scale), y=bias)
        means = mb.reduce_mean(x=scaled, axes=[2, 3], keep_dims=False)
        return mb.softmax(x=mb.linear(x=means, weight=WEIGHTS[:, ::-1].copy(), bias=BIAS), axis=-1, name="scores")

    model = ct.convert(
        function, convert_to="mlprogram", inputs=[ct.ImageType(name="image", shape=(1, 3, 16, 16), color_layout="RGB")],
        classifier_config=ct.ClassifierConfig(LABELS), compute_precision=ct.precision.FLOAT32, skip_model_load=True)
    about(model.get_spec(), "Tells the main colour of a picture.")
    target = folder / "program.mlpackage"
    shutil.rmtree(target, ignore_errors=True)
    model.save(str(target))


def kickstarter(examples):
    """Whether a project finds the money that it asks for: made-up projects, learned by scikit-learn."""
    random = np.random.default_rng(16)
    goal, backers, duration = random.uniform(500, 20_000, 400), random.uniform(0, 400, 400), random.uniform(7, 60, 400)
    wins = backers * 45 + random.normal(0, 1_500, 400) > goal + 40 * duration
    inputs = ["goal", "backersCount", "duration"]
    table = np.stack([goal, backers, duration], 1)
    model = LogisticRegression(multi_class="ovr", max_iter=10_000).fit(table, np.where(wins, "successful", "failed"))
    spec = ct.converters.sklearn.convert(model, inputs, "state").get_spec()
    about(spec, "Whether a crowdfunding project will be funded. Learned from made-up projects.")
    (examples / "Kickstarter.mlmodel").write_bytes(spec.SerializeToString(deterministic=True))
    answers = []
    for row in ([1000, 20, 30], [15_000, 20, 30], [8000, 300, 21]):
        given = np.array([row], float)
        odds = dict(zip(model.classes_.tolist(), model.predict_proba(given)[0].tolist()))
        answers.append({"inputs": dict(zip(inputs, row)), "state": str(model.predict(given)[0]), "odds": odds})
    return answers


def make(fixtures):
    global folder
    logging.disable(logging.WARNING)
    folder = fixtures.folder
    expected = {
        "pictures": PICTURES,
        "colors": colors("colors", 1 / 127.5, -1),
        "colors_mean": colors("colors_mean", 1, 110),
        "colors_logits": colors("colors_logits", 1 / 127.5, -1, lowered=8),
        "pixels": pixels(),
        "pipelines": picture_pipelines(),
        "tickets": [{"inputs": inputs, "price": price} for inputs, price in tickets()],
    }
    examples = ROOT.parents[2] / "examples" / "coreml"
    examples.mkdir(exist_ok=True)
    expected["kickstarter"] = kickstarter(examples)
    shutil.copyfile(folder / "colors.mlmodel", examples / "Colors.mlmodel")
    specs, expected["squeeze"] = product_squeeze.make()
    for name, spec in specs.items():
        save(name, spec)
    png(folder / "squeeze.png", product_squeeze.picture())
    save("detector", product_detector.specification())
    expected["detector"] = {name: product_detector.answers(rgb) for name, rgb in PICTURES.items()}
    expected["detector_sure"] = product_detector.answers(PICTURES["gray"], iou=0.9, least=0.5)
    expected["detector_low"] = product_detector.answers(PICTURES["red"], iou=0.9, least=0.05)
    save("faces", product_detector.faces())
    # Dark enough for one box only.
    shades = {**PICTURES, "dark": (40, 40, 40)}
    png(folder / "dark.png", shades["dark"])
    expected["faces"] = {name: product_detector.answers(rgb, labels=product_detector.FACE) for name, rgb in shades.items()}
    expected["faces_low"] = product_detector.answers(PICTURES["red"], iou=0.9, least=0.05, labels=product_detector.FACE)
    open_networks()
    invert()
    enlarge()
    program()
    for name, rgb in PICTURES.items():
        png(folder / f"{name}.png", rgb)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    fixtures.names.update(path.name for path in folder.iterdir())
