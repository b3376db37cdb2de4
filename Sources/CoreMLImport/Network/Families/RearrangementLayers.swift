/// Layers that join, split, repeat, pad and rearrange: concat, split, stack, tile, reverse, sequenceRepeat,
/// broadcastTo…, padding, constantPad, reorganizeData, slidingWindows.
enum RearrangementLayers {
    static let table: [LayerTranslator] = [
        LayerTranslator(320, "concat") { (layer) throws(Problem) in
            let (values, folded) = try layer.alike()
            let axis = try layer.parameters.bool(100) ? (folded ? 0 : -5) : -3
            return [Blob(try layer.graph.concat(values, axis: axis), isFolded: folded)]
        }.onChannels,
        LayerTranslator(330, "split") { (layer) throws(Problem) in
            try layer.expectInputs(1...1)
            let (blob, count) = (try layer.input(), try layer.size(1, "nOutputs", default: layer.outputCount))
            return try equalParts(layer, blob.value, axis: -3, count: count).map { Blob($0, isFolded: blob.isFolded) }
        }.onChannels,
        LayerTranslator(980, "concatND") { (layer) throws(Problem) in
            let values = try layer.arrays()
            let axis = try positiveAxis(layer.parameters.integer(1), rank: values[0].rank)
            return [
                Blob(
                    try layer.parameters.bool(2)
                        ? layer.graph.interleaved(values, axis: axis) : layer.graph.concat(values, axis: axis))
            ]
        },
        LayerTranslator(975, "splitND") { (layer) throws(Problem) in
            try layer.expectInputs(1...1)
            let (x, axis, sizes) = (
                try layer.array(), try layer.parameters.integer(1), try layer.parameters.integers(3)
            )
            if !sizes.isEmpty { return try layer.graph.split(x, axis: axis, sizes: sizes).map { Blob($0) } }
            let count = try layer.size(2, "numSplits", default: layer.outputCount)
            return try equalParts(layer, x, axis: axis, count: count).map { Blob($0) }
        },
        LayerTranslator(925, "stack") { (layer) throws(Problem) in
            [Blob(try layer.graph.stack(layer.arrays(), axis: layer.parameters.integer(1)))]
        },
        .ofArrays(920, "tile", inputs: 1...2) { (layer, x) throws(Problem) in
            guard layer.inputs.count == 2 else { return try layer.graph.tile(x, layer.parameters.integers(1)) }
            return layer.graph.tile(
                x, computed: try layer.array(1), shape: [Int?](repeating: nil, count: x.rank))
        },
        .ofArrays(960, "reverse") { (layer, x) throws(Problem) in
            let flags = try layer.parameters.integers(1)
            guard flags.count == x.rank else { throw Problem("reverseDim has \(flags.count) of \(x.rank) axes") }
            return try layer.graph.reverse(x, axes: flags.indices.filter { flags[$0] != 0 })
        },
        .ofElements(340, "sequenceRepeat") { (layer, x) throws(Problem) in
            let (blob, count) = (try layer.input(), try layer.size(1, "nRepetitions", default: 1))
            guard blob.rank == 5 else {
                throw Problem("expected an input with five axes, found shape \(shapeText(blob.shape))")
            }
            return try layer.graph.tile(x, [count] + Array(repeating: 1, count: x.rank - 1))
        },
        .ofArrays(1100, "broadcastToLike", inputs: 2...2) { (layer, x) throws(Problem) in
            let model = try layer.array(1)
            return layer.graph.broadcast(x, toComputed: layer.graph.shape(of: model), shape: model.shape)
        },
        .ofArrays(1105, "broadcastToStatic") { (layer, x) throws(Problem) in
            let target = try layer.shape(1, "targetShape")
            guard try broadcastShape(x.shape, target) == target else {
                throw Problem("\(shapeText(x.shape)) cannot be repeated to \(target)")
            }
            return layer.graph.broadcast(x, to: target)
        },
        .ofArrays(1110, "broadcastToDynamic", inputs: 2...2) { (layer, x) throws(Problem) in
            let (target, shape) = try layer.targetShape(1)
            return layer.graph.broadcast(x, toComputed: target, shape: shape)
        },
        .ofImages(200, "padding") { (layer, x) throws(Problem) in
            let (begin, end) = try ConvolutionLayers.borders(layer.parameters.message(10))
            let mode = layer.parameters.has(3) ? "edge" : layer.parameters.has(2) ? "reflect" : "constant"
            return try layer.graph.pad(
                x, before: [0, 0] + begin, after: [0, 0] + end, mode: mode,
                with: layer.parameters.message(1)?.float(1) ?? 0)
        },
        .ofArrays(1155, "constantPad", constantPad),
        .ofImages(345, "reorganizeData") { (layer, x) throws(Problem) in
            let block = try layer.size(2, "blockSize")
            switch try layer.parameters.integer(1) {
            case 0: return try layer.graph.spaceToDepth(x, block: block, .blocksFirst)
            case 1: return try layer.graph.depthToSpace(x, block: block, .blocksFirst)
            case 2: return try layer.graph.depthToSpace(x, block: block, .depthFirst)
            case let mode: throw Problem("unknown mode \(mode)")
            }
        },
        .ofArrays(1005, "slidingWindows") { (layer, x) throws(Problem) in
            try layer.graph.slidingWindows(
                x, axis: layer.parameters.integer(1), size: layer.size(2, "windowSize"), step: layer.size(3, "step"))
        },
    ]

    private static func equalParts(_ layer: Layer, _ x: Graph.Value, axis: Int, count: Int) throws(Problem)
        -> [Graph.Value]
    {
        // Require one output for each part, so that a layer of a few bytes cannot request millions.
        guard count == layer.outputCount else {
            throw Problem("there are \(count) parts for \(layer.outputCount) outputs")
        }
        return try layer.graph.equalParts(x, axis: axis, count: count)
    }

    /// Pads any axes: pairs of amounts before and after, or the extents to reach.
    private static func constantPad(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let amounts = try layer.parameters.integers(2)
        guard amounts.count == 2 * x.rank, amounts.allSatisfy({ $0 >= 0 && $0 <= Int(Int32.max) }) else {
            throw Problem("padAmounts is \(amounts): expected \(2 * x.rank) amounts")
        }
        let reaches = try layer.parameters.bool(3)
        var (before, after): ([Int], [Int]) = ([], [])
        for axis in 0..<x.rank {
            var (front, behind) = (amounts[2 * axis], amounts[2 * axis + 1])
            if reaches {
                // At most one of the two is the extent to reach; the other is 0.
                guard front == 0 || behind == 0 else { throw Problem("padAmounts of axis \(axis) has two sizes") }
                guard let extent = x.shape[axis] else { throw Problem("axis \(axis) has an open extent") }
                (front, behind) = (max(0, front - extent), max(0, behind - extent))
            }
            before.append(front)
            after.append(behind)
        }
        return try layer.graph.pad(x, before: before, after: after, with: layer.parameters.float(1))
    }
}
