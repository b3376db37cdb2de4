/// activation, and the activations that are separate layers: clip, clampedReLU, gelu.
enum ActivationLayers {
    static let table = [
        LayerTranslator(130, "activation") { (layer) throws(Problem) in
            try layer.expectInputs(1...1)
            // PReLU and the parametric softplus may have a number for each channel.
            let isPerChannel = layer.parameters.fields.contains { $0.number == 25 || $0.number == 71 }
            return try isPerChannel ? layer.onChannels(applied) : applied(layer)
        },
        LayerTranslator(660, "clip") { (layer) throws(Problem) in
            let blob = try layer.input()
            let clipped = try layer.graph.clamp(
                blob.value, from: layer.parameters.float(1), to: layer.parameters.float(2))
            return [Blob(clipped, isFolded: blob.isFolded)]
        },
        LayerTranslator(795, "gelu", gelu), LayerTranslator(1460, "clampedReLU", clampedReLU),
    ]

    private static func applied(_ layer: Layer) throws(Problem) -> [Blob] {
        let blob = try layer.input()
        return [Blob(try apply(layer.parameters, to: blob.value, layer.graph), isFolded: blob.isFolded)]
    }

    /// ActivationParams: the function that it names, of every element. Parameters by channel go along axis -3. Numbers that the file leaves
    /// out are 0, as everywhere in NeuralNetwork.proto (proto3): coremltools' builder writes its own defaults
    /// (models/neural_network/builder.py, `add_activation`), of which those that are 0 are not in the file.
    static func apply(_ activation: Message, to value: Graph.Value, _ graph: GraphBuilder) throws(Problem)
        -> Graph.Value
    {
        guard let field = activation.fields.last(where: { (5...71).contains($0.number) }) else {
            throw Problem("the activation has no function")
        }
        let function = try field.message()
        switch field.number {
        case 5: return try linear(function, value, graph)
        case 10: return graph.unary("Relu", value)
        case 15:
            return graph.operation(
                "PRelu", 1, [value, graph.floats([try function.float(1)])], shape: value.shape)
        case 20:
            // x where x ≥ alpha, else 0.
            let threshold = graph.float(try function.float(1))
            return try graph.select(
                graph.binary("GreaterEqual", 1, value, threshold), value, graph.float(0))
        case 25:
            let slope = try perChannel(function, 1, "alpha", value, graph)
            if value.rank == 4 {
                // The engine's own operation takes slopes along axis 1.
                let slopes = try graph.reshape(slope, to: [-1])
                return graph.operation("PRelu", 1, [value, slopes], shape: value.shape)
            }
            let negative = try graph.multiply(graph.binary("Minimum", 1, value, graph.float(0)), slope)
            return try graph.add(graph.unary("Relu", value), negative)
        case 30: return graph.unary("Tanh", value)
        case 31:
            let scaled = try graph.scaled(value, by: function.float(2))
            return try graph.scaled(graph.unary("Tanh", scaled), by: function.float(1))
        case 40: return graph.unary("Sigmoid", value)
        case 41: return try graph.clamp(linear(function, value, graph), from: 0, to: 1)
        case 50: return graph.unary("Elu", value, ["alpha": .float(try finite(function.float(1)))])
        case 60: return graph.unary("SoftSign", 9, value)
        case 70: return graph.unary("SoftPlus", 4, value)
        case 71:
            let (alpha, beta) = (
                try perChannel(function, 1, "alpha", value, graph), try perChannel(function, 2, "beta", value, graph)
            )
            return try graph.multiply(graph.unary("SoftPlus", 4, graph.multiply(value, beta)), alpha)
        default: throw Problem("unknown activation \(field.number)")
        }
    }

    private static func linear(_ function: Message, _ value: Graph.Value, _ graph: GraphBuilder) throws(Problem)
        -> Graph.Value
    {
        let (factor, summand) = (try function.float(1), try function.float(2))
        if factor == -1, summand == 0, let limited = try limitedReLU(value, graph) { return limited }
        return try graph.shifted(graph.scaled(value, by: factor), by: summand)
    }

    /// -max(-relu(x), -limit), which converters write for ReLU6, where `value` is the maximum. The engine joins a Clamp with the
    /// convolution before it, and not these four operations.
    private static func limitedReLU(_ value: Graph.Value, _ graph: GraphBuilder) throws(Problem) -> Graph.Value? {
        let maximum = graph.graph.nodes[value.node]
        guard maximum.type == "Maximum", let negative = maximum.inputs.first, let bound = maximum.inputs.last,
            let limit = graph.numbers(of: bound), limit.count == 1, limit[0] <= 0
        else { return nil }
        let product = graph.graph.nodes[negative.node]
        guard product.type == "Multiply", let relu = product.inputs.first, let factor = product.inputs.last,
            graph.numbers(of: factor) == [-1], graph.graph.nodes[relu.node].type == "Relu",
            let input = graph.graph.nodes[relu.node].inputs.first
        else { return nil }
        return try graph.clamp(input, from: 0, to: Float(-limit[0]))
    }

    static func finite(_ number: Float) throws(Problem) -> Float {
        guard number.isFinite else { throw Problem("the parameter \(number) is not finite") }
        return number
    }

    /// A parameter of one number, or of one a channel.
    private static func perChannel(
        _ function: Message, _ field: Int, _ name: String, _ value: Graph.Value, _ graph: GraphBuilder
    ) throws(Problem) -> Graph.Value {
        let message = try function.message(field)
        let given = try message?.packed(1, width: 4).count ?? 0
        if given == 4 { return graph.float(try message?.floats(1).first ?? 0) }
        guard value.rank >= 3, let channels = value.shape[value.rank - 3] else {
            throw Problem("\(name) per channel, but the channels of \(shapeText(value.shape)) are unknown")
        }
        let weights = try located(name) { () throws(Problem) in
            try WeightParameters(message, count: channels, channels: channels)
        }
        return try graph.floats(weights.type, shape: [channels, 1, 1], bytes: weights.bytes)
    }

    /// relu(x) up to `beta`; `alpha` is the slope below 0.
    private static func clampedReLU(_ layer: Layer) throws(Problem) -> [Blob] {
        let (blob, graph) = (try layer.input(), layer.graph)
        let slope = graph.floats([try layer.parameters.float(1)])
        let leaky = graph.operation("PRelu", 1, [blob.value, slope], shape: blob.value.shape)
        let limited = try graph.binary("Minimum", 1, leaky, graph.float(layer.parameters.float(2)))
        return [Blob(limited, isFolded: blob.isFolded)]
    }

    private static func gelu(_ layer: Layer) throws(Problem) -> [Blob] {
        let (blob, graph) = (try layer.input(), layer.graph)
        let result: Graph.Value
        switch try layer.parameters.integer(1) {
        case 0: result = graph.unary("Gelu", 7, blob.value, ["approximation_mode": "ERF"])
        case 1: result = graph.unary("Gelu", 7, blob.value, ["approximation_mode": "TANH"])
        case 2:
            let gate = graph.unary("Sigmoid", try graph.scaled(blob.value, by: 1.702))
            result = try graph.multiply(blob.value, gate)
        case let mode: throw Problem("unknown gelu mode \(mode)")
        }
        return [Blob(result, isFolded: blob.isFolded)]
    }
}
