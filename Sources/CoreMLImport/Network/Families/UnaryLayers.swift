/// Element-wise functions: unary, copy, rounding, trigonometry, erf.
enum UnaryLayers {
    static let table: [LayerTranslator] =
        [
            .ofElements(220, "unary", unary),
            LayerTranslator(600, "copy") { (layer) throws(Problem) in [try layer.input()] },
            .ofElements(685, "round") { (layer, x) throws(Problem) in layer.graph.rounded(x) },
            .ofElements(700, "exp2") { (layer, x) throws(Problem) in
                try layer.graph.binary("Power", layer.graph.float(2), x)
            },
        ]
        + [
            (665, "ceil", "Ceiling", 1), (670, "floor", "Floor", 1), (680, "sign", "Sign", 1), (710, "sin", "Sin", 1),
            (715, "cos", "Cos", 1), (720, "tan", "Tan", 1), (730, "asin", "Asin", 1), (735, "acos", "Acos", 1),
            (740, "atan", "Atan", 1), (750, "sinh", "Sinh", 1), (755, "cosh", "Cosh", 1), (760, "tanh", "Tanh", 1),
            (770, "asinh", "Asinh", 4), (775, "acosh", "Acosh", 4), (780, "atanh", "Atanh", 4), (790, "erf", "Erf", 1),
        ].map { kind, name, operation, opset in
            LayerTranslator.ofElements(kind, name) { (layer, x) throws(Problem) in
                layer.graph.unary(operation, opset, x)
            }
        }

    private static func unary(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let (graph, parameters) = (layer.graph, layer.parameters)
        let scale = try parameters.float(5)
        let value = try graph.shifted(graph.scaled(x, by: scale == 0 ? 1 : scale), by: parameters.float(4))
        let alpha = graph.float(try parameters.float(2))
        let given = try parameters.float(3)
        let epsilon = given == 0 ? 1e-6 : given
        switch try parameters.integer(1) {
        case 0: return graph.unary("Sqrt", value)
        case 1: return try graph.inverse(graph.unary("Sqrt", graph.shifted(value, by: epsilon)))
        case 2: return try graph.inverse(graph.shifted(value, by: epsilon))
        case 3: return try graph.binary("Power", value, alpha)
        case 4: return graph.unary("Exp", value)
        // Add the epsilon only if the file sets it: converters write that of the logarithm they translate.
        case 5: return graph.unary("Log", try graph.shifted(value, by: given))
        case 6: return graph.unary("Abs", value)
        case 7: return try graph.binary("Maximum", value, alpha)
        case let type: throw Problem("unknown function \(type)")
        }
    }
}
