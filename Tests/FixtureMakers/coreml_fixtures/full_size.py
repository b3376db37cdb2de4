"""Networks of full size with random weights, each written as a Core ML network, as an ML Program and as ONNX.

`mobilenet_v2()`, `resnet50()`, `squeezenet()` and `large()` give a `Network`: a list of layers, which `neural_network()`, `program()` and
`onnx()` write. They take a picture and give `probabilities`. The Core ML files scale its values of 0 to 255 to -1 to 1: the network as its
preprocessing, the program by operations, which the ONNX file has where it is asked for.
"""
import warnings

import numpy as np

warnings.filterwarnings("ignore")
F = np.float32
# What pictures are scaled with: -1 to 1.
SCALE, BIAS = 1 / 127.5, -1.0


class Network:
    """Layers as tuples: kind, inputs, output, parameters. Values have the names of what gives them."""

    def __init__(self, size, seed, classes=1000):
        self.random, self.size, self.classes, self.layers = np.random.default_rng(seed), size, classes, []

    def layer(self, kind, inputs, **parameters):
        output = f"t{len(self.layers) + 1}"
        self.layers.append((kind, inputs, output, parameters))
        return output

    def numbers(self, *shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(F)

    def conv(self, x, channels, outputs, kernel, stride=1, groups=1, normalized=True, gain=1.0):
        scale = (2 * groups / (channels * kernel * kernel)) ** 0.5
        y = self.layer("conv", [x], weights=self.numbers(outputs, channels // groups, kernel, kernel, scale=scale),
                       bias=self.numbers(outputs, scale=0.1), stride=stride, groups=groups, pad=kernel // 2)
        if not normalized:
            return y
        return self.layer("norm", [y], gamma=gain * (1 + self.numbers(outputs, scale=0.1)), beta=self.numbers(outputs, scale=0.1),
                          mean=self.numbers(outputs, scale=0.1), variance=np.exp(self.numbers(outputs, scale=0.1)).astype(F))

    def relu(self, x):
        return self.layer("relu", [x])

    def relu6(self, x):
        return self.layer("relu6", [x])

    def add(self, a, b):
        return self.layer("add", [a, b])

    def concat(self, a, b):
        return self.layer("concat", [a, b])

    def pool(self, x, kernel, stride, padding=0):
        return self.layer("pool", [x], kernel=kernel, stride=stride, pad=padding)

    def average(self, x):
        return self.layer("average", [x])

    def dense(self, x, inputs, outputs):
        return self.layer("dense", [x], weights=self.numbers(outputs, inputs, scale=inputs**-0.5), bias=self.numbers(outputs, scale=0.1))

    def labels(self):
        return [f"class {index}" for index in range(self.classes)]

    def probabilities(self, x, weights=None):
        """What the network gives for one input [C, H, W], by numpy; for small ones. `weights`: those of convolutions by their output."""
        values = {"image": np.asarray(x, np.float64)}
        for kind, inputs, y, p in self.layers:
            v = values[inputs[0]]
            if kind == "conv":
                w, b = (weights or {}).get(y, (p["weights"], p["bias"]))
                assert p["groups"] == 1
                outputs, _, height, width = w.shape
                v = np.pad(v, ((0, 0), (p["pad"],) * 2, (p["pad"],) * 2))
                windows = np.lib.stride_tricks.sliding_window_view(v, (height, width), (1, 2))[:, :: p["stride"], :: p["stride"]]
                v = np.einsum("ihwab,oiab->ohw", windows, w.astype(np.float64)) + b.reshape(outputs, 1, 1)
            elif kind == "relu":
                v = np.maximum(v, 0)
            elif kind == "concat":
                v = np.concatenate([values[name] for name in inputs])
            elif kind == "pool":
                assert p["pad"] == 0
                windows = np.lib.stride_tricks.sliding_window_view(v, (p["kernel"],) * 2, (1, 2))
                v = windows[:, :: p["stride"], :: p["stride"]].max((3, 4))
            elif kind == "average":
                v = v.mean((1, 2))
            else:
                raise ValueError(kind)
            values[y] = v
        powers = np.exp(v - v.max())
        return powers / powers.sum()

    # What the formats call the same layers.

    def neural_network(self, half=False, scale=SCALE, biases=(BIAS, BIAS, BIAS), bgr=False, names=("label", "probabilities")):
        """A Core ML specification of a neuralNetworkClassifier; `half` has 16-bit weights. Biases are for red, green, blue; `names` are those
        of the outputs."""
        from coremltools.models import datatypes
        from coremltools.models.neural_network import NeuralNetworkBuilder

        builder = NeuralNetworkBuilder(
            [("image", datatypes.Array(3, self.size, self.size))], [(names[1], datatypes.Array(self.classes))], "classifier")
        for kind, inputs, y, p in self.layers:
            x = inputs[0]
            if kind == "conv":
                outputs, inner, height, width = p["weights"].shape
                pads = {f"padding_{side}": p["pad"] for side in ("top", "bottom", "left", "right")}
                builder.add_convolution(
                    y, inner, outputs, height, width, p["stride"], p["stride"], "valid", p["groups"],
                    p["weights"].transpose(2, 3, 1, 0), p["bias"], True, input_name=x, output_name=y, **pads)
            elif kind == "norm":
                builder.add_batchnorm(y, len(p["gamma"]), p["gamma"], p["beta"], p["mean"], p["variance"], x, y, epsilon=1e-3)
            elif kind == "relu":
                builder.add_activation(y, "RELU", x, y)
            elif kind == "relu6":
                # As converters wrote it: relu, then -max(-relu, -6).
                builder.add_activation(y + "a", "RELU", x, y + "a")
                builder.add_activation(y + "b", "LINEAR", y + "a", y + "b", [-1.0, 0.0])
                builder.add_unary(y + "c", y + "b", y + "c", "threshold", alpha=-6.0)
                builder.add_activation(y, "LINEAR", y + "c", y, [-1.0, 0.0])
            elif kind in ("add", "concat"):
                builder.add_elementwise(y, inputs, y, kind.upper())
            elif kind == "pool":
                pads = {f"padding_{side}": p["pad"] for side in ("top", "bottom", "left", "right")}
                builder.add_pooling(y, p["kernel"], p["kernel"], p["stride"], p["stride"], "MAX", "VALID", x, y, **pads)
            elif kind == "average":
                builder.add_pooling(y, 1, 1, 1, 1, "AVERAGE", "VALID", x, y, is_global=True)
            elif kind == "dense":
                outputs, width = p["weights"].shape
                builder.add_flatten(y + "flat", 0, x, y + "flat")
                builder.add_inner_product(y, p["weights"], p["bias"], width, outputs, True, y + "flat", y)
        last = self.layers[-1][2]
        if self.layers[-1][0] == "average":
            builder.add_flatten("flat", 0, last, "flat")
            last = "flat"
        builder.add_softmax(names[1], last, names[1])
        builder.set_class_labels(self.labels(), names[0], names[1])
        builder.set_pre_processing_parameters(
            image_input_names=["image"], is_bgr=bgr, image_scale=scale, red_bias=biases[0], green_bias=biases[1], blue_bias=biases[2])
        if not half:
            return builder.spec
        return quantized(builder.spec, 16)

    def program(self, half=False):
        """An ML Program classifier as coremltools' model, for `save`; `half` computes in 16 bits and has such weights."""
        import coremltools as ct
        from coremltools.converters.mil import Builder as mb

        @mb.program(input_specs=[mb.TensorSpec(shape=(1, 3, self.size, self.size))])
        def function(image):
            values = {"image": mb.add(x=mb.mul(x=image, y=F(SCALE)), y=F(BIAS))}
            for kind, inputs, y, p in self.layers:
                x = values[inputs[0]]
                if kind == "conv":
                    values[y] = mb.conv(
                        x=x, weight=p["weights"], bias=p["bias"], strides=[p["stride"]] * 2, groups=p["groups"], pad_type="custom",
                        pad=[p["pad"]] * 4)
                elif kind == "norm":
                    values[y] = mb.batch_norm(
                        x=x, mean=p["mean"], variance=p["variance"], gamma=p["gamma"], beta=p["beta"], epsilon=F(1e-3))
                elif kind in ("relu", "relu6"):
                    values[y] = getattr(mb, kind)(x=x)
                elif kind == "add":
                    values[y] = mb.add(x=x, y=values[inputs[1]])
                elif kind == "concat":
                    values[y] = mb.concat(values=[values[name] for name in inputs], axis=1)
                elif kind == "pool":
                    values[y] = mb.max_pool(
                        x=x, kernel_sizes=[p["kernel"]] * 2, strides=[p["stride"]] * 2, pad_type="custom", pad=[p["pad"]] * 4)
                elif kind == "average":
                    values[y] = mb.reduce_mean(x=x, axes=[2, 3], keep_dims=False)
                elif kind == "dense":
                    values[y] = mb.linear(x=x, weight=p["weights"], bias=p["bias"])
            return mb.softmax(x=values[self.layers[-1][2]], axis=-1, name="scores")

        precision = ct.precision.FLOAT16 if half else ct.precision.FLOAT32
        image = ct.ImageType(name="image", shape=(1, 3, self.size, self.size), color_layout="RGB")
        return ct.convert(
            function, convert_to="mlprogram", inputs=[image], classifier_config=ct.ClassifierConfig(self.labels()),
            compute_precision=precision, minimum_deployment_target=ct.target.iOS15, skip_model_load=True)

    def onnx(self, scales=False):
        """An ONNX model; with `scales` of pictures of 0 to 255."""
        import onnx
        from onnx import TensorProto, helper, numpy_helper

        nodes, weights = [], []

        def constant(array):
            weights.append(numpy_helper.from_array(np.asarray(array), f"w{len(weights)}"))
            return weights[-1].name

        def node(kind, inputs, output, **attributes):
            nodes.append(helper.make_node(kind, inputs, [output], **attributes))
            return output

        scaled = node("Add", [node("Mul", ["image", constant(F(SCALE))], "s0"), constant(F(BIAS))], "s1") if scales else "image"
        for kind, inputs, y, p in self.layers:
            x, *others = [scaled if name == "image" else name for name in inputs]
            if kind == "conv":
                node("Conv", [x, constant(p["weights"]), constant(p["bias"])], y, strides=[p["stride"]] * 2, pads=[p["pad"]] * 4, group=p["groups"])
            elif kind == "norm":
                node("BatchNormalization", [x] + [constant(p[name]) for name in ("gamma", "beta", "mean", "variance")], y, epsilon=1e-3)
            elif kind == "relu":
                node("Relu", [x], y)
            elif kind == "relu6":
                node("Clip", [x, constant(F(0)), constant(F(6))], y)
            elif kind == "add":
                node("Add", [x, *others], y)
            elif kind == "concat":
                node("Concat", [x, *others], y, axis=1)
            elif kind == "pool":
                node("MaxPool", [x], y, kernel_shape=[p["kernel"]] * 2, strides=[p["stride"]] * 2, pads=[p["pad"]] * 4)
            elif kind == "average":
                node("Flatten", [node("GlobalAveragePool", [x], y + "g")], y)
            elif kind == "dense":
                node("Gemm", [x, constant(p["weights"]), constant(p["bias"])], y, transB=1)
        node("Softmax", [self.layers[-1][2]], "probabilities", axis=1)
        graph = helper.make_graph(
            nodes, "network", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, self.size, self.size])],
            [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, self.classes])], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def quantized(spec, bits, mode="linear"):
    """The specification with weights as coremltools' quantization_utils writes them."""
    import contextlib
    import io

    import coremltools as ct
    from coremltools.models.neural_network import quantization_utils

    options = {}
    if mode == "kmeans":
        # The mode of that name hands coremltools 9 a table of columns, which its own protobuf does not take.
        def table(bits, weights):
            numbers, codes = quantization_utils._get_kmeans_lookup_table_and_weight(bits, weights)
            return numbers.ravel(), codes

        mode, options = "custom_lut", {"lut_function": table}
    # Without Core ML there is nothing to compile the model with; and coremltools prints what it does.
    with contextlib.redirect_stdout(io.StringIO()):
        result = quantization_utils.quantize_weights(ct.models.MLModel(spec, skip_model_load=True), bits, mode, **options)
    return result if hasattr(result, "SerializeToString") else result.get_spec()


