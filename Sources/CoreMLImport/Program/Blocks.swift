/// Operations that move blocks of elements between axes.
extension ProgramOperations {
    static let blocks: [String: Translator] = [
        "space_to_depth": { call throws(Problem) in
            [try call.graph.spaceToDepth(call.float("x"), block: call.integer("block_size"), .blocksFirst)]
        },
        "pixel_unshuffle": { call throws(Problem) in
            [try call.graph.spaceToDepth(call.float("x"), block: call.integer("downscale_factor"), .depthFirst)]
        },
        "depth_to_space": { call throws(Problem) in
            [try call.graph.depthToSpace(call.float("x"), block: call.integer("block_size"), .blocksFirst)]
        },
        "pixel_shuffle": { call throws(Problem) in
            [try call.graph.depthToSpace(call.float("x"), block: call.integer("upscale_factor"), .depthFirst)]
        },
        "space_to_batch": { call throws(Problem) in try betweenSpaceAndBatch(call, toBatch: true) },
        "batch_to_space": { call throws(Problem) in try betweenSpaceAndBatch(call, toBatch: false) },
        "sliding_windows": { call throws(Problem) in
            [
                try call.graph.slidingWindows(
                    call.value("x"), axis: call.integer("axis"), size: call.integer("size"),
                    step: call.integer("stride", default: 1))
            ]
        },
    ]

    private static func betweenSpaceAndBatch(_ call: ProgramCall, toBatch: Bool) throws(Problem) -> [Graph.Value] {
        let blocks = try call.requiredIntegers("block_shape")
        let amounts = try call.requiredIntegers(toBatch ? "paddings" : "crops")
        let x = try call.float("x")
        guard x.rank == 4, blocks.count == 2, blocks.allSatisfy({ $0 > 0 && $0 <= 1 << 12 }), amounts.count == 4,
            amounts.allSatisfy({ $0 >= 0 && $0 <= 1 << 24 })
        else {
            throw Problem("blocks of \(blocks) and amounts of \(amounts) do not match shape \(shapeText(x.shape))")
        }
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
}
