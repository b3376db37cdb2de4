/// Operations that move elements.
extension GraphBuilder {
    /// Reshapes a value. In `target`, 0 keeps the extent at that index, and one -1 takes the remaining elements.
    package func reshape(_ value: Graph.Value, to target: [Int]) throws(Problem) -> Graph.Value {
        guard target.filter({ $0 == -1 }).count <= 1, target.allSatisfy({ $0 >= -1 }) else {
            throw Problem("invalid shape \(target)")
        }
        var shape: [Int?] = []
        for (axis, extent) in target.enumerated() {
            if extent == 0 {
                guard axis < value.rank else {
                    throw Problem(
                        "the shape \(target) keeps axis \(axis), which \(shapeText(value.shape)) does not have")
                }
                shape.append(value.shape[axis])
            } else {
                shape.append(extent == -1 ? nil : extent)
            }
        }
        if let known = value.staticShape, let total = elementCount(known) {
            let rest = shape.enumerated().filter { target[$0.offset] != -1 }.compactMap(\.element)
            guard let product = elementCount(rest) else { throw Problem("the shape \(target) is too large") }
            if let open = target.firstIndex(of: -1) {
                guard product > 0, total % product == 0 else {
                    throw Problem(
                        "\(shapeText(value.shape)) has \(total) elements, which do not fit the shape \(target)")
                }
                shape[open] = total / product
            } else if product != total {
                throw Problem("\(shapeText(value.shape)) has \(total) elements, which do not fit the shape \(target)")
            }
        }
        if let known = value.staticShape, known == shape { return value }
        return operation("Reshape", 1, [value, integers(target)], ["special_zero": true], shape: shape)
    }

    /// Reshapes a value to a computed shape: `target` is a list of i64.
    package func reshape(_ value: Graph.Value, toComputed target: Graph.Value, shape: [Int?]) -> Graph.Value {
        operation("Reshape", 1, [value, target], ["special_zero": false], shape: shape)
    }

    /// Permutes the axes: axis `i` of the result is axis `order[i]` of the value. Throws if `order` is not a
    /// permutation.
    package func transpose(_ value: Graph.Value, _ order: [Int]) throws(Problem) -> Graph.Value {
        guard order.sorted() == Array(0..<value.rank) else {
            throw Problem("\(order) is not a permutation of the \(value.rank) axes of \(shapeText(value.shape))")
        }
        if order == Array(0..<value.rank) { return value }
        return operation("Transpose", 1, [value, integers(order)], shape: order.map { value.shape[$0] })
    }

    /// Inserts axes of extent 1. `axes` are indices in the result; negative ones count from its end.
    package func unsqueeze(_ value: Graph.Value, _ axes: [Int]) throws(Problem) -> Graph.Value {
        if axes.isEmpty { return value }
        let rank = value.rank + axes.count
        var places: Set<Int> = []
        for axis in axes { places.insert(try positiveAxis(axis, rank: rank)) }
        guard places.count == axes.count else { throw Problem("the axes \(axes) contain a duplicate") }
        var rest = value.shape[...]
        let shape = (0..<rank).map { places.contains($0) ? 1 : rest.popFirst() ?? nil }
        return operation("Unsqueeze", 1, [value, integers(places.sorted())], shape: shape)
    }

    /// Removes axes of extent 1. Throws if one is known to be longer.
    package func squeeze(_ value: Graph.Value, _ axes: [Int]) throws(Problem) -> Graph.Value {
        if axes.isEmpty { return value }
        var places: Set<Int> = []
        for axis in axes {
            let place = try positiveAxis(axis, rank: value.rank)
            guard (value.shape[place] ?? 1) == 1 else {
                throw Problem("axis \(axis) of \(shapeText(value.shape)) is longer than 1, and cannot be removed")
            }
            places.insert(place)
        }
        let shape = value.shape.enumerated().filter { !places.contains($0.offset) }.map(\.element)
        return operation("Squeeze", 1, [value, integers(places.sorted())], shape: shape)
    }