def mobilenet_v2():
    net = Network(224, 1)
    x, channels = net.relu6(net.conv("image", 3, 32, 3, 2)), 32
    for factor, outputs, repeats, stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for index in range(repeats):
            step, wide, y = (stride if index == 0 else 1), channels * factor, x
            if factor > 1:
                y = net.relu6(net.conv(y, channels, wide, 1))
            y = net.relu6(net.conv(y, wide, wide, 3, step, groups=wide))
            y = net.conv(y, wide, outputs, 1, gain=0.5)
            x = net.add(x, y) if step == 1 and channels == outputs else y
            channels = outputs
    net.dense(net.average(net.relu6(net.conv(x, channels, 1280, 1))), 1280, 1000)
    return net


def resnet50():
    net = Network(224, 2)
    x, channels = net.pool(net.relu(net.conv("image", 3, 64, 7, 2)), 3, 2, 1), 64
    for stage, (width, repeats) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for index in range(repeats):
            step = 2 if stage > 0 and index == 0 else 1
            y = net.relu(net.conv(x, channels, width, 1, step))
            y = net.relu(net.conv(y, width, width, 3))
            # Else every block would make the values larger.
            y = net.conv(y, width, width * 4, 1, gain=0.25)
            short = net.conv(x, channels, width * 4, 1, step) if index == 0 else x
            x, channels = net.relu(net.add(short, y)), width * 4
    net.dense(net.average(x), 2048, 1000)
    return net


def squeezenet():
    net = Network(227, 3)
    x, channels = net.pool(net.relu(net.conv("image", 3, 64, 3, 2, normalized=False)), 3, 2), 64
    for index, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))):
        s = net.relu(net.conv(x, channels, squeeze, 1, normalized=False))
        x = net.concat(net.relu(net.conv(s, squeeze, expand, 1, normalized=False)), net.relu(net.conv(s, squeeze, expand, 3, normalized=False)))
        channels = expand * 2
        if index in (1, 3):
            x = net.pool(x, 3, 2)
    net.average(net.relu(net.conv(x, channels, 1000, 1, normalized=False)))
    return net


def large():
    net = Network(64, 4, classes=10)
    x, channels = net.relu(net.conv("image", 3, 256, 3, 8)), 256
    for _ in range(11):
        x, channels = net.relu(net.conv(x, channels, 512, 3)), 512
    net.dense(net.average(x), 512, 10)
    return net


NETWORKS = {"mobilenet-v2": mobilenet_v2, "resnet50": resnet50, "squeezenet": squeezenet, "large": large}
