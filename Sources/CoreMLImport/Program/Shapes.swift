/// Operations that reshape, join or split values.
extension ProgramOperations {
    static let shapes: [String: Translator] = [
        "reshape": { call throws(Problem) in
            let x = try call.value("x")
            if let target = try call.knownIntegers("shape") {
                return [try call.graph.reshape(x, to: rightAligned(target, of: x))]
            }
            return [
                call.graph.operation(
                    "Reshape", 1, [x, call.graph.convert(try call.value("shape"), to: .i64)], ["special_zero": true],
                    shape: try call.neededShape())
            ]
        },
        "reshape_like": reshapeLike,
        "transpose": { call throws(Problem) in
            let x = try call.value("x")
            var order: [Int] = []
            for axis in try call.requiredIntegers("perm") { order.append(try positiveAxis(axis, rank: x.rank)) }
            return [try call.graph.transpose(x, order)]
        },
        "expand_dims": { call throws(Problem) in
            [try call.graph.unsqueeze(call.value("x"), call.requiredIntegers("axes"))]
        },
        "squeeze": squeeze,
        "concat": concat,
        "stack": { call throws(Problem) in
            [try call.graph.stack(unified(call, call.values("values")), axis: call.integer("axis"))]
        },
        "split": split,
        "flatten2d": { call throws(Problem) in
            [try call.graph.matrix(of: call.value("x"), from: call.integer("axis", default: 1))]
        },
        "shape": { call throws(Problem) in
            let x = try call.value("x")
            return [call.graph.operation("ShapeOf", 3, [x], ["output_type": "i32"], type: .i32, shape: [x.rank])]
        },
        "tile": { call throws(Problem) in
            let x = try call.value("x")
            if let repeats = try call.knownIntegers("reps") { return [try call.graph.tile(x, repeats)] }
            return [call.graph.tile(x, computed: try call.value("reps"), shape: try call.neededShape())]
        },
        "reverse": { call throws(Problem) in
            let x = try call.value("x")
            return [try call.graph.reverse(x, axes: call.integers("axes") ?? Array(0..<x.rank))]
        },
    ]

    /// A target shape of another rank (iOS 17): each 0 is the extent at that axis counted from the end, or 1 if the
    /// input lacks the axis.
    private static func rightAligned(_ target: [Int], of x: Graph.Value) throws(Problem) -> [Int] {
        guard target.count != x.rank, target.contains(0) else { return target }
        var shape = target
        for (axis, extent) in target.enumerated() where extent == 0 {
            let place = axis - target.count + x.rank
            guard place >= 0 else {
                shape[axis] = 1
                continue
            }
            if let known = x.shape[place] {
                shape[axis] = known
            } else {
                guard !shape.contains(-1) else { throw Problem("two open extents in \(target)", at: "shape") }
                shape[axis] = -1
            }
        }
        return shape
    }

    private static func unified(_ call: ProgramCall, _ values: [Graph.Value]) -> [Graph.Value] {
        let type = widest(values)
        return values.map { call.graph.convert($0, to: type) }
    }

    private static func reshapeLike(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (graph, references) = (call.graph, try call.values("ref_tensors"))
        func numbers(_ name: String) throws(Problem) -> [Int] {
            var numbers: [Int] = []
            for operand in try call.operands(name) {
                guard let tensor = operand.tensor else { throw Problem("must be constants", at: name) }
                numbers += try tensor.integers()
            }
            guard numbers.count == references.count else {
                throw Problem("there are \(numbers.count) numbers for \(references.count) tensors", at: name)
            }
            return numbers
        }
        let (begins, ends, masks) = (try numbers("begins"), try numbers("ends"), try numbers("end_masks"))
        var (parts, shape) = ([Graph.Value](), [Int?]())
        for (index, reference) in references.enumerated() {
            let end = masks[index] != 0 ? reference.rank : ends[index]
            let range = begins[index] < 0 ? begins[index] + reference.rank : begins[index]
            let stop = end < 0 ? end + reference.rank : end
            guard range >= 0, range <= stop, stop <= reference.rank else {
                throw Problem(
                    "axes \(begins[index]) to \(ends[index]) are out of range: the value has \(reference.rank) axes")
            }
            shape += reference.shape[range..<stop]
            parts.append(
                try graph.slice(graph.shape(of: reference), axes: [0], starts: [range], ends: [stop], steps: [1]))
        }
        let x = try call.value("x")
        let known = shape.compactMap { $0 }
        if known.count == shape.count { return [try graph.reshape(x, to: known)] }
        return [graph.reshape(x, toComputed: try graph.concat(parts, axis: 0), shape: shape)]
    }

    /// Axes longer than 1 stay, as in PyTorch.
    private static func squeeze(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let x = try call.value("x")
        let axes = try call.integers("axes")
        if let axes, let declared = call.declaredShape(), declared.count == x.rank - axes.count {
            return [try call.graph.squeeze(x, axes)]
        }
        var places: [Int] = []
        for axis in axes ?? Array(0..<x.rank) where x.shape[try positiveAxis(axis, rank: x.rank)] == 1 {
            places.append(axis)
        }
        return [try call.graph.squeeze(x, places)]
    }

    private static func concat(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let graph = call.graph
        var values: [Graph.Value] = []
        for value in try unified(call, call.values("values")) {
            values.append(value.rank == 0 ? try graph.unsqueeze(value, [0]) : value)
        }
        let axis = try positiveAxis(call.integer("axis"), rank: values[0].rank)
        return [
            try call.bool("interleave")
                ? graph.interleaved(values, axis: axis) : graph.concat(values, axis: axis)
        ]
    }

    private static func split(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let x = try call.value("x")
        let axis = try call.integer("axis")
        if let sizes = try call.integers("split_sizes") { return try call.graph.split(x, axis: axis, sizes: sizes) }
        let count = try call.integer("num_splits")
        return try located("num_splits") { () throws(Problem) in
            try call.graph.equalParts(x, axis: axis, count: count)
        }
    }
}