    package func concat(_ values: [Graph.Value], axis: Int) throws(Problem) -> Graph.Value {
        guard let first = values.first else { throw Problem("nothing to join") }
        if values.count == 1 { return first }
        let axis = try positiveAxis(axis, rank: first.rank)
        var shape = first.shape
        for value in values.dropFirst() {
            guard value.rank == first.rank else {
                throw Problem("\(shapeText(first.shape)) and \(shapeText(value.shape)) cannot be joined")
            }
            for place in shape.indices {
                if place == axis {
                    shape[place] = shape[place].flatMap { sum in
                        value.shape[place].flatMap { summand in
                            let (total, overflow) = sum.addingReportingOverflow(summand)
                            return overflow ? nil : total
                        }
                    }
                } else if let one = shape[place], let other = value.shape[place], one != other {
                    throw Problem(
                        "\(shapeText(first.shape)) and \(shapeText(value.shape)) cannot be joined along axis \(axis)")
                } else {
                    shape[place] = shape[place] ?? value.shape[place]
                }
            }
        }
        return operation("Concat", 1, values, ["axis": .integer(axis)], shape: shape)
    }

    /// Splits a value along an axis into parts of the given sizes.
    package func split(_ value: Graph.Value, axis: Int, sizes: [Int]) throws(Problem) -> [Graph.Value] {
        let axis = try positiveAxis(axis, rank: value.rank)
        guard !sizes.isEmpty, sizes.allSatisfy({ $0 > 0 && $0 <= Int(Int32.max) }), sizes.count <= 1 << 16 else {
            throw Problem("invalid part sizes \(sizes)")
        }
        if let extent = value.shape[axis], extent != sizes.reduce(0, +) {
            throw Problem("parts of \(sizes) do not add up to the extent \(extent) of axis \(axis)")
        }
        let outputs: [(type: Graph.ElementType, shape: [Int?])] = sizes.map { size in
            var shape = value.shape
            shape[axis] = size
            return (value.type, shape)
        }
        return operation("VariadicSplit", 1, [value, scalar(axis), integers(sizes)], outputs: outputs)
    }

    /// Every `steps`-th element from `starts` to before `ends` along `axes` (one each); negative indices count from the
    /// end, and a negative step goes backwards. Indices out of range are clamped, as in Python.
    package func slice(_ value: Graph.Value, axes: [Int], starts: [Int], ends: [Int], steps: [Int]) throws(Problem)
        -> Graph.Value
    {
        guard axes.count == starts.count, axes.count == ends.count, axes.count == steps.count else {
            throw Problem(
                "a slice of \(axes.count) axes has \(starts.count) starts, \(ends.count) ends, \(steps.count) steps")
        }
        var shape = value.shape
        var places: [Int] = []
        for (index, axis) in axes.enumerated() {
            let place = try positiveAxis(axis, rank: value.rank)
            guard steps[index] != 0, !places.contains(place) else {
                throw Problem("a slice has the step 0, or one axis twice")
            }
            places.append(place)
            shape[place] = value.shape[place].map {
                sliceLength(extent: $0, start: starts[index], end: ends[index], step: steps[index])
            }
        }
        return operation(
            "Slice", 8, [value, integers(starts), integers(ends), integers(steps), integers(places)], shape: shape)
    }

    package func reverse(_ value: Graph.Value, axes: [Int]) throws(Problem) -> Graph.Value {
        axes.isEmpty
            ? value
            : try slice(
                value, axes: axes, starts: axes.map { _ in -1 }, ends: axes.map { _ in Int(Int32.min) },
                steps: axes.map { _ in -1 })
    }

    /// Repeats the value along each axis.
    package func tile(_ value: Graph.Value, _ repeats: [Int]) throws(Problem) -> Graph.Value {
        guard repeats.count == value.rank, repeats.allSatisfy({ $0 > 0 && $0 <= Int(Int32.max) }) else {
            throw Problem("invalid repetitions \(repeats) of \(shapeText(value.shape))")
        }
        if repeats.allSatisfy({ $0 == 1 }) { return value }
        let shape = zip(value.shape, repeats).map { extent, count in extent.flatMap { checkedProduct($0, count) } }
        return operation("Tile", 1, [value, integers(repeats)], shape: shape)
    }

