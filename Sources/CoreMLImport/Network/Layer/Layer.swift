/// A layer during translation: its parameters, its inputs, and the graph.
struct Layer {
    let graph: GraphBuilder
    let parameters: Message
    let inputs: [Blob]
    let outputCount: Int

    /// Throws unless the number of inputs is in `counts`.
    func expectInputs(_ counts: ClosedRange<Int>) throws(Problem) {
        guard counts.contains(inputs.count) else {
            let expected = counts.count == 1 ? "\(counts.lowerBound)" : "\(counts.lowerBound) to \(counts.upperBound)"
            throw Problem("expected \(expected) inputs, found \(inputs.count)")
        }
    }

    func input(_ index: Int = 0) throws(Problem) -> Blob {
        guard index < inputs.count else { throw Problem("input \(index) is missing") }
        return inputs[index]
    }

    /// An input with all of its axes (not folded).
    func array(_ index: Int = 0) throws(Problem) -> Graph.Value { try unfolded(input(index)) }

    /// All inputs with all of their axes (not folded); at least one.
    func arrays() throws(Problem) -> [Graph.Value] {
        guard !inputs.isEmpty else { throw Problem("the layer has no input") }
        var values: [Graph.Value] = []
        for blob in inputs { values.append(try unfolded(blob)) }
        return values
    }

    /// An input that is a shape: as a list of i64, and its numbers as far as they are known. Converters also write it
    /// with extra axes of extent 1.
    func targetShape(_ index: Int = 0) throws(Problem) -> (list: Graph.Value, shape: [Int?]) {
        let given = try array(index)
        guard let rank = given.staticShape.flatMap(elementCount), rank <= 8 else {
            throw Problem("expected a list as the target shape, found a tensor of shape \(shapeText(given.shape))")
        }
        let list = graph.convert(try graph.reshape(given, to: [rank]), to: .i64)
        let known = graph.integers(of: list).flatMap { $0.allSatisfy { $0 >= 0 } ? $0 : nil }
        return (list, known ?? [Int?](repeating: nil, count: rank))
    }

    func unfolded(_ blob: Blob) throws(Problem) -> Graph.Value {
        blob.isFolded ? try graph.unsqueeze(blob.value, [1]) : blob.value
    }

    /// An input of at least three axes as [N, C, H, W], and a function that restores the axes of the result.
    func spatial(_ index: Int = 0) throws(Problem) -> (value: Graph.Value, back: (Graph.Value) throws(Problem) -> Blob)
    {
        let blob = try input(index)
        let (value, shape) = (blob.value, blob.value.shape)
        let graph = graph
        switch value.rank {
        case 4:
            let folded = blob.isFolded
            return (value, { (result: Graph.Value) throws(Problem) in Blob(result, isFolded: folded) })
        case 3:
            return (
                try graph.unsqueeze(value, [0]),
                { (result: Graph.Value) throws(Problem) in Blob(try graph.squeeze(result, [0])) }
            )
        case 5 where shape[1] == 1:
            return (
                try graph.squeeze(value, [1]), { (result: Graph.Value) throws(Problem) in Blob(result, isFolded: true) }
            )
        case 5...:
            let leading = shape.count - 3
            let known = shape.dropFirst(leading).compactMap { $0 }
            let before = shape.prefix(leading).compactMap { $0 }
            guard known.count == 3, before.count == leading else {
                throw Problem("unsupported open extents of a value with \(value.rank) axes: \(shapeText(shape))")
            }
            return (
                try graph.reshape(value, to: [-1] + known),
                { (result: Graph.Value) throws(Problem) in
                    guard let extents = result.staticShape else {
                        throw Problem("unsupported open extents of a value with \(value.rank) axes")
                    }
                    return Blob(try graph.reshape(result, to: before + extents.dropFirst()))
                }
            )
        default:
            throw Problem("the input \(shapeText(blob.shape)) has \(value.rank) axes: expected at least 3")
        }
    }

    /// Translates a layer that acts on channels (axis -3). If its inputs have one or two axes, as `innerProduct`
    /// returns, the last axis has the channels: [C] and [N, C] become [C, 1, 1] and [N, C, 1, 1]. NeuralNetwork.proto
    /// requires three axes, but coremltools itself writes networks with fewer (test/pipeline/test_model_updatable.py:
    /// `softmax` of three numbers).
    func onChannels(_ translate: (Layer) throws(Problem) -> [Blob]) throws(Problem) -> [Blob] {
        guard let rank = inputs.map(\.value.rank).max(), (1..<3).contains(rank),
            inputs.allSatisfy({ $0.value.rank == rank })
        else { return try translate(self) }
        var extended: [Blob] = []
        for blob in inputs { extended.append(Blob(try graph.unsqueeze(blob.value, [-2, -1]))) }
        var results: [Blob] = []
        for blob in try translate(
            Layer(graph: graph, parameters: parameters, inputs: extended, outputCount: outputCount))
        {
            results.append(Blob(try graph.squeeze(blob.value, [-2, -1])))
        }
        return results
    }

    /// All inputs in the same form: folded if all are, else with all of their axes.
    func alike() throws(Problem) -> (values: [Graph.Value], isFolded: Bool) {
        let folded = inputs.allSatisfy { $0.isFolded }
        return (folded ? inputs.map(\.value) : try arrays(), folded)
    }

    func weights(_ field: Int, _ name: String, count: Int?, channels: Int = 1, perChannel: Int? = nil) throws(Problem)
        -> WeightParameters
    {
        guard let count else { throw Problem("the number of \(name) is too large for a file") }
        return try located(name) { () throws(Problem) in
            try WeightParameters(parameters.message(field), count: count, channels: channels, perChannel: perChannel)
        }
    }

    /// The weights in a field, as a constant of floats.
    func constant(_ field: Int, _ name: String, shape: [Int], channels: Int = 1, perChannel: Int? = nil) throws(Problem)
        -> Graph.Value
    {
        let weights = try weights(
            field, name, count: elementCount(shape), channels: channels, perChannel: perChannel)
        return try graph.floats(weights.type, shape: shape, bytes: weights.bytes)
    }

    /// A positive number in a field: an extent, a size.
    func size(_ field: Int, _ name: String, default value: Int? = nil) throws(Problem) -> Int {
        let size = try parameters.integer(field)
        if size == 0, let value { return value }
        guard size > 0, size <= Int(Int32.max) else { throw Problem("\(name) is \(size)") }
        return size
    }

    /// Positive numbers for three axes, in consecutive fields.
    func triple(_ field: Int, _ name: String, default value: Int) throws(Problem) -> [Int] {
        [
            try size(field, name, default: value), try size(field + 1, name, default: value),
            try size(field + 2, name, default: value),
        ]
    }

    /// A list of positive numbers in a field, as long as `values`, which is the default.
    func sizes(_ field: Int, _ name: String, default values: [Int]) throws(Problem) -> [Int] {
        let sizes = try parameters.integers(field)
        if sizes.isEmpty { return values }
        guard sizes.count == values.count, sizes.allSatisfy({ $0 > 0 && $0 <= 1 << 24 }) else {
            throw Problem("\(name) is \(sizes): expected \(values.count) positive numbers")
        }
        return sizes
    }

    func shape(_ field: Int, _ name: String) throws(Problem) -> [Int] {
        let shape = try parameters.integers(field)
        guard shape.count <= 8, shape.allSatisfy({ $0 > 0 && $0 <= Int(Int32.max) }) else {
            throw Problem("\(name) is \(shape)")
        }
        return shape
    }
}
