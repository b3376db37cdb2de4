"""Small networks of SqueezeNet's shape, as published ones are: weights of 16 bits, tables of 8, 6 and 4 bits, linear ones of 8 bits;
scale 1 and biases that add ImageNet's mean where they should subtract it.

coremltools' quantization_utils writes the weights. What they stand for is read off the file again with numpy, bit by bit, and the answers
are numpy's.
"""
import numpy as np

from .full_size import Network, quantized

# By name: bits, and quantization_utils' mode.
FORMS = {"squeeze_f16": (16, "linear"), "squeeze_lut8": (8, "kmeans"), "squeeze_lut6": (6, "kmeans"), "squeeze_lut4": (4, "kmeans"),
         "squeeze_linear8": (8, "linear"), "squeeze_symmetric8": (8, "linear_symmetric")}
LABELS = ["tench", "goldfish", "great white shark", "tiger shark", "hammerhead"]
# As in the example of docs/core-ml.md.
NAMES = ("classLabel", "classLabelProbs")
MEAN = (123.0, 117.0, 104.0)
SIZE = 32


def network():
    net = Network(SIZE, 1602, classes=len(LABELS))
    net.labels = lambda: LABELS

    def conv(x, *rest, **more):
        # Pixels are large numbers: the first layer makes them small ones.
        return net.relu(net.conv(x, *rest, normalized=False, **more))

    x = net.pool(conv("image", 3, 8, 3, 2), 3, 2)
    net.layers[0][3]["weights"] *= 0.01
    for squeeze, channels in ((4, 8), (4, 16)):
        s = conv(x, channels, squeeze, 1)
        x = net.concat(conv(s, squeeze, 8, 1), conv(s, squeeze, 8, 3))
    net.average(conv(x, 16, len(LABELS), 1))
    return net


def unpacked(weights, shape):
    """The numbers of WeightParams as floats; scales and biases go with the first axis."""
    count = int(np.prod(shape))
    if weights.float16Value:
        return np.frombuffer(weights.float16Value, np.float16).astype(np.float64).reshape(shape)
    if not weights.rawValue:
        return np.array(weights.floatValue).reshape(shape)
    bits, quantization = weights.quantization.numberOfBits, weights.quantization
    stream = np.unpackbits(np.frombuffer(weights.rawValue, np.uint8))[: count * bits].reshape(count, bits)
    codes = stream @ (1 << np.arange(bits)[::-1])
    if quantization.HasField("lookupTableQuantization"):
        return np.array(quantization.lookupTableQuantization.floatValue)[codes].reshape(shape)
    rows = codes.reshape(shape[0], -1) if len(quantization.linearQuantization.scale) > 1 else codes.reshape(1, -1)
    scale, bias = (np.array(values).reshape(-1, 1) for values in (quantization.linearQuantization.scale, quantization.linearQuantization.bias))
    return (rows * scale + bias).reshape(shape)


def picture():
    """32 by 32 pixels in blocks of four."""
    blocks = np.random.default_rng(16).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return blocks.repeat(4, 0).repeat(4, 1)


def make():
    """Specifications by name, and for each the probabilities of `picture()` as the file says and with the mean subtracted."""
    specs, answers = {}, {}
    net = network()
    for name, (bits, mode) in FORMS.items():
        spec = quantized(net.neural_network(scale=1, biases=MEAN, bgr=True, names=NAMES), bits, mode)
        convolutions = [layer for layer in spec.neuralNetworkClassifier.layers if layer.HasField("convolution")]
        weights = {}
        for (_, _, y, p), layer in zip([layer for layer in net.layers if layer[0] == "conv"], convolutions):
            assert layer.output[0] == y
            shape = p["weights"].shape
            weights[y] = (unpacked(layer.convolution.weights, shape), unpacked(layer.convolution.bias, (shape[0],)))
        specs[name] = spec
        pixels = picture()[..., ::-1].transpose(2, 0, 1).astype(np.float64)
        mean = np.array(MEAN[::-1]).reshape(3, 1, 1)
        answers[name] = {
            kind: dict(zip(LABELS, net.probabilities(x, weights).tolist()))
            for kind, x in (("written", pixels + mean), ("subtracted", pixels - mean))}
    return specs, answers
