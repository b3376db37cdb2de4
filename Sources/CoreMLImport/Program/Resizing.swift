/// Resizing of images.
extension ProgramOperations {
    static let resizing: [String: Translator] = [
        "upsample_nearest_neighbor": { call throws(Problem) in
            [try call.graph.upsampled(call.float("x"), by: factors(call), sampling: .asymmetric, linear: false)]
        },
        "upsample_bilinear": { call throws(Problem) in
            let aligned = try call.bool("align_corners", default: true)
            let centered = try call.bool("half_pixel_centers", default: !aligned)
            let sampling: GridSampling = aligned ? .strict : centered ? .halfPixel : .asymmetric
            return [try call.graph.upsampled(call.float("x"), by: factors(call), sampling: sampling, linear: true)]
        },
        "resize_nearest_neighbor": { call throws(Problem) in
            let sizes = [try call.integer("target_size_height"), try call.integer("target_size_width")]
            return [try call.graph.resized(call.float("x"), to: sizes, sampling: .asymmetric, linear: false)]
        },
        "resize_bilinear": { call throws(Problem) in
            let sizes = [
                try call.integer("target_size_height", default: 1), try call.integer("target_size_width", default: 1),
            ]
            return [try call.graph.resized(call.float("x"), to: sizes, sampling: sampling(call), linear: true)]
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
                // The program computes the size from the shape of its input.
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
                result = try call.graph.resized(image, to: sizes, sampling: sampling(call), linear: linear)
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

    private static func factors(_ call: ProgramCall) throws(Problem) -> [Float] {
        [try call.number("scale_factor_height", default: 1), try call.number("scale_factor_width", default: 1)]
    }
}
