/// Operations that give the same elements another shape, join them or part them.
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
            let values = try unified(call, call.values("values"))
            let axis = try positiveAxis(call.integer("axis"), rank: values[0].rank + 1)
            var layers: [Graph.Value] = []
            for value in values { layers.append(try call.graph.unsqueeze(value, [axis])) }
            return [try call.graph.concat(layers, axis: axis)]
        },
        "split": split,
        "flatten2d": flatten,
        "shape": { call throws(Problem) in
            let x = try call.value("x")
            return [call.graph.operation("ShapeOf", 3, [x], ["output_type": "i32"], type: .i32, shape: [x.rank])]
        },
        "tile": { call throws(Problem) in
            let x = try call.value("x")
            if let repeats = try call.knownIntegers("reps") { return [try call.graph.tile(x, repeats)] }
            return [
                call.graph.operation(
                    "Tile", 1, [x, call.graph.convert(try call.value("reps"), to: .i64)], shape: try call.neededShape())
            ]
        },
        "reverse": { call throws(Problem) in
            let x = try call.value("x")
            return [try call.graph.reverse(x, axes: call.integers("axes") ?? Array(0..<x.rank))]
        },
    ]

    /// A target shape of another rank (iOS 17): each 0 is the extent at that place counted from the end, 1 where there is none.
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

    /// Axes that are longer than 1 stay, as in PyTorch.
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
        guard try call.bool("interleave") else { return [try graph.concat(values, axis: axis)] }
        // One of each, then the next of each.
        var layers: [Graph.Value] = []
        for value in values { layers.append(try graph.unsqueeze(value, [axis + 1])) }
        let stacked = try graph.concat(layers, axis: axis + 1)
        guard let extent = values[0].shape[axis] else {
            throw Problem("interleaved values need a known extent")
        }
        var target = [Int](repeating: 0, count: axis) + [extent * values.count]
        for place in (axis + 1)..<values[0].rank {
            guard let extent = values[0].shape[place] else {
                throw Problem("interleaved values need a known extent")
            }
            target.append(extent)
        }
        return [try graph.reshape(stacked, to: target)]
    }

    private static func split(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let x = try call.value("x")
        let axis = try positiveAxis(call.integer("axis"), rank: x.rank)
        if let sizes = try call.integers("split_sizes") { return try call.graph.split(x, axis: axis, sizes: sizes) }
        let count = try call.integer("num_splits")
        guard count > 0, count <= 1 << 16 else { throw Problem("\(count) parts", at: "num_splits") }
        var shape = x.shape
        if let extent = shape[axis] {
            guard extent % count == 0 else {
                throw Problem("an extent of \(extent) cannot be divided into \(count) equal parts", at: "num_splits")
            }
            shape[axis] = extent / count
        }
        return call.graph.operation(
            "Split", 1, [x, call.graph.scalar(axis)], ["num_splits": .integer(count)],
            outputs: (0..<count).map { _ in (x.type, shape) })
    }

    private static func flatten(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let x = try call.value("x")
        var axis = try call.integer("axis", default: 1)
        if axis < 0 { axis += x.rank }
        guard axis >= 0, axis <= x.rank else {
            throw Problem("\(axis) is out of range: the value has \(x.rank) axes", at: "axis")
        }
        func product(_ extents: ArraySlice<Int?>) -> Int? {
            let known = extents.compactMap { $0 }
            return known.count == extents.count ? elementCount(known) : nil
        }
        let (rows, columns) = (product(x.shape[..<axis]), product(x.shape[axis...]))
        guard rows != nil || columns != nil else {
            let shape = call.graph.shape(of: x)
            let head = try call.graph.slice(shape, axes: [0], starts: [0], ends: [axis], steps: [1])
            let count = try call.graph.reduce("ReduceProd", head, axes: [0], keepsAxes: true)
            let target = try call.graph.concat([count, call.graph.integers([-1])], axis: 0)
            return [call.graph.reshape(x, toComputed: target, shape: [nil, nil])]
        }
        return [try call.graph.reshape(x, to: [rows ?? -1, columns ?? -1])]
    }
}
