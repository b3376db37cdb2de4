/// Operations that find elements by size or index: sorting, masks, gathers, scatters.
extension GraphBuilder {
    /// The largest or smallest elements along an axis in order, and their indices as i32. Equal elements keep their
    /// order.
    /// - Parameters:
    ///   - count: the number of elements, a scalar.
    ///   - known: the value of `count` if it is known.
    func topK(_ x: Graph.Value, count: Graph.Value, known: Int?, axis: Int, largest: Bool) throws(Problem) -> [Graph
        .Value]
    {
        let axis = try positiveAxis(axis, rank: x.rank)
        if let known, known <= 0 || known > x.shape[axis] ?? known {
            throw Problem("cannot take the top \(known) of axis \(axis) of \(shapeText(x.shape))")
        }
        var shape = x.shape
        shape[axis] = known
        return operation(
            "TopK", 11, [x, count],
            [
                "axis": .integer(axis), "mode": largest ? "max" : "min", "sort": "value", "index_element_type": "i32",
                "stable": true,
            ], outputs: [(x.type, shape), (.i32, shape)])
    }

    /// The index of the largest or smallest element along an axis; the axis stays, with extent 1.
    func argument(_ x: Graph.Value, axis: Int, largest: Bool) throws(Problem) -> Graph.Value {
        try topK(x, count: scalar(1, type: .i32), known: 1, axis: axis, largest: largest)[1]
    }

    /// The indices that sort the elements along an axis.
    func order(of x: Graph.Value, axis: Int, largestFirst: Bool) throws(Problem) -> Graph.Value {
        let axis = try positiveAxis(axis, rank: x.rank)
        let count = try scalar(of: convert(extent(of: x, axis: axis), to: .i32))
        return try topK(x, count: count, known: x.shape[axis], axis: axis, largest: largestFirst)[1]
    }

    /// The indices of the nonzero elements, [count, axes], as i32.
    func places(ofNonZero x: Graph.Value) throws(Problem) -> Graph.Value {
        let places = operation("NonZero", 3, [x], ["output_type": "i32"], type: .i32, shape: [x.rank, nil])
        return try transpose(places, [1, 0])
    }

    /// Keeps the elements of each matrix (the last two axes) whose column minus row is between `first` and `last`; sets
    /// the others to 0. A bound that is nil is open.
    func band(_ x: Graph.Value, from first: Int?, to last: Int?) throws(Problem) -> Graph.Value {
        guard x.rank >= 2 else { throw Problem("expected a matrix, found shape \(shapeText(x.shape))") }
        func numbers(axis: Int) throws(Problem) -> Graph.Value {
            try range(
                from: scalar(0), to: scalar(of: extent(of: x, axis: axis)), by: scalar(1), type: .i64,
                count: x.shape[x.rank + axis])
        }
        let right = try subtract(numbers(axis: -1), unsqueeze(numbers(axis: -2), [1]))
        var result = x
        // Select instead of multiplying: the dropped elements may be infinite.
        let zero = convert(float(0), to: x.type)
        if let first { result = try select(binary("GreaterEqual", right, scalar(first)), result, zero) }
        if let last { result = try select(binary("LessEqual", right, scalar(last)), result, zero) }
        return result
    }

    /// The numbers from a scalar to before another.
    func range(
        from start: Graph.Value, to end: Graph.Value, by step: Graph.Value, type: Graph.ElementType, count: Int?
    ) -> Graph.Value {
        operation(
            "Range", 4, [start, end, step].map { convert($0, to: type) }, ["output_type": .text(type.rawValue)],
            type: type, shape: [count])
    }

    /// Adds an axis with `on` at the indices and `off` elsewhere. `size` is a scalar, `known` its value if it is known.
    func oneHot(
        _ indices: Graph.Value, size: Graph.Value, known: Int?, axis: Int, on: Graph.Value, off: Graph.Value
    ) throws(Problem) -> Graph.Value {
        let axis = try positiveAxis(axis, rank: indices.rank + 1)
        var shape = indices.shape
        shape.insert(known, at: axis)
        return operation(
            "OneHot", 1, [convert(indices, to: .i64), convert(size, to: .i64), on, off], ["axis": .integer(axis)],
            type: on.type, shape: shape)
    }

    /// Cumulative sums along an axis, a scalar.
    func cumulativeSum(_ x: Graph.Value, axis: Graph.Value, exclusive: Bool, reverse: Bool) -> Graph.Value {
        operation(
            "CumSum", 3, [x, axis], ["exclusive": .bool(exclusive), "reverse": .bool(reverse)], shape: x.shape)
    }

    /// Reverses the first `lengths` elements of each sequence.
    func reverseSequence(_ x: Graph.Value, lengths: Graph.Value, batchAxis: Int, sequenceAxis: Int) throws(Problem)
        -> Graph.Value
    {
        let (batch, sequence) = (
            try positiveAxis(batchAxis, rank: x.rank), try positiveAxis(sequenceAxis, rank: x.rank)
        )
        guard lengths.rank == 1, batch != sequence else {
            throw Problem(
                "sequences along axis \(sequence), of axis \(batch), with lengths \(shapeText(lengths.shape))")
        }
        return operation(
            "ReverseSequence", 1, [x, lengths], ["batch_axis": .integer(batch), "seq_axis": .integer(sequence)],
            shape: x.shape)
    }

    // MARK: Gathers

