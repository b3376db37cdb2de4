/// Layers that join, part, repeat, pad and rearrange: concat, split, stack, tile, reverse, sequenceRepeat, broadcastTo…, padding,
/// constantPad, reorganizeData, slidingWindows.
enum RearrangementLayers {
    static let table = [
        .onChannels(320, "concat", concat), .onChannels(330, "split", split),
        LayerTranslator(980, "concatND", concatND), LayerTranslator(975, "splitND", splitND),
        LayerTranslator(925, "stack", stack), LayerTranslator(920, "tile", tile),
        LayerTranslator(960, "reverse", reverse), LayerTranslator(340, "sequenceRepeat", sequenceRepeat),
        LayerTranslator(1100, "broadcastToLike", broadcastToLike),
        LayerTranslator(1105, "broadcastToStatic", broadcastToStatic),
        LayerTranslator(1110, "broadcastToDynamic", broadcastToDynamic), LayerTranslator(200, "padding", padding),
        LayerTranslator(1155, "constantPad", constantPad), LayerTranslator(345, "reorganizeData", reorganize),
        LayerTranslator(1005, "slidingWindows", slidingWindows),
    ]

    private static func concat(_ layer: Layer) throws(Problem) -> [Blob] {
        let (values, folded) = try layer.alike()
        let isSequence = try layer.parameters.bool(100)
        return [
            Blob(try layer.graph.concat(values, axis: isSequence ? (folded ? 0 : -5) : -3), isFolded: folded)
        ]
    }

    private static func split(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (blob, count) = (try layer.input(), try layer.size(1, "nOutputs", default: layer.outputCount))
        let parts = try equalParts(layer, blob.value, axis: -3, count: count)
        return parts.map { Blob($0, isFolded: blob.isFolded) }
    }

    private static func equalParts(_ layer: Layer, _ value: Graph.Value, axis: Int, count: Int) throws(Problem)
        -> [Graph.Value]
    {
        let place = try positiveAxis(axis, rank: value.rank)
        // As many as the layer names: one of a few bytes must not ask for millions.
        guard count == layer.outputCount else {
            throw Problem("there are \(count) parts for \(layer.outputCount) outputs")
        }
        guard let extent = value.shape[place], count > 0, extent % count == 0 else {
            throw Problem("cannot divide axis \(axis) of \(shapeText(value.shape)) into \(count) equal parts")
        }
        return try layer.graph.split(value, axis: place, sizes: Array(repeating: extent / count, count: count))
    }

    private static func concatND(_ layer: Layer) throws(Problem) -> [Blob] {
        var values: [Graph.Value] = []
        for index in layer.inputs.indices { values.append(try layer.array(index)) }
        guard let first = values.first else { throw Problem("the layer has no input") }
        let axis = try positiveAxis(layer.parameters.integer(1), rank: first.rank)
        guard try layer.parameters.bool(2) else { return [Blob(try layer.graph.concat(values, axis: axis))] }
        // Interleaved: one of each in turn.
        guard let extent = first.shape[axis], values.allSatisfy({ $0.shape == first.shape }) else {
            throw Problem("interleaved inputs must have the same shape")
        }
        var apart: [Graph.Value] = []
        for value in values { apart.append(try layer.graph.unsqueeze(value, [axis + 1])) }
        let joined = try layer.graph.concat(apart, axis: axis + 1)
        guard let total = checkedProduct(extent, values.count) else { throw Problem("the result is too large") }
        let target = first.shape.map { $0 ?? 0 }
        var shape = Array(target[..<axis])
        shape.append(total)
        shape += target[(axis + 1)...]
        return [Blob(try layer.graph.reshape(joined, to: shape))]
    }

    private static func splitND(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let value = try layer.array()
        let axis = try layer.parameters.integer(1)
        let sizes = try layer.parameters.integers(3)
        if !sizes.isEmpty { return try layer.graph.split(value, axis: axis, sizes: sizes).map { Blob($0) } }
        let count = try layer.size(2, "numSplits", default: layer.outputCount)
        return try equalParts(layer, value, axis: axis, count: count).map { Blob($0) }
    }

    private static func stack(_ layer: Layer) throws(Problem) -> [Blob] {
        let axis = try layer.parameters.integer(1)
        var values: [Graph.Value] = []
        for index in layer.inputs.indices {
            values.append(try layer.graph.unsqueeze(layer.array(index), [axis]))
        }
        return [Blob(try layer.graph.concat(values, axis: axis))]
    }

    private static func tile(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let value = try layer.array()
        if layer.inputs.count == 2 {
            let repeats = layer.graph.convert(try layer.array(1), to: .i64)
            let shape = [Int?](repeating: nil, count: value.rank)
            return [Blob(layer.graph.operation("Tile", 1, [value, repeats], shape: shape))]
        }
        return [Blob(try layer.graph.tile(value, layer.parameters.integers(1)))]
    }

    private static func reverse(_ layer: Layer) throws(Problem) -> [Blob] {
        let value = try layer.array()
        let flags = try layer.parameters.integers(1)
        guard flags.count == value.rank else { throw Problem("reverseDim has \(flags.count) of \(value.rank) axes") }
        return [Blob(try layer.graph.reverse(value, axes: flags.indices.filter { flags[$0] != 0 }))]
    }

