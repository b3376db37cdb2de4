/// Layers that look for elements: gather…, topK, argMax, argMin, argSort, oneHot, cumSum, and the parts of matrices.
enum SelectionLayers {
    static let table = [
        LayerTranslator(930, "gather", gather), LayerTranslator(940, "gatherND", gatherND),
        LayerTranslator(952, "gatherAlongAxis", gatherAlongAxis), LayerTranslator(1015, "topK", topK),
        LayerTranslator(1020, "argMin") { (layer) throws(Problem) in try argument(layer, largest: false) },
        LayerTranslator(1025, "argMax") { (layer) throws(Problem) in try argument(layer, largest: true) },
        LayerTranslator(1461, "argSort", argSort), LayerTranslator(1450, "oneHot", oneHot),
        LayerTranslator(1455, "cumSum", cumSum),
        LayerTranslator(1313, "whereNonZero") { (layer) throws(Problem) in
            try layer.expectInputs(1...1)
            let (value, graph) = (try layer.array(), layer.graph)
            let places = graph.operation(
                "NonZero", 3, [value], ["output_type": "i64"], type: .i64, shape: [value.rank, nil])
            return [Blob(graph.convert(try graph.transpose(places, [1, 0]), to: .f32))]
        },
        LayerTranslator(1315, "matrixBandPart") { (layer) throws(Problem) in
            let (lower, upper) = (try layer.parameters.integer(1), try layer.parameters.integer(2))
            return try masked(layer) { row, column in
                (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper)
            }
        },
        LayerTranslator(1320, "lowerTriangular") { (layer) throws(Problem) in
            let diagonal = try layer.parameters.integer(1)
            return try masked(layer) { row, column in column - row <= diagonal }
        },
        LayerTranslator(1325, "upperTriangular") { (layer) throws(Problem) in
            let diagonal = try layer.parameters.integer(1)
            return try masked(layer) { row, column in column - row >= diagonal }
        },
    ]

    private static func gather(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let indices = layer.graph.convert(try layer.array(1), to: .i64)
        return [Blob(try layer.graph.gather(layer.array(0), indices, axis: layer.parameters.integer(1)))]
    }

    private static func gatherND(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let (value, indices) = (try layer.array(0), layer.graph.convert(try layer.array(1), to: .i64))
        guard let depth = indices.shape.last ?? nil, depth <= value.rank else {
            throw Problem("indices of shape \(shapeText(indices.shape)) do not match \(shapeText(value.shape))")
        }
        return [
            Blob(
                layer.graph.operation(
                    "GatherND", 8, [value, indices], ["batch_dims": 0],
                    shape: Array(indices.shape.dropLast()) + value.shape[depth...]))
        ]
    }

    /// Negative indices count from the end.
    private static func gatherAlongAxis(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let (value, graph) = (try layer.array(0), layer.graph)
        let axis = try positiveAxis(layer.parameters.integer(1), rank: value.rank)
        guard let extent = value.shape[axis] else { throw Problem("axis \(axis) has an open extent") }
        var indices = graph.convert(try layer.array(1), to: .i64)
        let isNegative = try graph.binary("Less", 1, indices, graph.scalar(0))
        indices = try graph.select(isNegative, graph.add(indices, graph.scalar(extent)), indices)
        return [
            Blob(
                graph.operation("GatherElements", 6, [value, indices], ["axis": .integer(axis)], shape: indices.shape))
        ]
    }

    /// The values and their places, as floats.
    private static func topK(
        _ graph: GraphBuilder, _ value: Graph.Value, _ count: Graph.Value, extent: Int?, axis: Int, largest: Bool
    ) throws(Problem) -> [Graph.Value] {
        let axis = try positiveAxis(axis, rank: value.rank)
        var shape = value.shape
        shape[axis] = extent
        let found = graph.operation(
            "TopK", 11, [value, count],
            [
                "axis": .integer(axis), "mode": largest ? "max" : "min", "sort": "value", "index_element_type": "i64",
                "stable": true,
            ], outputs: [(value.type, shape), (.i64, shape)])
        return [found[0], graph.convert(found[1], to: .f32)]
    }

