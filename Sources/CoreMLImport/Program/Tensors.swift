/// Orders, sums along an axis, masks, and tensors that are made.
extension ProgramOperations {
    static let tensors: [String: Translator] = [
        "band_part": bandPart,
        "cumsum": { call throws(Problem) in
            let x = try call.value("x")
            let axis = try positiveAxis(call.integer("axis", default: 0), rank: x.rank)
            return [
                call.graph.operation(
                    "CumSum", 3, [x, call.graph.scalar(axis)],
                    ["exclusive": .bool(try call.bool("exclusive")), "reverse": .bool(try call.bool("reverse"))],
                    shape: x.shape)
            ]
        },
        "fill": { call throws(Problem) in
            let value = try filler(call)
            if let shape = try call.knownIntegers("shape") {
                guard shape.allSatisfy({ $0 >= 0 }) else { throw Problem("invalid shape \(shape)", at: "shape") }
                return [call.graph.broadcast(value, to: shape)]
            }
            let target = call.graph.convert(try call.value("shape"), to: .i64)
            return [
                call.graph.operation(
                    "Broadcast", 3, [value, target], ["mode": "numpy"], shape: try call.neededShape())
            ]
        },
        "fill_like": { call throws(Problem) in
            let reference = try call.value("ref_tensor")
            return [
                call.graph.operation(
                    "Broadcast", 3, [try filler(call), call.graph.shape(of: reference)], ["mode": "numpy"],
                    shape: reference.shape)
            ]
        },
        "non_zero": { call throws(Problem) in
            let x = try call.value("x")
            let places = call.graph.operation(
                "NonZero", 3, [x], ["output_type": "i32"], type: .i32, shape: [x.rank, nil])
            return [try call.graph.transpose(places, [1, 0])]
        },
        "one_hot": oneHot,
        "range_1d": range,
        "topk": { call throws(Problem) in
            let (x, graph) = (try call.value("x"), call.graph)
            let axis = try positiveAxis(call.integer("axis", default: -1), rank: x.rank)
            let known = try call.isGiven("k") ? call.knownIntegers("k")?.first : 1
            if let known, known <= 0 { throw Problem("\(known) elements", at: "k") }
            if let known, let extent = x.shape[axis], known > extent {
                throw Problem("cannot take \(known) of \(extent) elements", at: "k")
            }
            let count: Graph.Value
            if let known { count = graph.scalar(known, type: .i32) } else { count = try graph.scalar(of: call.value("k")) }
            return try topK(
                graph, x, count: count, known: known, axis: axis, mode: call.bool("ascending") ? "min" : "max")
        },
        "argsort": { call throws(Problem) in
            let (x, graph) = (try call.value("x"), call.graph)
            let axis = try positiveAxis(call.integer("axis", default: -1), rank: x.rank)
            let count = try graph.scalar(of: graph.convert(graph.extent(of: x, axis: axis), to: .i32))
            let mode = try call.bool("ascending") ? "min" : "max"
            return [try topK(graph, x, count: count, known: x.shape[axis], axis: axis, mode: mode)[1]]
        },
        "reverse_sequence": { call throws(Problem) in
            let x = try call.value("x")
            let (sequence, batch) = (
                try call.integer("seq_axis", default: 0), try call.integer("batch_axis", default: 0)
            )
            return [
                call.graph.operation(
                    "ReverseSequence", 1, [x, try call.value("lengths")],
                    [
                        "seq_axis": .integer(try positiveAxis(sequence, rank: x.rank)),
                        "batch_axis": .integer(try positiveAxis(batch, rank: x.rank)),
                    ], shape: x.shape)
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

    /// Keeps `lower` diagonals below the middle one and `upper` above it; a negative number keeps all.
    private static func bandPart(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (x, graph) = (try call.value("x"), call.graph)
        let (lower, upper) = (try call.integer("lower", default: -1), try call.integer("upper", default: -1))
        guard x.rank >= 2 else {
            throw Problem("expected a matrix, found shape \(shapeText(x.shape))", at: "x")
        }
        if lower < 0, upper < 0 { return [x] }
        func numbers(axis: Int, rows: Bool) throws(Problem) -> Graph.Value {
            let end = try graph.scalar(of: graph.extent(of: x, axis: axis))
            let line = graph.operation(
                "Range", 4, [graph.scalar(0), end, graph.scalar(1)], ["output_type": "i64"], type: .i64,
                shape: [x.shape[x.rank + axis]])
            return rows ? try graph.unsqueeze(line, [1]) : line
        }
        let below = try graph.subtract(numbers(axis: -2, rows: true), numbers(axis: -1, rows: false))
        var keeps: Graph.Value?
        if lower >= 0 { keeps = try graph.binary("LessEqual", below, graph.scalar(lower)) }
        if upper >= 0 {
            let right = try graph.binary("GreaterEqual", below, graph.scalar(-upper))
            if let left = keeps { keeps = try graph.binary("LogicalAnd", left, right) } else { keeps = right }
        }
        guard let keeps else { return [x] }
        return [try graph.select(keeps, x, graph.convert(graph.float(0), to: x.type))]
    }

    private static func oneHot(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (indices, graph) = (try call.value("indices"), call.graph)
        let axis = try positiveAxis(call.integer("axis", default: -1), rank: indices.rank + 1)
        let known = try call.knownIntegers("one_hot_vector_size")?.first
        let size = try graph.convert(graph.scalar(of: call.value("one_hot_vector_size")), to: .i64)
        var shape = indices.shape
        shape.insert(known, at: axis)
        let (on, off) = (
            try constantScalar(call, "on_value", default: 1), try constantScalar(call, "off_value", default: 0)
        )
        return [
            graph.operation(
                "OneHot", 1, [graph.convert(indices, to: .i64), size, on, off], ["axis": .integer(axis)], type: on.type,
                shape: shape)
        ]
    }

    private static func range(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let graph = call.graph
        var bounds: [Graph.Value] = []
        for name in ["start", "end", "step"] { bounds.append(try graph.scalar(of: call.value(name))) }
        let type = widest(bounds)
        var extent = try call.neededShape().first ?? nil
        if type == .f32, let start = try knownNumber(call, "start"), let end = try knownNumber(call, "end"),
            let step = try knownNumber(call, "step")
        {
            let count = ((end - start) / step).rounded(.up)
            extent = Int(exactly: count).flatMap { $0 <= 1 << 28 ? max($0, 0) : nil } ?? extent
        }
        return [
            graph.operation(
                "Range", 4, bounds.map { graph.convert($0, to: type) }, ["output_type": .text(type.rawValue)],
                type: type,
                shape: [extent])
        ]
    }

    private static func knownNumber(_ call: ProgramCall, _ name: String) throws(Problem) -> Float? {
        try call.operands(name).first?.tensor?.floats().first
    }

    /// Padding is given for the last axes, in their order.
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
