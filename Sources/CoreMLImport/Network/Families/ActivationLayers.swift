/// activation, and the activations that are separate layers: clip, clampedReLU, gelu.
enum ActivationLayers {
    static let table: [LayerTranslator] = [
        LayerTranslator(130, "activation") { (layer) throws(Problem) in
            let translator = LayerTranslator.ofElements(130, "activation") { (layer, x) throws(Problem) in
                try apply(layer.parameters, to: x, layer.graph)
            }
            // PReLU and the parametric softplus may have a parameter for each channel.
            let isPerChannel = layer.parameters.fields.contains { $0.number == 25 || $0.number == 71 }
            return try (isPerChannel ? translator.onChannels : translator).translate(layer)
        },
        .ofElements(660, "clip") { (layer, x) throws(Problem) in
            try layer.graph.clamp(x, from: layer.parameters.float(1), to: layer.parameters.float(2))
        },
        .ofElements(795, "gelu") { (layer, x) throws(Problem) in
            let mode = try layer.parameters.integer(1)
            guard let way = GraphBuilder.Gelu(rawValue: mode) else { throw Problem("unknown gelu mode \(mode)") }
            return try layer.graph.gelu(x, way)
        },
        .ofElements(1460, "clampedReLU") { (layer, x) throws(Problem) in
            try layer.graph.clampedReLU(x, slope: layer.parameters.float(1), limit: layer.parameters.float(2))
        },
    ]

    /// Applies the function of an ActivationParams to every element. Parameters by channel go along axis -3. Omitted
    /// numbers are 0, as everywhere in NeuralNetwork.proto (proto3): coremltools' builder writes its own defaults
    /// (models/neural_network/builder.py, `add_activation`), except those that are 0.
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
        case 15: return graph.leakyReLU(value, slope: graph.floats([try function.float(1)]))
        case 20: return try graph.thresholdedReLU(value, threshold: function.float(1))
        case 25:
            let slope = try perChannel(function, 1, "alpha", value, graph)
            if value.rank == 4 {
                // The engine's operation expects slopes along axis 1.
                return graph.leakyReLU(value, slope: try graph.reshape(slope, to: [-1]))
            }
            let negative = try graph.multiply(graph.binary("Minimum", 1, value, graph.float(0)), slope)
            return try graph.add(graph.unary("Relu", value), negative)
        case 30: return graph.unary("Tanh", value)
        case 31: return try graph.scaledTanh(value, alpha: function.float(1), beta: function.float(2))
        case 40: return graph.unary("Sigmoid", value)
        case 41: return graph.hardSigmoid(value, alpha: try function.float(1), beta: try function.float(2))
        case 50: return graph.unary("Elu", value, ["alpha": .float(try finite(function.float(1)))])
        case 60: return graph.unary("SoftSign", 9, value)
        case 70: return graph.unary("SoftPlus", 4, value)
        case 71:
            return try graph.softplus(
                value, alpha: perChannel(function, 1, "alpha", value, graph),
                beta: perChannel(function, 2, "beta", value, graph))
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

    /// ReLU6, which converters write as -max(-relu(x), -limit); `value` is the maximum. The engine fuses a Clamp with
    /// the convolution before it, but not these four operations.
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

    /// A parameter with one number, or one for each channel.
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
}
