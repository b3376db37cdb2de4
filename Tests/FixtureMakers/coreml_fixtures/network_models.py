"""Whole networks: images, preprocessing, classifiers, regressors, several outputs."""
import numpy as np
from coremltools.models import datatypes
from coremltools.models.neural_network import NeuralNetworkBuilder

from .harness import random
from .network_formulas import bilinear, conv, deconv, pool

F = np.float32


def make(fixtures):
    def values(name, *shape, low=-1.0, high=1.0):
        return random(name).uniform(low, high, shape).astype(F)

    def image(spec, name, space, width, height):
        for feature in spec.description.input:
            if feature.name == name:
                feature.type.imageType.width, feature.type.imageType.height = width, height
                feature.type.imageType.colorSpace = space

    def softmax(x):
        e = np.exp(x - x.max())
        return e / e.sum()

    # A classifier of pictures: scaler, convolution, pooling, flatten in Keras' order, softmax.
    picture = np.floor(random("picture").uniform(0, 256, (1, 3, 8, 6))).astype(F)
    w, b = values("cw", 4, 3, 3, 3) / 8, values("cb", 4)
    iw, ib = values("iw", 5, 4 * 4 * 3) / 4, values("ib", 5)
    for space, name, biases in ((20, "rgb", (-1.0, -0.5, -0.25)), (30, "bgr", (-0.25, -0.5, -1.0))):
        builder = NeuralNetworkBuilder([("image", datatypes.Array(3, 8, 6))], [("probabilities", datatypes.Array(5))], "classifier")
        builder.add_convolution("conv", 3, 4, 3, 3, 1, 1, "same", 1, w.transpose(2, 3, 1, 0), b, True, input_name="image", output_name="c")
        builder.add_activation("relu", "RELU", "c", "r")
        builder.add_pooling("pool", 2, 2, 2, 2, "MAX", "VALID", "r", "p")
        builder.add_flatten("flatten", 1, "p", "f")
        builder.add_inner_product("inner", iw, ib, 48, 5, True, "f", "i")
        builder.add_softmax("softmax", "i", "probabilities")
        builder.set_class_labels([f"class {index}" for index in range(5)], "label")
        builder.set_pre_processing_parameters(["image"], name == "bgr", -1.0, -0.5, -0.25, 0, 1 / 64)
        image(builder.spec, "image", space, 6, 8)
        y = picture / 64 + np.array(biases, F)[None, :, None, None]
        y = np.maximum(conv(y, w, b, pads=((1, 1), (1, 1))), 0)
        y = pool(y[0], (2, 2), (2, 2), "max").transpose(1, 2, 0).ravel()
        # The dictionary's probabilities, in the order of the labels.
        result = {output.name for output in builder.spec.description.output} - {"label"}
        fixtures.add(f"classifier-{name}", builder.spec, [({"image": picture}, {result.pop(): softmax(iw @ y + ib)})],
                     ["neuralNetworkClassifier", "image input", "scaler"])
    builder = NeuralNetworkBuilder([("image", datatypes.Array(1, 4, 4))], [("y", None)])
    builder.add_activation("linear", "LINEAR", "image", "y", [2.0, 1.0])
    image(builder.spec, "image", 10, 4, 4)
    mean = values("mean", 1, 4, 4)
    builder.spec.neuralNetwork.preprocessing.add().meanImage.meanImage.extend(mean.ravel().tolist())
    gray = np.floor(random("gray").uniform(0, 256, (1, 1, 4, 4))).astype(F)
    builder.spec.description.output[0].type.multiArrayType.dataType = 65568
    fixtures.add("mean-image", builder.spec, [({"image": gray}, {"y": (2 * (gray - mean) + 1)[0]})], ["mean image", "image input"])
    # An image as output: rounded and limited.
    builder = NeuralNetworkBuilder([("image", datatypes.Array(3, 4, 4))], [("painted", None)])
    builder.add_activation("linear", "LINEAR", "image", "painted", [1.3, -20.0])
    image(builder.spec, "image", 20, 4, 4)
    output = builder.spec.description.output[0].type.imageType
    output.width, output.height, output.colorSpace = 4, 4, 20
    color = np.floor(random("color").uniform(0, 256, (1, 3, 4, 4))).astype(F)
    painted = np.round(np.clip(F(1.3) * color + F(-20), 0, 255))
    fixtures.add("image-output", builder.spec, [({"image": color}, {"painted": painted})], ["image output", "image input"])
    # A regressor.
    builder = NeuralNetworkBuilder([("x", datatypes.Array(4))], [("value", datatypes.Double())], "regressor")
    rw, rb = values("rw", 1, 4), values("rb", 1)
    builder.add_inner_product("inner", rw, rb, 4, 1, True, "x", "value")
    x = values("regressor", 4)
    fixtures.add("regressor", builder.spec, [({"x": x}, {"value": rw @ x + rb})], ["neuralNetworkRegressor"])
    # A classifier of numbers with labels that are integers; the probabilities are not the last layer's output.
    builder = NeuralNetworkBuilder([("x", datatypes.Array(4))], [("p", datatypes.Array(3)), ("twice", datatypes.Array(3))], "classifier")
    cw, cb = values("labelw", 3, 4), values("labelb", 3)
    builder.add_inner_product("inner", cw, cb, 4, 3, True, "x", "i")
    builder.add_softmax("softmax", "i", "p")
    builder.add_activation("twice", "LINEAR", "i", "twice", [2.0, 0.0])
    builder.set_class_labels([7, 3, 11], "label", "p")
    x = values("labels", 4)
    builder.spec.description.output[1].type.multiArrayType.shape[:] = [3]
    builder.spec.description.output[1].type.multiArrayType.dataType = 65568
    names = [feature.name for feature in builder.spec.description.output]
    probabilities = builder.spec.description.predictedProbabilitiesName
    answers = {probabilities: softmax(cw @ x + cb)}
    if "twice" in names:
        answers["twice"] = 2 * (cw @ x + cb)
    fixtures.add("classifier-integers", builder.spec, [({"x": x}, answers)], ["neuralNetworkClassifier"])
    # ReLU6 as converters wrote it; and the same steps in a place where they are not that.
    builder = NeuralNetworkBuilder([("x", datatypes.Array(2, 3, 4))], [("y", None), ("z", None)])
    builder.add_activation("relu", "RELU", "x", "r")
    builder.add_activation("negative", "LINEAR", "r", "n", [-1.0, 0.0])
    builder.add_unary("limit", "n", "l", "threshold", alpha=-6.0)
    builder.add_activation("back", "LINEAR", "l", "y", [-1.0, 0.0])
    builder.add_activation("minus", "LINEAR", "x", "m", [-1.0, 0.0])
    builder.add_unary("limit 2", "m", "k", "threshold", alpha=-6.0)
    builder.add_activation("back 2", "LINEAR", "k", "z", [-1.0, 0.0])
    x = values("relu6", 2, 3, 4, low=-4.0, high=12.0)
    for feature in builder.spec.description.output:
        feature.type.multiArrayType.dataType = 65568
    fixtures.add("relu6", builder.spec, [({"x": x}, {"y": np.clip(x, 0, 6), "z": np.minimum(x, 6)})],
                 ["activation (relu)", "activation (linear)", "unary (threshold)"])
    # Open extents.
    builder = NeuralNetworkBuilder([("x", datatypes.Array(2, 3))], [("y", None)], disable_rank5_shape_mapping=True)
    builder.add_reduce_sum("sum", "x", "z", axes=[-1], keepdims=True)
    builder.add_divide_broadcastable("share", ["x", "z"], "y")
    ranges = builder.spec.description.input[0].type.multiArrayType
    ranges.shapeRange.sizeRanges.add(lowerBound=2, upperBound=2)
    ranges.shapeRange.sizeRanges.add(lowerBound=1, upperBound=-1)
    builder.spec.description.output[0].type.multiArrayType.dataType = 65568
    cases = []
    for extent in (3, 5):
        x = values(f"open{extent}", 2, extent, low=0.5)
        cases.append(({"x": x}, {"y": x / x.sum(1, keepdims=True)}))
    fixtures.add("flexible-shape", builder.spec, cases, ["flexible shapes"])
    # Pictures of open sizes, made larger.
    dw, db = values("open deconvolution w", 3, 2, 3, 3), values("open deconvolution b", 2)

    def enlarged(name, covers, formula, build):
        builder = NeuralNetworkBuilder([("x", datatypes.Array(3, 4, 5))], [("y", None)])
        build(builder)
        ranges = builder.spec.description.input[0].type.multiArrayType.shapeRange.sizeRanges
        for lower, upper in ((3, 3), (2, 16), (2, -1)):
            ranges.add(lowerBound=lower, upperBound=upper)
        builder.spec.description.output[0].type.multiArrayType.dataType = 65568
        x = [values(f"{name}{extents}", 3, *extents) for extents in ((4, 5), (2, 7), (6, 3))]
        fixtures.add(name, builder.spec, [({"x": given}, {"y": formula(given)}) for given in x], covers + ["flexible shapes"])

    enlarged("open-upsample-nearest", ["upsample"], lambda x: x.repeat(2, 1).repeat(3, 2), lambda builder: builder.add_upsample("u", 2, 3, "x", "y"))
    for mode in ("DEFAULT", "ALIGN_CORNERS_TRUE", "ALIGN_CORNERS_FALSE"):
        enlarged(f"open-upsample-{mode.lower().replace('_', '-')}", ["upsample (bilinear)"],
                 lambda x: bilinear(x, (x.shape[1] * 2, x.shape[2] * 3), mode), lambda builder: builder.add_upsample("u", 2, 3, "x", "y", "BILINEAR", mode))
    enlarged("open-deconvolution-same", ["convolution (deconvolution)"],
             lambda x: deconv(x[None], dw, db, (2, 2))[0][:, :x.shape[1] * 2, :x.shape[2] * 2],
             lambda builder: builder.add_convolution("d", 3, 2, 3, 3, 2, 2, "same", 1, dw.transpose(2, 3, 0, 1), db, True, is_deconv=True,
                                                     input_name="x", output_name="y"))
    enlarged("open-crop", ["crop"], lambda x: x[:, :-1, 1:], lambda builder: builder.add_crop("c", 1, 0, 0, 1, 0, ["x"], "y"))
    enlarged("open-pixel-shuffle", ["reorganizeData"],
             lambda x: np.concatenate([x, x[:1]]).reshape(1, 2, 2, *x.shape[1:]).transpose(0, 3, 1, 4, 2).reshape(1, x.shape[1] * 2, x.shape[2] * 2),
             lambda builder: (builder.add_slice("s", "x", "first", "channel", 0, 1, 1), builder.add_elementwise("e", ["x", "first"], "all", "CONCAT"),
                              builder.add_reorganize_data("d", "all", "y", "PIXEL_SHUFFLE", 2)))
    for mode in ("STRICT_ALIGN_ENDPOINTS_MODE", "ALIGN_ENDPOINTS_MODE", "UPSAMPLE_MODE"):
        enlarged(f"open-resize-{mode.lower().split('_')[0]}", ["resizeBilinear"], lambda x: bilinear(x, (5, 4), mode),
                 lambda builder: builder.add_resize_bilinear("r", "x", "y", 5, 4, mode))
