/// Comparisons and logic. They return floats, 1 for true; logic treats every number except 0 as true.
enum ComparisonLayers {
    static let table: [LayerTranslator] =
        [
            (815, "equal", "Equal", 1), (820, "notEqual", "NotEqual", 1), (825, "lessThan", "Less", 2),
            (827, "lessEqual", "LessEqual", 2), (830, "greaterThan", "Greater", 2),
            (832, "greaterEqual", "GreaterEqual", 2),
        ].map { kind, name, operation, alpha in
            LayerTranslator.ofAlike(kind, name, inputs: 1...2) { (layer, values) throws(Problem) in
                // With one input, the other operand is `alpha`.
                let other = values.count == 2 ? values[1] : layer.graph.float(try layer.parameters.float(alpha))
                return layer.graph.convert(try layer.graph.binary(operation, values[0], other), to: .f32)
            }
        }
        + [(840, "logicalOr", "LogicalOr"), (845, "logicalXor", "LogicalXor"), (855, "logicalAnd", "LogicalAnd")].map {
            kind, name, operation in
            LayerTranslator.ofAlike(kind, name, inputs: 2...2) { (layer, values) throws(Problem) in
                let graph = layer.graph
                return graph.convert(
                    try graph.binary(operation, graph.truth(values[0]), graph.truth(values[1])), to: .f32)
            }
        }
        + [
            .ofElements(850, "logicalNot") { (layer, x) throws(Problem) in
                layer.graph.convert(layer.graph.unary("LogicalNot", try layer.graph.truth(x)), to: .f32)
            },
            .ofAlike(1330, "whereBroadcastable", inputs: 3...3) { (layer, values) throws(Problem) in
                try layer.graph.select(layer.graph.truth(values[0]), values[1], values[2])
            },
        ]
}
