/// Sorting, cumulative sums, masks, and tensors that are created.
extension ProgramOperations {
    static let tensors: [String: Translator] = [
        "band_part": { call throws(Problem) in
            let (lower, upper) = (try call.integer("lower", default: -1), try call.integer("upper", default: -1))
            return [
                try call.graph.band(call.value("x"), from: lower < 0 ? nil : -lower, to: upper < 0 ? nil : upper)
            ]
        },
        "cumsum": { call throws(Problem) in
            let x = try call.value("x")
            let axis = try positiveAxis(call.integer("axis", default: 0), rank: x.rank)
            return [
                call.graph.cumulativeSum(
                    x, axis: call.graph.scalar(axis), exclusive: try call.bool("exclusive"),
                    reverse: try call.bool("reverse"))
            ]
        },
        "fill": { call throws(Problem) in
            let value = try filler(call)
            if let shape = try call.knownIntegers("shape") {
                guard shape.allSatisfy({ $0 >= 0 }) else { throw Problem("invalid shape \(shape)", at: "shape") }
                return [call.graph.broadcast(value, to: shape)]
            }
            return [
                call.graph.broadcast(value, toComputed: try call.value("shape"), shape: try call.neededShape())
            ]
        },
        "fill_like": { call throws(Problem) in
            let reference = try call.value("ref_tensor")
            return [
                call.graph.broadcast(
                    try filler(call), toComputed: call.graph.shape(of: reference), shape: reference.shape)
            ]
        },
        "non_zero": { call throws(Problem) in [try call.graph.places(ofNonZero: call.value("x"))] },
        "one_hot": oneHot,
        "range_1d": range,
        "topk": { call throws(Problem) in
            let graph = call.graph
            let known = try call.isGiven("k") ? call.knownIntegers("k")?.first : 1
            let count: Graph.Value
            if let known {
                count = graph.scalar(known, type: .i32)
            } else {
                count = try graph.scalar(of: call.value("k"))
            }
            return try graph.topK(
                call.value("x"), count: count, known: known, axis: call.integer("axis", default: -1),
                largest: !call.bool("ascending"))
        },
        "argsort": { call throws(Problem) in
            [
                try call.graph.order(
                    of: call.value("x"), axis: call.integer("axis", default: -1), largestFirst: !call.bool("ascending"))
            ]
        },
        "reverse_sequence": { call throws(Problem) in
            [
                try call.graph.reverseSequence(
                    call.value("x"), lengths: call.value("lengths"), batchAxis: call.integer("batch_axis", default: 0),
                    sequenceAxis: call.integer("seq_axis", default: 0))
            ]
        },
        "pad": pad,
    ]

    /// The argument "value" as a scalar of the type that the file declares for the output.
    private static func filler(_ call: ProgramCall) throws(Problem) -> Graph.Value {
        try constantScalar(call, "value", default: 0)
    }

    private static func constantScalar(_ call: ProgramCall, _ name: String, default value: Float) throws(Problem)
        -> Graph.Value
    {
        let declared = call.operation.outputs.first?.type.tensor?.element ?? .float32
        guard let type = ProgramTranslator.elementType(declared) else {
            throw Problem("unsupported output of type \(declared)")
        }
        let given = try call.floats(name)?.first ?? value
        return call.graph.convert(call.graph.float(given), to: type)
    }

    private static func oneHot(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        [
            try call.graph.oneHot(
                call.value("indices"), size: call.graph.scalar(of: call.value("one_hot_vector_size")),
                known: call.knownIntegers("one_hot_vector_size")?.first, axis: call.integer("axis", default: -1),
                on: constantScalar(call, "on_value", default: 1), off: constantScalar(call, "off_value", default: 0))
        ]
    }

    private static func range(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let graph = call.graph
        var bounds: [Graph.Value] = []
        for name in ["start", "end", "step"] { bounds.append(try graph.scalar(of: call.value(name))) }
        let type = widest(bounds)
        var extent = try call.neededShape().first ?? nil
        let known = bounds.compactMap { graph.numbers(of: $0)?.first.map { Float($0) } }
        if known.count == 3 {
            let count = ((known[1] - known[0]) / known[2]).rounded(.up)
            extent = Int(exactly: count).flatMap { $0 <= 1 << 28 ? max($0, 0) : nil } ?? extent
        }
        return [graph.range(from: bounds[0], to: bounds[1], by: bounds[2], type: type, count: extent)]
    }

    /// Padding applies to the last axes, in their order.
    private static func pad(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (x, graph) = (try call.value("x"), call.graph)
        let mode = try call.choice(
            "mode", default: "constant", of: ["constant": "constant", "reflect": "reflect", "replicate": "edge"])
        let fill = mode == "constant" && call.isGiven("constant_val") ? try limit(call, "constant_val") : 0
        if let amounts = try call.knownIntegers("pad") {
            let count = amounts.count / 2
            guard amounts.count % 2 == 0, count <= x.rank, amounts.allSatisfy({ $0 >= 0 }) else {
                throw Problem("\(amounts) does not match a value of \(x.rank) axes", at: "pad")
            }
            let none = [Int](repeating: 0, count: x.rank - count)
            return [
                try graph.pad(
                    x, before: none + (0..<count).map { amounts[2 * $0] },
                    after: none + (0..<count).map { amounts[2 * $0 + 1] },
                    mode: mode, with: fill)
            ]
        }
        let amounts = try graph.reshape(graph.convert(call.value("pad"), to: .i64), to: [x.rank, 2])
        let before = try graph.gather(amounts, graph.scalar(0), axis: 1)
        let after = try graph.gather(amounts, graph.scalar(1), axis: 1)
        var inputs = [x, before, after]
        if mode == "constant" { inputs.append(graph.convert(graph.float(fill), to: x.type)) }
        return [graph.operation("Pad", 12, inputs, ["pad_mode": .text(mode)], shape: try call.neededShape())]
    }
}
