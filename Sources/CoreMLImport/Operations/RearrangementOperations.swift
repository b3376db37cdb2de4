/// Operations that rearrange elements: interleaving, splitting, blocks, windows.
extension GraphBuilder {
    /// Interleaves values of one shape along an axis: the first element of each, then the second of each.
    func interleaved(_ values: [Graph.Value], axis: Int) throws(Problem) -> Graph.Value {
        guard let first = values.first, let extent = first.shape[axis],
            let total = checkedProduct(extent, values.count),
            values.allSatisfy({ $0.shape == first.shape })
        else { throw Problem("interleaved inputs must have the same shape, and a known extent") }
        var layers: [Graph.Value] = []
        for value in values { layers.append(try unsqueeze(value, [axis + 1])) }
        var target = first.shape.map { $0 ?? 0 }
        target[axis] = total
        return try reshape(concat(layers, axis: axis + 1), to: target)
    }

    /// Splits a value along an axis into `count` equal parts.
    func equalParts(_ x: Graph.Value, axis: Int, count: Int) throws(Problem) -> [Graph.Value] {
        let axis = try positiveAxis(axis, rank: x.rank)
        var shape = x.shape
        guard count > 0, count <= 1 << 16, (shape[axis] ?? 0) % count == 0 else {
            throw Problem("cannot divide axis \(axis) of \(shapeText(x.shape)) into \(count) equal parts")
        }
        shape[axis] = shape[axis].map { $0 / count }
        return operation(
            "Split", 1, [x, scalar(axis)], ["num_splits": .integer(count)],
            outputs: (0..<count).map { _ in (x.type, shape) })
    }

    /// Flattens the axes before `axis` to rows, and the others to columns. `axis` may equal the rank.
    func matrix(of x: Graph.Value, from axis: Int) throws(Problem) -> Graph.Value {
        guard axis >= -x.rank, axis <= x.rank else {
            throw Problem("axis \(axis) is out of range: the value has \(x.rank) axes")
        }
        let axis = axis < 0 ? axis + x.rank : axis
        func product(_ extents: ArraySlice<Int?>) -> Int? {
            let known = extents.compactMap { $0 }
            return known.count == extents.count ? elementCount(known) : nil
        }
        let (rows, columns) = (product(x.shape[..<axis]), product(x.shape[axis...]))
        if rows != nil || columns != nil { return try reshape(x, to: [rows ?? -1, columns ?? -1]) }
        let head = try slice(shape(of: x), axes: [0], starts: [0], ends: [axis], steps: [1])
        let count = try reduce("ReduceProd", head, axes: [0], keepsAxes: true)
        return reshape(x, toComputed: try concat([count, integers([-1])], axis: 0), shape: [nil, nil])
    }

    /// All windows of `size` elements along an axis, `step` apart, each on a separate axis.
    func slidingWindows(_ x: Graph.Value, axis: Int, size: Int, step: Int) throws(Problem) -> Graph.Value {
        let axis = try positiveAxis(axis, rank: x.rank)
        guard let extent = x.shape[axis], size > 0, size <= extent, step > 0 else {
            throw Problem(
                "windows of \(size) elements, \(step) apart, do not fit axis \(axis) of \(shapeText(x.shape))")
        }
        // Check the size before any window is built.
        let count = (extent - size) / step + 1
        guard let total = checkedProduct(count, size), total <= 1 << 24 else {
            throw Problem("windows of \(size) elements, \(step) apart, of \(extent) are too many")
        }
        let places = (0..<total).map { Int32(clamping: $0 / size * step + $0 % size) }
        return try gather(x, constant(.i32, shape: [count, size], bytes: Bytes(of: places)), axis: axis)
    }

    /// The order of the channels made from a block.
    enum BlockOrder: String {
        case blocksFirst = "blocks_first"
        case depthFirst = "depth_first"
    }

    /// Moves blocks of rows and columns to channels.
    func spaceToDepth(_ x: Graph.Value, block: Int, _ order: BlockOrder) throws(Problem) -> Graph.Value {
        guard x.rank == 4, block > 0, block <= 1 << 12, x.shape[2...].allSatisfy({ ($0 ?? 0) % block == 0 }) else {
            throw Problem("\(shapeText(x.shape)) cannot be divided into blocks of \(block)")
        }
        return operation(
            "SpaceToDepth", 1, [x], ["block_size": .integer(block), "mode": .text(order.rawValue)],
            shape: [x.shape[0], x.shape[1].flatMap { checkedProduct($0, block * block) }]
                + x.shape[2...].map { $0.map { $0 / block } })
    }

    /// Moves channels to blocks of rows and columns.
    func depthToSpace(_ x: Graph.Value, block: Int, _ order: BlockOrder) throws(Problem) -> Graph.Value {
        guard x.rank == 4, block > 0, block <= 1 << 12, (x.shape[1] ?? 0) % (block * block) == 0 else {
            throw Problem("the channels of \(shapeText(x.shape)) cannot be divided into blocks of \(block) by \(block)")
        }
        return operation(
            "DepthToSpace", 1, [x], ["block_size": .integer(block), "mode": .text(order.rawValue)],
            shape: [x.shape[0], x.shape[1].map { $0 / (block * block) }]
                + x.shape[2...].map { $0.flatMap { checkedProduct($0, block) } })
    }
}