    private static func sequenceRepeat(_ layer: Layer) throws(Problem) -> [Blob] {
        let (blob, count) = (try layer.input(), try layer.size(1, "nRepetitions", default: 1))
        guard blob.rank == 5 else {
            throw Problem("expected an input with five axes, found shape \(shapeText(blob.shape))")
        }
        let repeats = [count] + Array(repeating: 1, count: blob.value.rank - 1)
        return [Blob(try layer.graph.tile(blob.value, repeats), isFolded: blob.isFolded)]
    }

    private static func broadcastToLike(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let (value, model) = (try layer.array(0), try layer.array(1))
        return [
            Blob(
                layer.graph.operation(
                    "Broadcast", 3, [value, layer.graph.shape(of: model)], ["mode": "numpy"], shape: model.shape))
        ]
    }

    private static func broadcastToStatic(_ layer: Layer) throws(Problem) -> [Blob] {
        let value = try layer.array()
        let target = try layer.shape(1, "targetShape")
        guard try broadcastShape(value.shape, target) == target else {
            throw Problem("\(shapeText(value.shape)) cannot be repeated to \(target)")
        }
        return [Blob(layer.graph.broadcast(value, to: target))]
    }

    private static func broadcastToDynamic(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let value = try layer.array(0)
        let (target, rank) = try layer.targetShape(1)
        return [
            Blob(
                layer.graph.operation(
                    "Broadcast", 3, [value, layer.graph.convert(target, to: .i64)], ["mode": "numpy"],
                    shape: [Int?](repeating: nil, count: rank)))
        ]
    }

    /// Height and width.
    private static func padding(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        let (begin, end) = try ConvolutionLayers.borders(layer.parameters.message(10))
        var mode = "constant"
        if layer.parameters.has(2) { mode = "reflect" }
        if layer.parameters.has(3) { mode = "edge" }
        let fill = try layer.parameters.message(1)?.float(1) ?? 0
        return [
            try back(try layer.graph.pad(value, before: [0, 0] + begin, after: [0, 0] + end, mode: mode, with: fill))
        ]
    }

    /// Any axes: amounts in front and behind in turn, or the extents to reach.
    private static func constantPad(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let value = try layer.array()
        let amounts = try layer.parameters.integers(2)
        guard amounts.count == 2 * value.rank, amounts.allSatisfy({ $0 >= 0 && $0 <= Int(Int32.max) }) else {
            throw Problem("padAmounts is \(amounts): expected \(2 * value.rank) amounts")
        }
        let reaches = try layer.parameters.bool(3)
        var (before, after): ([Int], [Int]) = ([], [])
        for axis in 0..<value.rank {
            var (front, behind) = (amounts[2 * axis], amounts[2 * axis + 1])
            if reaches {
                // Not more than one of the two says which extent to reach; the other is 0.
                guard front == 0 || behind == 0 else { throw Problem("padAmounts of axis \(axis) has two sizes") }
                guard let extent = value.shape[axis] else { throw Problem("axis \(axis) has an open extent") }
                front = max(0, front - extent)
                behind = max(0, behind - extent)
            }
            before.append(front)
            after.append(behind)
        }
        return [Blob(try layer.graph.pad(value, before: before, after: after, with: layer.parameters.float(1)))]
    }

    private static func reorganize(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        let (block, mode) = (try layer.size(2, "blockSize"), try layer.parameters.integer(1))
        guard block <= 1 << 12, let channels = value.shape[1] else {
            throw Problem("cannot divide the input \(shapeText(value.shape)) into blocks of \(block)")
        }
        let extents = Array(value.shape[2...])
        if mode == 0 {
            guard extents.allSatisfy({ ($0 ?? 0) % block == 0 }), let grown = elementCount([channels, block, block])
            else {
                throw Problem("\(shapeText(extents)) cannot be divided into blocks of \(block)")
            }
            let shape = [value.shape[0], grown] + extents.map { $0.map { $0 / block } }
            return [
                try back(
                    layer.graph.operation(
                        "SpaceToDepth", 1, [value], ["mode": "blocks_first", "block_size": .integer(block)],
                        shape: shape))
            ]
        }
        guard mode <= 2, channels % (block * block) == 0 else {
            throw Problem("\(channels) channels cannot be divided into blocks of \(block) by \(block)")
        }
        let shape = [value.shape[0], channels / (block * block)] + extents.map { $0.map { $0 * block } }
        return [
            try back(
                layer.graph.operation(
                    "DepthToSpace", 1, [value],
                    ["mode": mode == 1 ? "blocks_first" : "depth_first", "block_size": .integer(block)], shape: shape))
        ]
    }

    /// All windows of a size along an axis, each with its own axis.
    private static func slidingWindows(_ layer: Layer) throws(Problem) -> [Blob] {
        let value = try layer.array()
        let axis = try positiveAxis(layer.parameters.integer(1), rank: value.rank)
        let (size, step) = (try layer.size(2, "windowSize"), try layer.size(3, "step"))
        guard let extent = value.shape[axis], size <= extent, value.rank < 8 else {
            throw Problem("unsupported windows of \(size) along axis \(axis) of \(shapeText(value.shape))")
        }
        let count = (extent - size) / step + 1
        guard let total = checkedProduct(count, size), total <= 1 << 20 else {
            throw Problem("too many windows: \(count) of \(size)")
        }
        let indices = (0..<total).map { Int64($0 / size * step + $0 % size) }
        let constant = try layer.graph.constant(.i64, shape: [count, size], bytes: Bytes(of: indices))
        return [Blob(try layer.graph.gather(value, constant, axis: axis))]
    }
}
