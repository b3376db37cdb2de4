/// Images in other sizes.
extension ProgramOperations {
    static let resizing: [String: Translator] = [
        "upsample_nearest_neighbor": { call throws(Problem) in
            try upsample(call, sampling: .asymmetric, linear: false)
        },
        "upsample_bilinear": { call throws(Problem) in
            let aligned = try call.bool("align_corners", default: true)
            let centered = try call.bool("half_pixel_centers", default: !aligned)
            return try upsample(call, sampling: aligned ? .strict : centered ? .halfPixel : .asymmetric, linear: true)
        },
        "resize_nearest_neighbor": { call throws(Problem) in
            let sizes = [try call.integer("target_size_height"), try call.integer("target_size_width")]
            return [try resized(call, call.float("x"), sizes: sizes, sampling: .asymmetric, linear: false)]
        },
        "resize_bilinear": { call throws(Problem) in
            let sizes = [
                try call.integer("target_size_height", default: 1), try call.integer("target_size_width", default: 1),
            ]
            return [try resized(call, call.float("x"), sizes: sizes, sampling: sampling(call), linear: true)]
        },
        "resize": { call throws(Problem) in
            let (x, count) = (try call.value("x"), try call.integer("resized_dims"))
            guard count > 0, count <= x.rank else {
                throw Problem("\(count) is out of range: the value has \(x.rank) axes", at: "resized_dims")
            }
            var given = try call.knownIntegers("shape") ?? []
            if given.isEmpty { given = try call.neededShape().map { $0 ?? -1 } }
            guard given.count >= count else {
                throw Problem("there are \(given.count) extents for \(count) axes", at: "shape")
            }
            let sizes = zip(given.suffix(count), x.shape.suffix(count)).map { $0 == 0 ? $1 ?? -1 : $0 }
            let linear = try call.choice(
                "interpolation_mode", default: "LINEAR", of: ["LINEAR": true, "NEAREST_NEIGHBOR": false])
            let image = call.graph.convert(x, to: .f32)
            let result: Graph.Value
            if sizes.contains(-1), count == 2, x.rank == 4, let name = try sampling(call).engineName(counts: []) {
                // The program computes the size from that of its input.
                let shape = try call.value("shape")
                var size = call.graph.convert(shape, to: .i64)
                if size.shape != [2] {
                    guard size.rank == 1, let length = size.shape[0], length > 2 else {
                        throw Problem("unsupported shape \(shapeText(shape.shape)) of a size", at: "shape")
                    }
                    size = try call.graph.gather(size, call.graph.integers([length - 2, length - 1]), axis: 0)
                }
                result = try call.graph.resize(image, to: size, linear: linear, sampling: name)
            } else {
                result = try resized(call, image, sizes: sizes, sampling: sampling(call), linear: linear)
            }
            return [call.graph.convert(result, to: x.type)]
        },
    ]

    static func sampling(_ call: ProgramCall) throws(Problem) -> GridSampling {
        try call.choice(
            "sampling_mode", default: "DEFAULT",
            of: [
                "DEFAULT": .asymmetric, "STRICT_ALIGN_CORNERS": .strict, "ALIGN_CORNERS": .aligned,
                "OFFSET_CORNERS": .offset,
                "UNALIGN_CORNERS": .halfPixel,
            ])
    }

    /// The largest extent that an image is scaled to.
    private static let maximumExtent = 1 << 16

    private static func upsample(_ call: ProgramCall, sampling: GridSampling, linear: Bool) throws(Problem) -> [Graph
        .Value]
    {
        let x = try call.float("x")
        guard x.rank >= 3 else { throw Problem("unsupported shape \(shapeText(x.shape))", at: "x") }
        let factors = [
            try call.number("scale_factor_height", default: 1), try call.number("scale_factor_width", default: 1),
        ]
        guard factors.allSatisfy({ $0 > 0 && $0 <= 4096 }) else { throw Problem("factors of \(factors)") }
        let extents = x.shape.suffix(2).compactMap { $0 }
        if extents.count == 2 {
            let sizes: [Int] = zip(extents, factors).map { extent, factor in
                Int((Double(extent) * Double(factor)).rounded(.down))
            }
            return [try resized(call, x, sizes: sizes, sampling: sampling, linear: linear)]
        }
        guard x.rank == 4, let name = sampling.engineName(counts: []) else {
            throw Problem("scaling needs an image of known size")
        }
        return [try call.graph.resize(x, factors: factors, linear: linear, sampling: name)]
    }

    /// The last axes in new extents.
    private static func resized(
        _ call: ProgramCall, _ x: Graph.Value, sizes: [Int], sampling: GridSampling, linear: Bool
    ) throws(Problem) -> Graph.Value {
        guard x.rank >= sizes.count, sizes.allSatisfy({ $0 > 0 && $0 <= maximumExtent }) else {
            throw Problem("a value of shape \(shapeText(x.shape)) cannot be scaled to \(sizes)")
        }
        let old = x.shape.suffix(sizes.count).compactMap { $0 }
        // The engine's nearest elements are exact where each is repeated; others are picked by a list.
        let isExact = linear || (old.count == sizes.count && zip(old, sizes).allSatisfy { $0 > 0 && $1 % $0 == 0 })
        if sizes.count == 2, x.rank == 4, isExact || old.count < 2,
            let name = linear || sampling == .asymmetric ? sampling.engineName(counts: sizes) : nil
        {
            return try call.graph.resize(x, height: sizes[0], width: sizes[1], linear: linear, sampling: name)
        }
        guard old.count == sizes.count, old.allSatisfy({ $0 > 0 }) else {
            throw Problem("scaling needs an image of known size")
        }
        var result = x
        for (index, size) in sizes.enumerated() {
            let axis = x.rank - sizes.count + index
            if linear {
                result = try interpolated(
                    call.graph, result, axis: axis, sampling.points(extent: old[index], count: size))
            } else {
                let places = sampling.nearest(extent: old[index], count: size)
                let indices = try call.graph.constant(.i32, shape: [size], bytes: Bytes(of: places))
                result = try call.graph.gather(result, indices, axis: axis)
            }
        }
        return result
    }

    /// The values at points along an axis, which lie between its elements.
    private static func interpolated(_ graph: GraphBuilder, _ x: Graph.Value, axis: Int, _ points: [Double])
        throws(Problem)
        -> Graph.Value
    {
        guard let extent = x.shape[axis] else { throw Problem("the extent of an axis is unknown") }
        func taken(_ places: [Int]) throws(Problem) -> Graph.Value {
            let indices = try graph.constant(
                .i32, shape: [places.count], bytes: Bytes(of: places.map { Int32(clamping: $0) }))
            return try graph.gather(x, indices, axis: axis)
        }
        let lower = points.map { Int($0) }
        let parts = zip(points, lower).map { Float($0 - Double($1)) }
        let low = try taken(lower)
        if parts.allSatisfy({ $0 == 0 }) { return low }
        let high = try taken(lower.map { min($0 + 1, extent - 1) })
        let weights = try graph.floats(parts, shape: [parts.count] + (axis + 1..<x.rank).map { _ in 1 })
        return try graph.add(low, graph.multiply(weights, graph.subtract(high, low)))
    }
}
