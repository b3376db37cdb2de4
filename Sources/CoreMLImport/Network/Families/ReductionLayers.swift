/// The layer reduce of old networks, and the ten reductions over any axes.
enum ReductionLayers {
    static let table: [LayerTranslator] =
        [
            LayerTranslator(280, "reduce") { (layer) throws(Problem) in
                let translator = LayerTranslator.ofElements(280, "reduce", reduce)
                let isOfChannels = [0, 2].contains(try layer.parameters.integer(3))
                return try (isOfChannels ? translator.onChannels : translator).translate(layer)
            }
        ]
        + [
            (1250, "reduceL1", Reduction.l1), (1255, "reduceL2", .l2), (1260, "reduceMax", .max),
            (1265, "reduceMin", .min), (1270, "reduceSum", .sum), (1275, "reduceProd", .product),
            (1280, "reduceMean", .mean), (1285, "reduceLogSum", .logSum), (1290, "reduceSumSquare", .sumOfSquares),
            (1295, "reduceLogSumExp", .logSumExp),
        ].map { kind, name, reduction in
            LayerTranslator.ofArrays(kind, name) { (layer, x) throws(Problem) in
                var axes = try layer.parameters.integers(1)
                if try layer.parameters.bool(3) || axes.isEmpty { axes = Array(0..<x.rank) }
                return try layer.graph.reduce(x, by: reduction, axes: axes, keepsAxes: layer.parameters.bool(2))
            }
        }

    /// Reduces C, H and W, H and W, or one of them; keeps the axes.
    private static func reduce(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let (graph, axis) = (layer.graph, try layer.parameters.integer(3))
        let choices = [[-3, -2, -1], [-2, -1], [-3], [-2], [-1]]
        guard choices.indices.contains(axis) else { throw Problem("unknown axis \(axis)") }
        let axes = choices[axis]
        let modes: [Reduction?] = [.sum, .mean, .product, nil, .sumOfSquares, .l1, .l2, .max, .min]
        let mode = try layer.parameters.integer(1)
        if mode == 3 {
            // The sum of the logarithms, unlike reduceLogSum.
            let epsilon = try layer.parameters.float(2)
            let logarithms = graph.unary("Log", try graph.shifted(x, by: epsilon == 0 ? 1e-6 : epsilon))
            return try graph.reduce(logarithms, by: .sum, axes: axes, keepsAxes: true)
        }
        if mode == 9 {
            guard axes.count == 1 else { throw Problem("the index of the largest element needs one axis") }
            return graph.convert(try graph.argument(x, axis: axes[0], largest: true), to: .f32)
        }
        guard modes.indices.contains(mode), let reduction = modes[mode] else {
            throw Problem("unknown reduction \(mode)")
        }
        return try graph.reduce(x, by: reduction, axes: axes, keepsAxes: true)
    }
}
