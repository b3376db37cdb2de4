/// batchnorm, mvn, l2normalize, layerNormalization, softmax, softmaxND, lrn, scale, bias.
enum NormalizationLayers {
    static let table = [
        .onChannels(160, "batchnorm", batchNorm), .onChannels(165, "mvn", meanVariance),
        .onChannels(170, "l2normalize", l2Normalize), .onChannels(180, "lrn", localResponse),
        .onChannels(245, "scale", scale), .onChannels(250, "bias", bias),
        LayerTranslator(1350, "layerNormalization", layerNormalization),
        .onChannels(175, "softmax") { (layer) throws(Problem) in
            let blob = try layer.input()
            return [Blob(try layer.graph.softmax(blob.value, axis: -3), isFolded: blob.isFolded)]
        },
        LayerTranslator(950, "softmaxND") { (layer) throws(Problem) in
            [Blob(try layer.graph.softmax(layer.array(), axis: layer.parameters.integer(1)))]
        },
    ]

    /// An epsilon, or its default where it is unset or 0.
    private static func epsilon(_ layer: Layer, _ field: Int, _ value: Float) throws(Problem) -> Float {
        let epsilon = try ActivationLayers.finite(layer.parameters.float(field))
        return epsilon == 0 ? value : epsilon
    }

    /// Folded to one product and one sum per channel.
    private static func batchNorm(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (blob, graph) = (try layer.input(), layer.graph)
        let channels = try layer.size(1, "channels")
        guard blob.value.rank >= 3, (blob.value.shape[blob.value.rank - 3] ?? channels) == channels else {
            throw Problem("expected \(channels) channels, found an input of shape \(shapeText(blob.shape))")
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
        var value = blob.value
        if try layer.parameters.bool(5) {
            // Each channel by its own mean and variance: of the one picture, or of the batch.
            var axes = [-2, -1]
            if try !layer.parameters.bool(6) { axes += value.rank > 3 ? [-4] : [] }
            value = try standardized(graph, value, axes: axes, epsilon: epsilon)
            value = try graph.multiply(value, graph.floats(gamma, shape: shape))
            return [Blob(try graph.add(value, graph.floats(beta, shape: shape)), isFolded: blob.isFolded)]
        }
        let (mean, variance) = (try numbers(17, "mean", or: 0), try numbers(18, "variance", or: 1))
        let factors = zip(gamma, variance).map { $0 / ($1 + epsilon).squareRoot() }
        let summands = zip(beta, zip(mean, factors)).map { $0 - $1.0 * $1.1 }
        value = try graph.multiply(value, graph.floats(factors, shape: shape))
        return [Blob(try graph.add(value, graph.floats(summands, shape: shape)), isFolded: blob.isFolded)]
    }

    /// (x - mean) / √(variance + epsilon) over axes.
    private static func standardized(_ graph: GraphBuilder, _ value: Graph.Value, axes: [Int], epsilon: Float)
        throws(Problem) -> Graph.Value
    {
        var places: [Int] = []
        for axis in axes { places.append(try positiveAxis(axis, rank: value.rank)) }
        return graph.operation(
            "MVN", 6, [value, graph.integers(places.sorted())],
            ["normalize_variance": true, "eps": .float(epsilon), "eps_mode": "inside_sqrt"], shape: value.shape)
    }

    private static func meanVariance(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (blob, graph) = (try layer.input(), layer.graph)
        let axes = try layer.parameters.bool(1) ? [-3, -2, -1] : [-2, -1]
        guard blob.value.rank >= 3 else { throw Problem("the input \(shapeText(blob.shape)) has fewer than 3 axes") }
        if try layer.parameters.bool(2) {
            let value = try standardized(graph, blob.value, axes: axes, epsilon: epsilon(layer, 3, 1e-6))
            return [Blob(value, isFolded: blob.isFolded)]
        }
        let mean = try graph.reduce("ReduceMean", blob.value, axes: axes, keepsAxes: true)
        return [Blob(try graph.subtract(blob.value, mean), isFolded: blob.isFolded)]
    }

    private static func l2Normalize(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (blob, graph) = (try layer.input(), layer.graph)
        let squares = try graph.reduce(
            "ReduceSum", graph.multiply(blob.value, blob.value), axes: [-3, -2, -1], keepsAxes: true)
        let length = graph.unary("Sqrt", try graph.add(squares, graph.float(epsilon(layer, 1, 1e-6))))
        return [Blob(try graph.divide(blob.value, length), isFolded: blob.isFolded)]
    }

    private static func layerNormalization(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, graph) = (try layer.array(), layer.graph)
        let shape = try layer.shape(1, "normalizedShape")
        guard !shape.isEmpty, shape.count <= value.rank,
            zip(value.shape.suffix(shape.count), shape).allSatisfy({ ($0 ?? $1) == $1 })
        else { throw Problem("normalizedShape is \(shape), but the input is \(shapeText(value.shape))") }
        let axes = (1...shape.count).map { -$0 }
        var result = try standardized(graph, value, axes: axes, epsilon: epsilon(layer, 2, 1e-5))
        if layer.parameters.has(3) { result = try graph.multiply(result, layer.constant(3, "gamma", shape: shape)) }
        if layer.parameters.has(4) { result = try graph.add(result, layer.constant(4, "beta", shape: shape)) }
        return [Blob(result)]
    }

    private static func localResponse(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        let constant = try layer.parameters.float(4)
        let result = layer.graph.operation(
            "LRN", 1, [value, layer.graph.integers([1])],
            [
                "alpha": .float(try ActivationLayers.finite(layer.parameters.float(1))),
                "beta": .float(try ActivationLayers.finite(layer.parameters.float(2))),
                "bias": .float(try ActivationLayers.finite(constant == 0 ? 1 : constant)),
                "size": .integer(try layer.size(3, "localSize")),
            ], shape: value.shape)
        return [try back(result)]
    }

    /// Numbers of the shape [1], [C], [1, H, W] or [C, H, W].
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

    private static func scale(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let blob = try layer.input()
        var value = try layer.graph.multiply(blob.value, broadcasting(layer, shape: 1, 2, "scale"))
        if try layer.parameters.bool(3) {
            value = try layer.graph.add(value, broadcasting(layer, shape: 4, 5, "bias"))
        }
        return [Blob(value, isFolded: blob.isFolded)]
    }

    private static func bias(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let blob = try layer.input()
        let value = try layer.graph.add(blob.value, broadcasting(layer, shape: 1, 2, "bias"))
        return [Blob(value, isFolded: blob.isFolded)]
    }
}