    private static func topK(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (value, graph) = (try layer.array(), layer.graph)
        let axis = try positiveAxis(layer.parameters.integer(1), rank: value.rank)
        var (count, extent): (Graph.Value, Int?)
        if layer.inputs.count == 2 {
            let given = try layer.array(1)
            count = graph.convert(try graph.squeeze(given, Array(0..<given.rank)), to: .i64)
            extent = nil
        } else {
            let size = try layer.size(2, "K")
            guard size <= value.shape[axis] ?? size else {
                throw Problem("cannot take the top \(size) of axis \(axis) of \(shapeText(value.shape))")
            }
            (count, extent) = (graph.scalar(size), size)
        }
        return try topK(graph, value, count, extent: extent, axis: axis, largest: !layer.parameters.bool(3)).map {
            Blob($0)
        }
    }

    /// The place of the largest or smallest element; the axis stays, with the extent 1.
    static func argument(_ graph: GraphBuilder, _ value: Graph.Value, axis: Int, largest: Bool) throws(Problem)
        -> Graph.Value
    {
        try topK(graph, value, graph.scalar(1), extent: 1, axis: axis, largest: largest)[1]
    }

    private static func argument(_ layer: Layer, largest: Bool) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, axis) = (try layer.array(), try layer.parameters.integer(1))
        let place = try argument(layer.graph, value, axis: axis, largest: largest)
        let removes = try layer.parameters.bool(2) && value.rank > 1
        return [Blob(removes ? try layer.graph.squeeze(place, [axis]) : place)]
    }

    private static func argSort(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let value = try layer.array()
        let axis = try positiveAxis(layer.parameters.integer(1), rank: value.rank)
        guard let extent = value.shape[axis] else { throw Problem("axis \(axis) has an open extent") }
        let descending = try layer.parameters.bool(2)
        return [
            Blob(
                try topK(
                    layer.graph, value, layer.graph.scalar(extent), extent: extent, axis: axis, largest: descending)[1])
        ]
    }

    private static func oneHot(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (value, graph) = (layer.graph.convert(try layer.array(), to: .i64), layer.graph)
        let axis = try positiveAxis(layer.parameters.integer(2, default: 0), rank: value.rank + 1)
        var size = graph.scalar(0)
        var extent: Int?
        if layer.inputs.count == 2 {
            let given = try layer.array(1)
            size = graph.convert(try graph.squeeze(given, Array(0..<given.rank)), to: .i64)
        } else {
            let known = try layer.size(1, "oneHotVectorSize")
            (size, extent) = (graph.scalar(known), known)
        }
        let (on, off) = (try layer.parameters.float(3), try layer.parameters.float(4))
        var shape = value.shape
        shape.insert(extent, at: axis)
        return [
            Blob(
                graph.operation(
                    "OneHot", 1, [value, size, graph.float(on), graph.float(off)], ["axis": .integer(axis)], type: .f32,
                    shape: shape))
        ]
    }

    private static func cumSum(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (value, graph) = (try layer.array(), layer.graph)
        let axis: Graph.Value
        if layer.inputs.count == 2 {
            let given = try layer.array(1)
            axis = graph.convert(try graph.squeeze(given, Array(0..<given.rank)), to: .i64)
        } else {
            axis = graph.scalar(try positiveAxis(layer.parameters.integer(1), rank: value.rank))
        }
        return [
            Blob(
                graph.operation(
                    "CumSum", 3, [value, axis],
                    ["exclusive": .bool(try layer.parameters.bool(2)), "reverse": .bool(try layer.parameters.bool(3))],
                    shape: value.shape))
        ]
    }

    /// The elements of each matrix in the last two axes that `keeps` names; 0 elsewhere.
    private static func masked(_ layer: Layer, keeps: (_ row: Int, _ column: Int) -> Bool) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let blob = try layer.input()
        guard blob.value.rank >= 2, let columns = blob.value.shape[blob.value.rank - 1],
            let rows = blob.value.shape[blob.value.rank - 2], let count = checkedProduct(rows, columns),
            count <= 1 << 22
        else { throw Problem("the input \(shapeText(blob.shape)) is not a matrix of known extents") }
        let mask = (0..<count).map { keeps($0 / columns, $0 % columns) }
        // Selected, not multiplied: what is left out may be infinite.
        let bytes = Bytes(mask.map { $0 ? UInt8(1) : 0 })
        let condition = try layer.graph.constant(.boolean, shape: [rows, columns], bytes: bytes)
        return [Blob(try layer.graph.select(condition, blob.value, layer.graph.float(0)), isFolded: blob.isFolded)]
    }
}