    /// Makes negative indices, which count from the end, positive; as i64.
    func counted(_ indices: Graph.Value, extents: Graph.Value) throws(Problem) -> Graph.Value {
        let indices = convert(indices, to: .i64)
        return try select(binary("Less", indices, scalar(0)), add(indices, extents), indices)
    }

    /// The extents of axes as a list of i64; computed at run time if they are open.
    func extents(of x: Graph.Value, _ axes: Range<Int>) throws(Problem) -> Graph.Value {
        let known = x.shape[axes].compactMap { $0 }
        if known.count == axes.count { return integers(known) }
        return try gather(shape(of: x), integers(Array(axes)), axis: 0)
    }

    /// The extent of an axis as a list of one i64; computed at run time if it is open.
    func extent(of x: Graph.Value, axis: Int) throws(Problem) -> Graph.Value {
        let axis = try positiveAxis(axis, rank: x.rank)
        return try extents(of: x, axis..<axis + 1)
    }

    /// numpy's take_along_axis. Negative indices count from the end.
    func gatherAlongAxis(_ x: Graph.Value, _ indices: Graph.Value, axis: Int) throws(Problem) -> Graph.Value {
        let axis = try positiveAxis(axis, rank: x.rank)
        let places = try counted(indices, extents: extent(of: x, axis: axis))
        return operation("GatherElements", 6, [x, places], ["axis": .integer(axis)], shape: places.shape)
    }

    /// The elements at multi-dimensional indices: the last axis of `indices` indexes the first axes after `batchAxes`.
    func gatherND(_ x: Graph.Value, _ indices: Graph.Value, batchAxes: Int = 0) throws(Problem) -> Graph.Value {
        let axes = try axes(namedBy: indices, of: x, behind: batchAxes)
        return operation(
            "GatherND", 8, [x, try counted(indices, extents: extents(of: x, axes))],
            ["batch_dims": .integer(batchAxes)], shape: indices.shape.dropLast() + x.shape[axes.upperBound...])
    }

    private func axes(namedBy indices: Graph.Value, of x: Graph.Value, behind batch: Int) throws(Problem) -> Range<Int>
    {
        guard let depth = indices.shape.last ?? nil, batch >= 0, batch < indices.rank, depth > 0,
            depth <= x.rank - batch
        else {
            throw Problem(
                "indices of shape \(shapeText(indices.shape)) do not match a value of shape \(shapeText(x.shape))")
        }
        return batch..<batch + depth
    }

    // MARK: Scatters

    /// The ways to combine a new element with the old one, by the numbers of Core ML's networks.
    enum Scatter: Int {
        case update, add, subtract, multiply, divide, max, min
    }

    /// The engine's reduction, and the updates transformed for modes that it lacks.
    private func reduction(_ mode: Scatter, _ updates: Graph.Value) throws(Problem) -> (Graph.Attribute, Graph.Value) {
        switch mode {
        case .update: ("none", updates)
        case .add: ("sum", updates)
        case .subtract: ("sum", unary("Negative", updates))
        case .multiply: ("prod", updates)
        case .divide: ("prod", try divide(convert(float(1), to: updates.type), updates))
        case .max: ("max", updates)
        case .min: ("min", updates)
        }
    }

    /// Writes slices [n, …] at the indices [n] of an axis.
    func scatter(_ x: Graph.Value, _ indices: Graph.Value, _ updates: Graph.Value, axis: Int, _ mode: Scatter)
        throws(Problem) -> Graph.Value
    {
        let axis = try positiveAxis(axis, rank: x.rank)
        guard indices.rank <= 1, updates.rank == x.rank else {
            throw Problem(
                "indices of shape \(shapeText(indices.shape)) do not match updates of shape \(shapeText(updates.shape))"
            )
        }
        // Broadcast the index to every element of a slice.
        let places = try reshape(
            counted(indices, extents: extent(of: x, axis: axis)), to: (0..<x.rank).map { $0 == axis ? -1 : 1 })
        let spread = broadcast(places, toComputed: shape(of: updates), shape: updates.shape)
        return try scatterElements(x, spread, updates, axis: axis, mode)
    }

    /// numpy's put_along_axis. Negative indices count from the end.
    func scatterAlongAxis(_ x: Graph.Value, _ indices: Graph.Value, _ updates: Graph.Value, axis: Int, _ mode: Scatter)
        throws(Problem) -> Graph.Value
    {
        let axis = try positiveAxis(axis, rank: x.rank)
        return try scatterElements(
            x, counted(indices, extents: extent(of: x, axis: axis)), updates, axis: axis, mode)
    }

    private func scatterElements(
        _ x: Graph.Value, _ places: Graph.Value, _ updates: Graph.Value, axis: Int, _ mode: Scatter
    ) throws(Problem) -> Graph.Value {
        let (reduction, updates) = try reduction(mode, updates)
        return operation(
            "ScatterElementsUpdate", 12, [x, places, updates, scalar(axis)],
            ["reduction": reduction, "use_init_val": true], shape: x.shape)
    }

    /// Writes elements at multi-dimensional indices, the last axis of `indices`.
    func scatterND(_ x: Graph.Value, _ indices: Graph.Value, _ updates: Graph.Value, _ mode: Scatter) throws(Problem)
        -> Graph.Value
    {
        let places = try counted(indices, extents: extents(of: x, axes(namedBy: indices, of: x, behind: 0)))
        let (reduction, updates) = try reduction(mode, updates)
        return operation("ScatterNDUpdate", 15, [x, places, updates], ["reduction": reduction], shape: x.shape)
    }
}
