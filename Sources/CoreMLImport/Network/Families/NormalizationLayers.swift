/// batchnorm, mvn, l2normalize, layerNormalization, softmax, softmaxND, lrn, scale, bias.
enum NormalizationLayers {
    static let table: [LayerTranslator] = [
        LayerTranslator.ofElements(160, "batchnorm", batchNorm).onChannels,
        LayerTranslator.ofElements(165, "mvn", meanVariance).onChannels,
        LayerTranslator.ofElements(170, "l2normalize") { (layer, x) throws(Problem) in
            try layer.graph.lengthNormalized(x, epsilon: epsilon(layer, 1, 1e-6))
        }.onChannels,
        LayerTranslator.ofImages(180, "lrn") { (layer, x) throws(Problem) in
            let constant = try number(layer, 4)
            return layer.graph.responseNormalized(
                x, size: try layer.size(3, "localSize"), alpha: try number(layer, 1), beta: try number(layer, 2),
                bias: constant == 0 ? 1 : constant)
        }.onChannels,
        LayerTranslator.ofElements(245, "scale") { (layer, x) throws(Problem) in
            let scaled = try layer.graph.multiply(x, broadcasting(layer, shape: 1, 2, "scale"))
            return try layer.parameters.bool(3)
                ? layer.graph.add(scaled, broadcasting(layer, shape: 4, 5, "bias")) : scaled
        }.onChannels,
        LayerTranslator.ofElements(250, "bias") { (layer, x) throws(Problem) in
            try layer.graph.add(x, broadcasting(layer, shape: 1, 2, "bias"))
        }.onChannels,
        .ofArrays(1350, "layerNormalization", layerNormalization),
        LayerTranslator.ofElements(175, "softmax") { (layer, x) throws(Problem) in
            try layer.graph.softmax(x, axis: -3)
        }.onChannels,
        .ofArrays(950, "softmaxND") { (layer, x) throws(Problem) in
            try layer.graph.softmax(x, axis: layer.parameters.integer(1))
        },
    ]

    /// A finite number.
    private static func number(_ layer: Layer, _ field: Int) throws(Problem) -> Float {
        try ActivationLayers.finite(layer.parameters.float(field))
    }

    /// An epsilon; `value` if it is unset or 0.
    private static func epsilon(_ layer: Layer, _ field: Int, _ value: Float) throws(Problem) -> Float {
        let epsilon = try number(layer, field)
        return epsilon == 0 ? value : epsilon
    }

    private static func batchNorm(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let (graph, channels) = (layer.graph, try layer.size(1, "channels"))
        guard x.rank >= 3, (x.shape[x.rank - 3] ?? channels) == channels else {
            throw Problem(
                "expected \(channels) channels, found an input of shape \(shapeText(try layer.input().shape))")
        }
        guard channels <= 1 << 20 else { throw Problem("\(channels) channels") }
        let epsilon = try epsilon(layer, 10, 1e-5)
        func numbers(_ field: Int, _ name: String, or value: Float) throws(Problem) -> [Float] {
            layer.parameters.has(field)
                ? try layer.weights(field, name, count: channels, channels: channels).floats
                : Array(repeating: value, count: channels)
        }
        let (gamma, beta) = (try numbers(15, "gamma", or: 1), try numbers(16, "beta", or: 0))
        let shape = [channels, 1, 1]
        guard try layer.parameters.bool(5) else {
            return try graph.batchNormalized(
                x, means: numbers(17, "mean", or: 0), variances: numbers(18, "variance", or: 1), gammas: gamma,
                betas: beta, epsilon: epsilon, shape: shape)
        }
        // Normalize each channel by its own mean and variance: of each picture, or of the batch.
        let isOfBatch = try !layer.parameters.bool(6) && x.rank > 3
        let value = try graph.standardized(x, axes: isOfBatch ? [-4, -2, -1] : [-2, -1], epsilon: epsilon)
        return try graph.add(
            graph.multiply(value, graph.floats(gamma, shape: shape)), graph.floats(beta, shape: shape))
    }

    private static func meanVariance(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let axes = try layer.parameters.bool(1) ? [-3, -2, -1] : [-2, -1]
        guard x.rank >= 3 else { throw Problem("the input \(shapeText(x.shape)) has fewer than 3 axes") }
        if try layer.parameters.bool(2) {
            return try layer.graph.standardized(x, axes: axes, epsilon: epsilon(layer, 3, 1e-6))
        }
        return try layer.graph.subtract(x, layer.graph.reduce(x, by: .mean, axes: axes, keepsAxes: true))
    }

    private static func layerNormalization(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let (graph, shape) = (layer.graph, try layer.shape(1, "normalizedShape"))
        guard !shape.isEmpty, shape.count <= x.rank,
            zip(x.shape.suffix(shape.count), shape).allSatisfy({ ($0 ?? $1) == $1 })
        else { throw Problem("normalizedShape is \(shape), but the input is \(shapeText(x.shape))") }
        var result = try graph.standardized(
            x, axes: (1...shape.count).map { -$0 }, epsilon: epsilon(layer, 2, 1e-5))
        if layer.parameters.has(3) { result = try graph.multiply(result, layer.constant(3, "gamma", shape: shape)) }
        if layer.parameters.has(4) { result = try graph.add(result, layer.constant(4, "beta", shape: shape)) }
        return result
    }

    /// Parameters of shape [1], [C], [1, H, W] or [C, H, W].
    private static func broadcasting(_ layer: Layer, shape field: Int, _ weights: Int, _ name: String) throws(Problem)
        -> Graph.Value
    {
        let shape = try layer.shape(field, "the shape of \(name)")
        guard shape.count == 1 || shape.count == 3 else {
            throw Problem("the shape of \(name) is \(shape): expected 1 or 3 extents")
        }
        return try layer.constant(
            weights, name, shape: shape.count == 1 ? shape + [1, 1] : shape, channels: shape[0])
    }
}
