/// Operations that move blocks of elements between axes.
extension ProgramOperations {
    static let blocks: [String: Translator] = [
        "space_to_depth": { call throws(Problem) in
            [try spaceToDepth(call, factor: call.integer("block_size"), mode: "blocks_first")]
        },
        "pixel_unshuffle": { call throws(Problem) in
            [try spaceToDepth(call, factor: call.integer("downscale_factor"), mode: "depth_first")]
        },
        "depth_to_space": { call throws(Problem) in
            [try depthToSpace(call, factor: call.integer("block_size"), mode: "blocks_first")]
        },
        "pixel_shuffle": { call throws(Problem) in
            [try depthToSpace(call, factor: call.integer("upscale_factor"), mode: "depth_first")]
        },
        "space_to_batch": { call throws(Problem) in try betweenSpaceAndBatch(call, toBatch: true) },
        "batch_to_space": { call throws(Problem) in try betweenSpaceAndBatch(call, toBatch: false) },
        "sliding_windows": slidingWindows,
    ]

    private static func image(_ call: ProgramCall, factor: Int) throws(Problem) -> Graph.Value {
        let x = try call.float("x")
        guard x.rank == 4 else {
            throw Problem("expected four axes, found shape \(shapeText(x.shape))", at: "x")
        }
        guard factor > 0, factor <= 1 << 12 else { throw Problem("unsupported block of \(factor) elements") }
        return x
    }

    private static func spaceToDepth(_ call: ProgramCall, factor: Int, mode: String) throws(Problem) -> Graph.Value {
        let x = try image(call, factor: factor)
        return call.graph.operation(
            "SpaceToDepth", 1, [x], ["block_size": .integer(factor), "mode": .text(mode)],
            shape: [
                x.shape[0], x.shape[1].flatMap { checkedProduct($0, factor * factor) }, x.shape[2].map { $0 / factor },
                x.shape[3].map { $0 / factor },
            ])
    }

    private static func depthToSpace(_ call: ProgramCall, factor: Int, mode: String) throws(Problem) -> Graph.Value {
        let x = try image(call, factor: factor)
        return call.graph.operation(
            "DepthToSpace", 1, [x], ["block_size": .integer(factor), "mode": .text(mode)],
            shape: [
                x.shape[0], x.shape[1].map { $0 / (factor * factor) },
                x.shape[2].flatMap { checkedProduct($0, factor) },
                x.shape[3].flatMap { checkedProduct($0, factor) },
            ])
    }

    private static func betweenSpaceAndBatch(_ call: ProgramCall, toBatch: Bool) throws(Problem) -> [Graph.Value] {
        let blocks = try call.requiredIntegers("block_shape")
        let amounts = try call.requiredIntegers(toBatch ? "paddings" : "crops")
        let x = try image(call, factor: blocks.max() ?? 0)
        guard blocks.count == 2, blocks.allSatisfy({ $0 > 0 }), amounts.count == 4,
            amounts.allSatisfy({ $0 >= 0 && $0 <= 1 << 24 })
        else { throw Problem("blocks of \(blocks) do not match amounts of \(amounts)") }
        let count = blocks[0] * blocks[1]
        var shape = [x.shape[0].map { toBatch ? $0 * count : $0 / count }, x.shape[1]]
        for axis in 0..<2 {
            let total = amounts[2 * axis] + amounts[2 * axis + 1]
            shape.append(
                x.shape[axis + 2].map { toBatch ? ($0 + total) / blocks[axis] : $0 * blocks[axis] - total })
        }
        let inputs = [
            x, call.graph.integers([1, 1] + blocks), call.graph.integers([0, 0, amounts[0], amounts[2]]),
            call.graph.integers([0, 0, amounts[1], amounts[3]]),
        ]
        return [call.graph.operation(toBatch ? "SpaceToBatch" : "BatchToSpace", 2, inputs, shape: shape)]
    }

    /// Windows of `size` elements along an axis, each beginning `stride` after the one before.
    private static func slidingWindows(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let x = try call.value("x")
        let axis = try positiveAxis(call.integer("axis"), rank: x.rank)
        let (size, stride) = (try call.integer("size"), try call.integer("stride", default: 1))
        guard let extent = x.shape[axis] else { throw Problem("windows need an axis of known extent") }
        guard size > 0, size <= extent, stride > 0 else {
            throw Problem("windows of \(size) elements, \(stride) apart, do not fit an extent of \(extent)")
        }
        // Counted before anything is made of them.
        guard let count = checkedProduct((extent - size) / stride + 1, size), count <= 1 << 24 else {
            throw Problem("windows of \(size) elements, \(stride) apart, of \(extent) are too many")
        }
        let starts = Array(Swift.stride(from: 0, through: extent - size, by: stride))
        let places = starts.flatMap { start in (start..<start + size).map { Int32(clamping: $0) } }
        let indices = try call.graph.constant(.i32, shape: [starts.count, size], bytes: Bytes(of: places))
        return [try call.graph.gather(x, indices, axis: axis)]
    }
}
