/// Functions of each element: unary, copy, rounding, trigonometry, erf.
enum UnaryLayers {
    static let table =
        [
            LayerTranslator(220, "unary", unary),
            LayerTranslator(600, "copy") { (layer) throws(Problem) in [try layer.input()] },
            LayerTranslator(685, "round") { (layer) throws(Problem) in
                let blob = try layer.input()
                return [
                    Blob(
                        layer.graph.unary("Round", 5, blob.value, ["mode": "half_to_even"]), isFolded: blob.isFolded)
                ]
            },
            LayerTranslator(700, "exp2") { (layer) throws(Problem) in
                let blob = try layer.input()
                return [
                    Blob(
                        try layer.graph.binary("Power", 1, layer.graph.float(2), blob.value), isFolded: blob.isFolded)
                ]
            },
        ]
        + [
            (665, "ceil", "Ceiling", 1), (670, "floor", "Floor", 1), (680, "sign", "Sign", 1), (710, "sin", "Sin", 1),
            (715, "cos", "Cos", 1), (720, "tan", "Tan", 1), (730, "asin", "Asin", 1), (735, "acos", "Acos", 1),
            (740, "atan", "Atan", 1), (750, "sinh", "Sinh", 1), (755, "cosh", "Cosh", 1), (760, "tanh", "Tanh", 1),
            (770, "asinh", "Asinh", 4), (775, "acosh", "Acosh", 4), (780, "atanh", "Atanh", 4), (790, "erf", "Erf", 1),
        ].map { kind, name, operation, opset in
            LayerTranslator(kind, name) { (layer) throws(Problem) in
                try layer.expectInputs(1...1)
                let blob = try layer.input()
                return [Blob(layer.graph.unary(operation, opset, blob.value), isFolded: blob.isFolded)]
            }
        }

    private static func unary(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (blob, graph, parameters) = (try layer.input(), layer.graph, layer.parameters)
        let scale = try parameters.float(5)
        let value = try graph.shifted(
            graph.scaled(blob.value, by: scale == 0 ? 1 : scale), by: parameters.float(4))
        let alpha = graph.float(try parameters.float(2))
        let given = try parameters.float(3)
        let epsilon = given == 0 ? 1e-6 : given
        let result: Graph.Value
        switch try parameters.integer(1) {
        case 0: result = graph.unary("Sqrt", value)
        case 1: result = try graph.divide(graph.float(1), graph.unary("Sqrt", graph.shifted(value, by: epsilon)))
        case 2: result = try graph.divide(graph.float(1), graph.shifted(value, by: epsilon))
        case 3: result = try graph.binary("Power", 1, value, alpha)
        case 4: result = graph.unary("Exp", value)
        // Only where the file sets it: converters write the epsilon of the logarithm that they translate.
        case 5: result = graph.unary("Log", try graph.shifted(value, by: given))
        case 6: result = graph.unary("Abs", value)
        case 7: result = try graph.binary("Maximum", 1, value, alpha)
        case let type: throw Problem("unknown function \(type)")
        }
        return [Blob(result, isFolded: blob.isFolded)]
    }
}
