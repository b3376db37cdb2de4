/// reduce of old networks, and the ten reductions over any axes.
enum ReductionLayers {
    static let table =
        [
            LayerTranslator(280, "reduce") { (layer) throws(Problem) in
                let isOfChannels = [0, 2].contains(try layer.parameters.integer(3))
                return try isOfChannels ? layer.onChannels(reduce) : reduce(layer)
            }
        ]
        + [
            (1250, "reduceL1", Reduction.l1), (1255, "reduceL2", .l2), (1260, "reduceMax", .max),
            (1265, "reduceMin", .min), (1270, "reduceSum", .sum), (1275, "reduceProd", .product),
            (1280, "reduceMean", .mean), (1285, "reduceLogSum", .logSum), (1290, "reduceSumSquare", .sumSquare),
            (1295, "reduceLogSumExp", .logSumExp),
        ].map { kind, name, reduction in
            LayerTranslator(kind, name) { (layer) throws(Problem) in
                try layer.expectInputs(1...1)
                let value = try layer.array()
                var axes = try layer.parameters.integers(1)
                if try layer.parameters.bool(3) || axes.isEmpty { axes = Array(0..<value.rank) }
                let keeps = try layer.parameters.bool(2)
                var result = try apply(reduction, layer.graph, value, axes, keepsAxes: keeps)
                // There are no blobs without an axis.
                if result.rank == 0 { result = try layer.graph.unsqueeze(result, [0]) }
                return [Blob(result)]
            }
        }

    enum Reduction {
        case sum, mean, product, sumSquare, l1, l2, max, min
        /// log of the sum.
        case logSum
        case logSumExp
    }

    static func apply(
        _ reduction: Reduction, _ graph: GraphBuilder, _ value: Graph.Value, _ axes: [Int], keepsAxes: Bool
    ) throws(Problem) -> Graph.Value {
        func reduced(_ type: String, _ value: Graph.Value) throws(Problem) -> Graph.Value {
            try graph.reduce(type, value, axes: axes, keepsAxes: keepsAxes)
        }
        switch reduction {
        case .sum: return try reduced("ReduceSum", value)
        case .mean: return try reduced("ReduceMean", value)
        case .product: return try reduced("ReduceProd", value)
        case .max: return try reduced("ReduceMax", value)
        case .min: return try reduced("ReduceMin", value)
        case .sumSquare: return try reduced("ReduceSum", graph.multiply(value, value))
        case .l1: return try reduced("ReduceSum", graph.unary("Abs", value))
        case .l2: return graph.unary("Sqrt", try reduced("ReduceSum", graph.multiply(value, value)))
        case .logSum: return graph.unary("Log", try reduced("ReduceSum", value))
        case .logSumExp:
            // The largest is taken out first: exp of it would overflow.
            let largest = try graph.reduce("ReduceMax", value, axes: axes, keepsAxes: true)
            let sum = try reduced("ReduceSum", graph.unary("Exp", graph.subtract(value, largest)))
            return try graph.add(graph.unary("Log", sum), reduced("ReduceMax", value))
        }
    }

    /// Keeps its axes. Over C, H, W, H and W, or one of them.
    private static func reduce(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (blob, graph) = (try layer.input(), layer.graph)
        let axes: [Int]
        switch try layer.parameters.integer(3) {
        case 0: axes = [-3, -2, -1]
        case 1: axes = [-2, -1]
        case 2: axes = [-3]
        case 3: axes = [-2]
        case 4: axes = [-1]
        case let axis: throw Problem("unknown axis \(axis)")
        }
        let modes: [Reduction?] = [.sum, .mean, .product, nil, .sumSquare, .l1, .l2, .max, .min]
        let mode = try layer.parameters.integer(1)
        let value: Graph.Value
        if mode == 3 {
            // The sum of the logarithms, unlike reduceLogSum.
            let epsilon = try layer.parameters.float(2)
            let logarithms = graph.unary("Log", try graph.shifted(blob.value, by: epsilon == 0 ? 1e-6 : epsilon))
            value = try graph.reduce("ReduceSum", logarithms, axes: axes, keepsAxes: true)
        } else if mode == 9 {
            guard axes.count == 1 else { throw Problem("the index of the largest element needs one axis") }
            value = try SelectionLayers.argument(graph, blob.value, axis: axes[0], largest: true)
        } else if modes.indices.contains(mode), let reduction = modes[mode] {
            value = try apply(reduction, graph, blob.value, axes, keepsAxes: true)
        } else {
            throw Problem("unknown reduction \(mode)")
        }
        return [Blob(value, isFolded: blob.isFolded)]
    }
}