    /// Repeats the value along each axis, by a computed list of integers.
    func tile(_ value: Graph.Value, computed repeats: Graph.Value, shape: [Int?]) -> Graph.Value {
        operation("Tile", 1, [value, convert(repeats, to: .i64)], shape: shape)
    }

    func stack(_ values: [Graph.Value], axis: Int) throws(Problem) -> Graph.Value {
        var layers: [Graph.Value] = []
        for value in values { layers.append(try unsqueeze(value, [axis])) }
        return try concat(layers, axis: axis)
    }

    /// Pads each axis, or crops it if the amount is negative. `mode`: constant, edge, reflect, symmetric.
    package func pad(
        _ value: Graph.Value, before: [Int], after: [Int], mode: String = "constant", with fill: Float = 0
    ) throws(Problem) -> Graph.Value {
        guard before.count == value.rank, after.count == value.rank,
            (before + after).allSatisfy({ abs($0) <= Int(Int32.max) })
        else {
            throw Problem("padding of \(before) and \(after) does not fit \(shapeText(value.shape))")
        }
        if (before + after).allSatisfy({ $0 == 0 }) { return value }
        var shape: [Int?] = []
        for axis in 0..<value.rank {
            let extent = value.shape[axis].map { $0 + before[axis] + after[axis] }
            if let extent, extent <= 0 {
                throw Problem("padding of \(before) and \(after) leaves nothing of \(shapeText(value.shape))")
            }
            shape.append(extent)
        }
        var inputs = [value, integers(before), integers(after)]
        if mode == "constant" { inputs.append(convert(float(fill), to: value.type)) }
        return operation("Pad", 12, inputs, ["pad_mode": .text(mode)], shape: shape)
    }

    /// The elements at `indices` along an axis. Negative indices count from the end.
    package func gather(_ value: Graph.Value, _ indices: Graph.Value, axis: Int, batchAxes: Int = 0) throws(Problem)
        -> Graph.Value
    {
        let axis = try positiveAxis(axis, rank: value.rank)
        guard batchAxes >= 0, batchAxes <= axis, batchAxes <= indices.rank else {
            throw Problem("unsupported: \(batchAxes) batch axes of a gather along axis \(axis)")
        }
        var shape = Array(value.shape[..<axis])
        shape += indices.shape[batchAxes...]
        shape += value.shape[(axis + 1)...]
        return operation(
            "Gather", 8, [value, indices, scalar(axis)], ["batch_dims": .integer(batchAxes)], shape: shape)
    }

    /// A value of one element, reshaped to a scalar.
    func scalar(of value: Graph.Value) throws(Problem) -> Graph.Value {
        value.rank == 0 ? value : try reshape(value, to: [])
    }

    package func broadcast(_ value: Graph.Value, to target: [Int]) -> Graph.Value {
        broadcast(value, toComputed: integers(target), shape: target)
    }

    /// Broadcasts the value to a computed shape: `target` is a list of integers.
    func broadcast(_ value: Graph.Value, toComputed target: Graph.Value, shape: [Int?]) -> Graph.Value {
        operation("Broadcast", 3, [value, convert(target, to: .i64)], ["mode": "numpy"], shape: shape)
    }
}

/// The number of elements of a slice, with Python's rules. `step` is not 0.
package func sliceLength(extent: Int, start: Int, end: Int, step: Int) -> Int {
    func limited(_ index: Int) -> Int {
        let position = index < 0 ? index.addingReportingOverflow(extent).partialValue : index
        return step > 0 ? min(max(position, 0), extent) : min(max(position, -1), extent - 1)
    }
    let distance = step > 0 ? limited(end) - limited(start) : limited(start) - limited(end)
    let magnitude = Int(clamping: step.magnitude)
    return distance <= 0 ? 0 : (distance - 1) / magnitude + 1
}
