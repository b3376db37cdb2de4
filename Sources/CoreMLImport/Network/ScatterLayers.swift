/// Layers that put elements at given places: scatter, scatterND, scatterAlongAxis; and reverseSeq.
enum ScatterLayers {
    static let table = [
        LayerTranslator(935, "scatter", scatter), LayerTranslator(945, "scatterND", scatterND),
        LayerTranslator(954, "scatterAlongAxis", scatterAlongAxis), LayerTranslator(965, "reverseSeq", reverseSequence),
    ]

    /// ScatterMode by the engine's names. What it lacks is done to the new elements first: less is more of the negative.
    private static func reduction(_ layer: Layer, _ mode: Int, _ updates: Graph.Value) throws(Problem) -> (
        String, Graph.Value
    ) {
        let graph = layer.graph
        switch mode {
        case 0: return ("none", updates)
        case 1: return ("sum", updates)
        case 2: return ("sum", graph.unary("Negative", updates))
        case 3: return ("prod", updates)
        case 4: return ("prod", try graph.divide(graph.float(1), updates))
        case 5: return ("max", updates)
        case 6: return ("min", updates)
        default: throw Problem("unknown scatter mode \(mode)")
        }
    }

    /// Places as i64; negative ones count from the end.
    private static func places(_ layer: Layer, extents: [Int?]) throws(Problem) -> Graph.Value {
        let graph = layer.graph
        let known = extents.compactMap { $0 }
        guard known.count == extents.count else { throw Problem("the first input has open extents") }
        let indices = graph.convert(try layer.array(1), to: .i64)
        let size = known.count == 1 ? graph.scalar(known[0]) : graph.integers(known)
        return try graph.select(
            graph.binary("Less", indices, graph.scalar(0)), graph.add(indices, size), indices)
    }

    private static func scattered(
        _ layer: Layer, _ value: Graph.Value, _ indices: Graph.Value, _ updates: Graph.Value, axis: Int
    ) throws(Problem) -> [Blob] {
        let (reduction, updates) = try reduction(layer, layer.parameters.integer(2), updates)
        return [
            Blob(
                layer.graph.operation(
                    "ScatterElementsUpdate", 12, [value, indices, updates, layer.graph.scalar(axis)],
                    ["reduction": .text(reduction), "use_init_val": true], shape: value.shape))
        ]
    }

    /// Slices of an axis: [D, …], places [N], slices [N, …].
    private static func scatter(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(3...3)
        let (value, updates, graph) = (try layer.array(0), try layer.array(2), layer.graph)
        let axis = try positiveAxis(layer.parameters.integer(1), rank: value.rank)
        var indices = try places(layer, extents: [value.shape[axis]])
        guard indices.rank == 1, updates.rank == value.rank else {
            throw Problem("indices \(shapeText(indices.shape)) do not match slices \(shapeText(updates.shape))")
        }
        // The same place for every element of a slice.
        indices = try graph.reshape(indices, to: (0..<value.rank).map { $0 == axis ? -1 : 1 })
        indices = graph.operation(
            "Broadcast", 3, [indices, graph.shape(of: updates)], ["mode": "numpy"], shape: updates.shape)
        return try scattered(layer, value, indices, updates, axis: axis)
    }

    private static func scatterAlongAxis(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(3...3)
        let value = try layer.array(0)
        let axis = try positiveAxis(layer.parameters.integer(1), rank: value.rank)
        let indices = try places(layer, extents: [value.shape[axis]])
        return try scattered(layer, value, indices, layer.array(2), axis: axis)
    }

    private static func scatterND(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(3...3)
        let (value, given) = (try layer.array(0), try layer.array(1))
        guard let depth = given.shape.last ?? nil, depth > 0, depth <= value.rank else {
            throw Problem("indices \(shapeText(given.shape)) do not match \(shapeText(value.shape))")
        }
        let indices = try places(layer, extents: Array(value.shape[..<depth]))
        let (reduction, updates) = try reduction(layer, layer.parameters.integer(1), layer.array(2))
        return [
            Blob(
                layer.graph.operation(
                    "ScatterNDUpdate", 15, [value, indices, updates], ["reduction": .text(reduction)],
                    shape: value.shape))
        ]
    }

    /// Turns the first elements of each sequence round; how many the second input says.
    private static func reverseSequence(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let (value, lengths) = (try layer.array(0), layer.graph.convert(try layer.array(1), to: .i64))
        let batch = try positiveAxis(layer.parameters.integer(1), rank: value.rank)
        let sequence = try positiveAxis(layer.parameters.integer(2), rank: value.rank)
        guard lengths.rank == 1, batch != sequence else {
            throw Problem(
                "sequences along axis \(sequence), of axis \(batch), with lengths \(shapeText(lengths.shape))")
        }
        return [
            Blob(
                layer.graph.operation(
                    "ReverseSequence", 1, [value, lengths],
                    ["batch_axis": .integer(batch), "seq_axis": .integer(sequence)], shape: value.shape))
        ]
    }
}
