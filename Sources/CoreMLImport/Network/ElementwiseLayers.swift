/// Layers of several inputs, element by element: add, multiply, average, max, min, and those that broadcast as numpy does.
enum ElementwiseLayers {
    static let table =
        [
            LayerTranslator(230, "add") { (layer) throws(Problem) in
                try folding(layer, "Add") { (value) throws(Problem) in
                    try layer.graph.shifted(value, by: layer.parameters.float(1))
                }
            },
            LayerTranslator(231, "multiply") { (layer) throws(Problem) in
                try folding(layer, "Multiply") { (value) throws(Problem) in
                    try layer.graph.scaled(value, by: layer.parameters.float(1))
                }
            },
            LayerTranslator(240, "average") { (layer) throws(Problem) in
                let sum = try folding(layer, "Add") { (value) throws(Problem) in value }
                return try sum.map { (blob) throws(Problem) in
                    Blob(
                        try layer.graph.scaled(blob.value, by: 1 / Float(layer.inputs.count)), isFolded: blob.isFolded)
                }
            },
            LayerTranslator(260, "max") { (layer) throws(Problem) in
                try folding(layer, "Maximum") { (value) throws(Problem) in value }
            },
            LayerTranslator(261, "min") { (layer) throws(Problem) in
                try folding(layer, "Minimum") { (value) throws(Problem) in value }
            },
            LayerTranslator(895, "floorDivBroadcastable") { (layer) throws(Problem) in
                let (left, right, folded) = try pair(layer)
                return [Blob(layer.graph.unary("Floor", try layer.graph.divide(left, right)), isFolded: folded)]
            },
        ]
        + [
            (865, "modBroadcastable", "FloorMod"), (880, "addBroadcastable", "Add"), (885, "powBroadcastable", "Power"),
            (890, "divideBroadcastable", "Divide"), (905, "subtractBroadcastable", "Subtract"),
        ].map { kind, name, operation in
            LayerTranslator(kind, name) { (layer) throws(Problem) in
                let (left, right, folded) = try pair(layer)
                return [Blob(try layer.graph.binary(operation, 1, left, right), isFolded: folded)]
            }
        }
        + [
            (870, "minBroadcastable", "Minimum"), (875, "maxBroadcastable", "Maximum"),
            (900, "multiplyBroadcastable", "Multiply"),
        ].map { kind, name, operation in
            LayerTranslator(kind, name) { (layer) throws(Problem) in
                try folding(layer, operation) { (value) throws(Problem) in value }
            }
        }

    /// One input: what `single` makes of it. More: one after the other.
    private static func folding(
        _ layer: Layer, _ operation: String, single: (Graph.Value) throws(Problem) -> Graph.Value
    ) throws(Problem) -> [Blob] {
        let (values, folded) = try layer.alike()
        guard var result = values.first else { throw Problem("the layer has no input") }
        if values.count == 1 { return [Blob(try single(result), isFolded: folded)] }
        for value in values.dropFirst() { result = try layer.graph.binary(operation, 1, result, value) }
        return [Blob(result, isFolded: folded)]
    }

    static func pair(_ layer: Layer) throws(Problem) -> (Graph.Value, Graph.Value, isFolded: Bool) {
        try layer.expectInputs(2...2)
        let (values, folded) = try layer.alike()
        return (values[0], values[1], folded)
    }
}
