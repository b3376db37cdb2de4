/// Layers that find and place elements: gather…, scatter…, topK, argMax, argMin, argSort, oneHot, cumSum, and the parts
/// of matrices. Indices are floats.
enum SelectionLayers {
    static let table: [LayerTranslator] = [
        .ofArrays(930, "gather", inputs: 2...2) { (layer, x) throws(Problem) in
            try layer.graph.gather(x, indices(layer), axis: layer.parameters.integer(1))
        },
        .ofArrays(940, "gatherND", inputs: 2...2) { (layer, x) throws(Problem) in
            try layer.graph.gatherND(x, indices(layer))
        },
        .ofArrays(952, "gatherAlongAxis", inputs: 2...2) { (layer, x) throws(Problem) in
            try layer.graph.gatherAlongAxis(x, indices(layer), axis: layer.parameters.integer(1))
        },
        .ofArrays(935, "scatter", inputs: 3...3) { (layer, x) throws(Problem) in
            try layer.graph.scatter(
                x, indices(layer), layer.array(2), axis: layer.parameters.integer(1), mode(layer, 2))
        },
        .ofArrays(945, "scatterND", inputs: 3...3) { (layer, x) throws(Problem) in
            try layer.graph.scatterND(x, indices(layer), layer.array(2), mode(layer, 1))
        },
        .ofArrays(954, "scatterAlongAxis", inputs: 3...3) { (layer, x) throws(Problem) in
            try layer.graph.scatterAlongAxis(
                x, indices(layer), layer.array(2), axis: layer.parameters.integer(1), mode(layer, 2))
        },
        .ofArrays(965, "reverseSeq", inputs: 2...2) { (layer, x) throws(Problem) in
            try layer.graph.reverseSequence(
                x, lengths: indices(layer), batchAxis: layer.parameters.integer(1),
                sequenceAxis: layer.parameters.integer(2))
        },
        LayerTranslator(1015, "topK", topK),
        .ofArrays(1020, "argMin") { (layer, x) throws(Problem) in try argument(layer, x, largest: false) },
        .ofArrays(1025, "argMax") { (layer, x) throws(Problem) in try argument(layer, x, largest: true) },
        .ofArrays(1461, "argSort") { (layer, x) throws(Problem) in
            let places = try layer.graph.order(
                of: x, axis: layer.parameters.integer(1), largestFirst: layer.parameters.bool(2))
            return layer.graph.convert(places, to: .f32)
        },
        .ofArrays(1450, "oneHot", inputs: 1...2) { (layer, x) throws(Problem) in
            let (size, known) = try size(layer, 1, "oneHotVectorSize")
            return try layer.graph.oneHot(
                x, size: size, known: known,
                axis: layer.parameters.integer(2, default: 0), on: layer.graph.float(layer.parameters.float(3)),
                off: layer.graph.float(layer.parameters.float(4)))
        },
        .ofArrays(1455, "cumSum", inputs: 1...2) { (layer, x) throws(Problem) in
            let axis =
                try layer.inputs.count == 2
                ? scalar(layer) : layer.graph.scalar(positiveAxis(layer.parameters.integer(1), rank: x.rank))
            return layer.graph.cumulativeSum(
                x, axis: axis, exclusive: try layer.parameters.bool(2), reverse: try layer.parameters.bool(3))
        },
        .ofArrays(1313, "whereNonZero") { (layer, x) throws(Problem) in
            layer.graph.convert(try layer.graph.places(ofNonZero: x), to: .f32)
        },
        .ofElements(1315, "matrixBandPart") { (layer, x) throws(Problem) in
            let (lower, upper) = (try layer.parameters.integer(1), try layer.parameters.integer(2))
            return try layer.graph.band(x, from: lower < 0 ? nil : -lower, to: upper < 0 ? nil : upper)
        },
        .ofElements(1320, "lowerTriangular") { (layer, x) throws(Problem) in
            try layer.graph.band(x, from: nil, to: layer.parameters.integer(1))
        },
        .ofElements(1325, "upperTriangular") { (layer, x) throws(Problem) in
            try layer.graph.band(x, from: layer.parameters.integer(1), to: nil)
        },
    ]

    /// The second input: indices or lengths.
    private static func indices(_ layer: Layer) throws(Problem) -> Graph.Value {
        layer.graph.convert(try layer.array(1), to: .i64)
    }

    /// The second input: a number.
    private static func scalar(_ layer: Layer) throws(Problem) -> Graph.Value {
        layer.graph.convert(try layer.graph.scalar(of: layer.array(1)), to: .i64)
    }

    /// A number from a field or from the second input, as a scalar; and its value if it is known.
    private static func size(_ layer: Layer, _ field: Int, _ name: String) throws(Problem) -> (Graph.Value, Int?) {
        if layer.inputs.count == 2 { return (try scalar(layer), nil) }
        let known = try layer.size(field, name)
        return (layer.graph.scalar(known), known)
    }

    private static func mode(_ layer: Layer, _ field: Int) throws(Problem) -> GraphBuilder.Scatter {
        let mode = try layer.parameters.integer(field)
        guard let scatter = GraphBuilder.Scatter(rawValue: mode) else { throw Problem("unknown scatter mode \(mode)") }
        return scatter
    }

    private static func topK(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (count, known) = try size(layer, 2, "K")
        let found = try layer.graph.topK(
            layer.array(), count: count, known: known, axis: layer.parameters.integer(1),
            largest: !layer.parameters.bool(3))
        return found.map { Blob(layer.graph.convert($0, to: .f32)) }
    }

    private static func argument(_ layer: Layer, _ x: Graph.Value, largest: Bool) throws(Problem) -> Graph.Value {
        let axis = try layer.parameters.integer(1)
        let place = layer.graph.convert(try layer.graph.argument(x, axis: axis, largest: largest), to: .f32)
        return try layer.parameters.bool(2) && x.rank > 1 ? layer.graph.squeeze(place, [axis]) : place
    }
}
