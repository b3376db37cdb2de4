/// Comparisons and logic. They give floats, 1 for true; in logic, everything but 0 is true.
enum ComparisonLayers {
    static let table =
        [
            (815, "equal", "Equal", 1), (820, "notEqual", "NotEqual", 1), (825, "lessThan", "Less", 2),
            (827, "lessEqual", "LessEqual", 2), (830, "greaterThan", "Greater", 2),
            (832, "greaterEqual", "GreaterEqual", 2),
        ].map { kind, name, operation, alpha in
            LayerTranslator(kind, name) { (layer) throws(Problem) in
                try layer.expectInputs(1...2)
                let (values, folded) = try layer.alike()
                // With one input the other side is `alpha`.
                let other = values.count == 2 ? values[1] : layer.graph.float(try layer.parameters.float(alpha))
                let result = try layer.graph.binary(operation, 1, values[0], other)
                return [Blob(layer.graph.convert(result, to: .f32), isFolded: folded)]
            }
        }
        + [(840, "logicalOr", "LogicalOr"), (845, "logicalXor", "LogicalXor"), (855, "logicalAnd", "LogicalAnd")].map {
            kind, name, operation in
            LayerTranslator(kind, name) { (layer) throws(Problem) in
                let (left, right, folded) = try ElementwiseLayers.pair(layer)
                let result = try layer.graph.binary(operation, 1, truth(left, layer), truth(right, layer))
                return [Blob(layer.graph.convert(result, to: .f32), isFolded: folded)]
            }
        }
        + [
            LayerTranslator(850, "logicalNot") { (layer) throws(Problem) in
                let blob = try layer.input()
                let result = layer.graph.unary("LogicalNot", try truth(blob.value, layer))
                return [Blob(layer.graph.convert(result, to: .f32), isFolded: blob.isFolded)]
            },
            LayerTranslator(1330, "whereBroadcastable") { (layer) throws(Problem) in
                try layer.expectInputs(3...3)
                let (values, folded) = try layer.alike()
                return [
                    Blob(
                        try layer.graph.select(truth(values[0], layer), values[1], values[2]), isFolded: folded)
                ]
            },
        ]

    private static func truth(_ value: Graph.Value, _ layer: Layer) throws(Problem) -> Graph.Value {
        try layer.graph.binary("NotEqual", 1, value, layer.graph.float(0))
    }
}
