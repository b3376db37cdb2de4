/// Matrix products and attention.
extension ProgramOperations {
    static let products: [String: Translator] = [
        "linear": { call throws(Problem) in
            let product = try call.graph.matmul(call.float("x"), call.float("weight"), transposesRight: true)
            guard call.isGiven("bias") else { return [product] }
            return [try call.graph.add(product, call.float("bias"))]
        },
        "matmul": { call throws(Problem) in
            let (x, y) = (try call.value("x"), try call.value("y"))
            let product = try call.graph.matmul(
                call.graph.convert(x, to: .f32), call.graph.convert(y, to: .f32),
                transposesLeft: call.bool("transpose_x"),
                transposesRight: call.bool("transpose_y"))
            return [x.type.isFloat || y.type.isFloat ? product : call.graph.convert(product, to: x.type)]
        },
        "einsum": einsum,
        "scaled_dot_product_attention": attention,
    ]

    private static func einsum(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let graph = call.graph
        let equation = try call.text("equation").filter { $0 != " " }
        var inputs: [Graph.Value] = []
        for value in try call.values("values") { inputs.append(graph.convert(value, to: .f32)) }
        let sides = equation.split(separator: "-", omittingEmptySubsequences: false).map { $0.drop { $0 == ">" } }
        let terms = sides[0].split(separator: ",", omittingEmptySubsequences: false)
        guard sides.count == 2, terms.count == inputs.count,
            equation.unicodeScalars.allSatisfy({
                "a"..."z" ~= $0 || "A"..."Z" ~= $0 || ",->".unicodeScalars.contains($0)
            })
        else { throw Problem("\"\(equation)\" does not fit \(inputs.count) values", at: "equation") }
        var extents: [Character: Int?] = [:]
        for (term, input) in zip(terms, inputs) {
            guard term.count == input.rank else {
                throw Problem("\"\(term)\" does not fit a value of shape \(shapeText(input.shape))", at: "equation")
            }
            for (label, extent) in zip(term, input.shape) where (extents[label] ?? 1) == 1 {
                extents[label] = .some(extent)
            }
        }
        // Extents of 1 broadcast; the engine requires them repeated.
        for (index, term) in terms.enumerated() {
            let target = zip(term, inputs[index].shape).map { (extents[$0] ?? nil) ?? $1 }
            let known = target.compactMap { $0 }
            if known.count == target.count, inputs[index].shape != target {
                inputs[index] = graph.broadcast(inputs[index], to: known)
            }
        }
        var shape: [Int?] = []
        for label in sides[1] {
            guard let extent = extents[label] else {
                throw Problem("no input has the label \"\(label)\"", at: "equation")
            }
            shape.append(extent)
        }
        return [graph.operation("Einsum", 7, inputs, ["equation": .text(equation)], shape: shape)]
    }

    private static func attention(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        var inputs = [try call.float("query"), try call.float("key"), try call.float("value")]
        let (query, key, value) = (inputs[0], inputs[1], inputs[2])
        guard query.rank >= 3, key.rank == query.rank, value.rank == query.rank else {
            throw Problem(
                "query \(shapeText(query.shape)), key \(shapeText(key.shape)) and value \(shapeText(value.shape)) do not fit "
                    + "each other")
        }
        if let mask = try call.optionalValue("attn_mask") { inputs.append(mask) }
        return [
            call.graph.operation(
                "ScaledDotProductAttention", 13, inputs, ["causal": false],
                shape: query.shape.dropLast() + [value.shape[value.rank - 1]])
        ]
    }
}
