/// The common part of the recurrent layers: sequences, states, gates, and repeating steps.
struct Recurrence {
    let layer: Layer
    let graph: GraphBuilder
    let inputSize: Int
    let outputSize: Int
    /// [Seq, B, inputSize].
    let sequence: Graph.Value
    private let isFolded: Bool

    init(_ layer: Layer) throws(Problem) {
        self.layer = layer
        graph = layer.graph
        inputSize = try layer.size(1, "inputVectorSize")
        outputSize = try layer.size(2, "outputVectorSize")
        let blob = try layer.input()
        isFolded = blob.isFolded
        let step = blob.shape.dropFirst(2).compactMap { $0 }
        guard blob.rank == 5, let batch = blob.shape[1], step.count == 3, elementCount(step) == inputSize else {
            throw Problem("the input \(shapeText(blob.shape)): expected a sequence [Seq, B, \(inputSize), 1, 1]")
        }
        let length = blob.shape[0] ?? 1
        guard length > 0, batch > 0, batch <= 1 << 16 else {
            throw Problem("unsupported: \(batch) sequences of \(length) steps")
        }
        // 0 keeps an extent, whatever it is.
        sequence = try graph.reshape(blob.value, to: [blob.shape[0] ?? 0, batch, inputSize])
    }

    /// The steps of the sequence; nil where each request says how many there are.
    var steps: Int? { sequence.shape[0] }
    var batch: Int { sequence.shape[1] ?? 1 }

    /// The state [B, outputSize] that an input gives; zeros where it is left out.
    func state(_ index: Int) throws(Problem) -> Graph.Value {
        if index < layer.inputs.count {
            return try located("input \(index)") { () throws(Problem) in
                try graph.reshape(layer.input(index).value, to: [batch, outputSize])
            }
        }
        return graph.broadcast(graph.float(0), to: [batch, outputSize])
    }

    /// [Seq, B, size] as a blob.
    func blob(_ value: Graph.Value, size: Int) throws(Problem) -> Blob {
        let length = value.shape[0] ?? 0
        return isFolded
            ? Blob(try graph.reshape(value, to: [length, size, 1, 1]), isFolded: true)
            : Blob(try graph.reshape(value, to: [length, batch, size, 1, 1]))
    }

    /// A state [B, outputSize] as a blob.
    func blob(state: Graph.Value) throws(Problem) -> Blob {
        try blob(graph.unsqueeze(state, [0]), size: outputSize)
    }

    /// Matrices of several gates, one above the other.
    func stacked(_ message: Message, _ fields: [Int], _ name: String, columns: Int?) throws(Problem) -> Graph.Value {
        var parts: [Graph.Value] = []
        for field in fields { parts.append(try numbers(message, field, name, columns: columns)) }
        return try graph.concat(parts, axis: 0)
    }

    /// A matrix of `columns`, or a list without them, for one gate.
    func numbers(_ message: Message, _ field: Int, _ name: String, columns: Int?) throws(Problem) -> Graph.Value {
        let shape = [outputSize] + (columns.map { [$0] } ?? [])
        return try located(name) { () throws(Problem) in
            guard let count = elementCount(shape) else { throw Problem("too many numbers") }
            let weights = try WeightParameters(message.message(field), count: count, channels: outputSize)
            return try graph.floats(weights.type, shape: shape, bytes: weights.bytes)
        }
    }

    /// The activations of a layer, checked; `defaults` are fields of ActivationParams.
    static func activations(_ messages: [Message], count: Int) throws(Problem) -> [Message] {
        guard messages.count == count else {
            throw Problem("expected \(count) activations, found \(messages.count)")
        }
        return messages
    }

    /// True if activations are those fields of ActivationParams: the engine's own operations take sigmoid and tanh. For these,
    /// limiting what goes in to ±50 changes nothing.
    static func are(_ activations: [Message], _ fields: [Int]) -> Bool {
        zip(activations, fields).allSatisfy { message, field in message.fields.last?.number == field }
    }

    /// An activation of a value that is limited to ±50 first.
    static func activate(_ activation: Message, _ value: Graph.Value, _ graph: GraphBuilder) throws(Problem)
        -> Graph.Value
    {
        try apply(activation, to: graph.clamp(value, from: -50, to: 50), graph)
    }

    /// An activation of a recurrent layer. Files leave out its numbers, and mean the usual ones: coremltools compares with a scaled tanh
    /// that is tanh, and a linear function that is x (converters/mil/mil/ops/tests/iOS14/test_recurrent.py, `test_numpy_numerical`,
    /// "standard default values").
    static func apply(_ activation: Message, to value: Graph.Value, _ graph: GraphBuilder) throws(Problem)
        -> Graph.Value
    {
        guard let field = activation.fields.last, try field.message().fields.isEmpty else {
            return try ActivationLayers.apply(activation, to: value, graph)
        }
        switch field.number {
        case 5: return value
        case 31: return graph.unary("Tanh", value)
        case 41: return try graph.clamp(graph.shifted(graph.scaled(value, by: 0.2), by: 0.5), from: 0, to: 1)
        default: return try ActivationLayers.apply(activation, to: value, graph)
        }
    }

    /// One of the engine's sequence operations, forward over `sequence`. `states` are [B, outputSize]; the weights are those of one
    /// direction. Gives [Seq, B, outputSize] and the last states.
    func run(
        _ type: String, over sequence: Graph.Value, states: [Graph.Value], weights: [Graph.Value],
        _ attributes: [(key: String, value: Graph.Attribute)]
    ) throws(Problem) -> (outputs: Graph.Value, states: [Graph.Value]) {
        var inputs = [try graph.transpose(sequence, [1, 0, 2])]
        for state in states { inputs.append(try graph.unsqueeze(state, [1])) }
        inputs.append(try lengths())
        for weight in weights { inputs.append(try graph.unsqueeze(weight, [0])) }
        var outputs: [(type: Graph.ElementType, shape: [Int?])] = [(.f32, [batch, 1, steps, outputSize])]
        for _ in states { outputs.append((.f32, [batch, 1, outputSize])) }
        let common: [(key: String, value: Graph.Attribute)] = [
            ("hidden_size", .integer(outputSize)), ("direction", "forward"),
        ]
        let results = graph.nodes(type, 5, inputs, common + attributes, outputs: outputs)
        let all = try graph.transpose(graph.squeeze(results[0], [1]), [1, 0, 2])
        var last: [Graph.Value] = []
        for result in results.dropFirst() { last.append(try graph.squeeze(result, [1])) }
        return (all, last)
    }

    /// The steps of each sequence of the batch: all of them.
    private func lengths() throws(Problem) -> Graph.Value {
        if let steps { return graph.integers(Array(repeating: steps, count: batch)) }
        let length = try graph.gather(graph.shape(of: sequence), graph.integers([0]), axis: 0)
        return graph.broadcast(length, to: [batch])
    }

    /// The outputs that the layer asks for: all steps, or the last state alone.
    func selected(_ outputs: Graph.Value, _ last: Graph.Value, all: Bool) throws(Problem) -> Graph.Value {
        all ? outputs : try graph.unsqueeze(last, [0])
    }
}
