/// Element-wise layers of several inputs: add, multiply, average, max, min, and those with numpy's broadcasting.
enum ElementwiseLayers {
    static let table: [LayerTranslator] =
        [
            folding(230, "add", "Add") { (layer, x) throws(Problem) in
                try layer.graph.shifted(x, by: layer.parameters.float(1))
            },
            folding(231, "multiply", "Multiply") { (layer, x) throws(Problem) in
                try layer.graph.scaled(x, by: layer.parameters.float(1))
            },
            .ofAlike(240, "average", inputs: 1...Int.max) { (layer, values) throws(Problem) in
                try layer.graph.scaled(joined(layer, values, "Add"), by: 1 / Float(values.count))
            },
            folding(260, "max", "Maximum"), folding(261, "min", "Minimum"),
            folding(870, "minBroadcastable", "Minimum"), folding(875, "maxBroadcastable", "Maximum"),
            folding(900, "multiplyBroadcastable", "Multiply"),
            .ofAlike(895, "floorDivBroadcastable", inputs: 2...2) { (layer, values) throws(Problem) in
                layer.graph.unary("Floor", try layer.graph.divide(values[0], values[1]))
            },
        ]
        + [
            (865, "modBroadcastable", "FloorMod"), (880, "addBroadcastable", "Add"), (885, "powBroadcastable", "Power"),
            (890, "divideBroadcastable", "Divide"), (905, "subtractBroadcastable", "Subtract"),
        ].map { kind, name, operation in
            LayerTranslator.ofAlike(kind, name, inputs: 2...2) { (layer, values) throws(Problem) in
                try layer.graph.binary(operation, values[0], values[1])
            }
        }

    /// A layer that applies `single` to its only input, or the operation to all of its inputs in turn.
    private static func folding(
        _ kind: Int, _ name: String, _ operation: String,
        single: @escaping LayerTranslator.Single = { (_, x) throws(Problem) in x }
    ) -> LayerTranslator {
        .ofAlike(kind, name, inputs: 1...Int.max) { (layer, values) throws(Problem) in
            try values.count == 1 ? single(layer, values[0]) : joined(layer, values, operation)
        }
    }

    private static func joined(_ layer: Layer, _ values: [Graph.Value], _ operation: String) throws(Problem)
        -> Graph.Value
    {
        var result = values[0]
        for value in values.dropFirst() { result = try layer.graph.binary(operation, result, value) }
        return result
    }
}
