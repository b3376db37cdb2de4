/// Images sampled at computed points.
extension ProgramOperations {
    static let sampling: [String: Translator] = [
        "crop_resize": cropResize, "resample": resample, "affine": affine,
        "non_maximum_suppression": nonMaximumSuppression,
    ]

    // MARK: Boxes

    /// Crops an image to boxes, each scaled to the same size.
    private static func cropResize(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let graph = call.graph
        let x = try call.float("x")
        guard x.rank == 4 else {
            throw Problem("expected four axes, found shape \(shapeText(x.shape))", at: "x")
        }
        var boxes: Graph.Value
        var images: Graph.Value?
        let isList = call.isGiven("boxes")
        if isList {
            boxes = try call.float("boxes")
            guard boxes.rank == 2, boxes.shape[1] == 4 else {
                throw Problem("expected shape [boxes,4], found \(shapeText(boxes.shape))", at: "boxes")
            }
            let end = try graph.scalar(of: graph.extent(of: boxes, axis: 0))
            images =
                try call.optionalValue("box_indices")
                ?? graph.range(
                    from: graph.scalar(0), to: end, by: graph.scalar(1), type: .i64, count: boxes.shape[0])
        } else {
            let regions = try call.float("roi")
            (boxes, images) = try located("roi") { () throws(Problem) in try graph.boxes(of: regions) }
        }
        let sizes = [try call.integer("target_height", default: 1), try call.integer("target_width", default: 1)]
        var cropping = try BoxCropping(height: sizes[0], width: sizes[1], sampling: sampling(call))
        cropping.coordinates = try call.choice(
            "box_coordinate_mode", default: "CORNERS_HEIGHT_FIRST",
            of: [
                "CORNERS_HEIGHT_FIRST": .cornersHeightFirst, "CORNERS_WIDTH_FIRST": .cornersWidthFirst,
                "CENTER_SIZE_HEIGHT_FIRST": .centerHeightFirst, "CENTER_SIZE_WIDTH_FIRST": .centerWidthFirst,
            ])
        cropping.isNormalized = try call.bool("normalized_coordinates")
        cropping.scale = try call.number("spatial_scale", default: 1)
        cropping.filler = try call.number("pad_value", default: 0)
        let result = try graph.crops(of: x, boxes: boxes, images: images, cropping)
        return [isList ? try graph.squeeze(result, [1]) : result]
    }

    /// From iOS 17 on there is no score threshold, the coordinates are in the last axis, and the number of boxes is not
    /// an output.
    private static func nonMaximumSuppression(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let graph = call.graph
        let isNew = !call.isGiven("score_threshold")
        var (boxes, scores) = (try call.float("boxes"), try call.float("scores"))
        if isNew { (boxes, scores) = (try graph.transpose(boxes, [0, 2, 1]), try graph.transpose(scores, [0, 2, 1])) }
        let score =
            isNew ? graph.float(-Float.greatestFiniteMagnitude) : try graph.scalar(of: call.float("score_threshold"))
        var suppression = try BoxSuppression(
            maximum: call.integer("max_boxes"), overlap: graph.scalar(of: call.float("iou_threshold")), score: score)
        suppression.isPerClass = try call.bool("per_class_suppression")
        let kept = try graph.suppressed(boxes: boxes, scores: scores, suppression)
        let (places, counts) = (graph.convert(kept[2], to: .i32), graph.convert(kept[3], to: .i32))
        guard isNew else { return [kept[0], kept[1], places, counts] }
        return [try graph.transpose(kept[0], [0, 2, 1]), try graph.transpose(kept[1], [0, 2, 1]), places]
    }

    // MARK: Grids

    private static func resample(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (x, grid) = (try call.float("x"), try call.float("coordinates"))
        let coordinates: Coordinates = try call.choice(
            "coordinates_mode", default: "unnormalized",
            of: [
                "unnormalized": .pixels, "normalized_minus_one_to_one": .minusOneToOne,
                "normalized_zero_to_one": .zeroToOne,
            ])
        return [try sampled(call, at: grid, in: x, coordinates)]
    }

    private static func affine(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (graph, x) = (call.graph, try call.float("x"))
        let matrix = try call.float("transform_matrix")
        let (height, width) = (try call.integer("output_height"), try call.integer("output_width"))
        guard matrix.rank == 2, matrix.shape[1] == 6, height > 0, width > 0, height <= 1 << 14, width <= 1 << 14,
            height * width <= 1 << 22
        else {
            throw Problem(
                "unsupported matrices of shape \(shapeText(matrix.shape)), or an output of \(width) by \(height)")
        }
        func line(_ count: Int) -> [Float] {
            (0..<count).map { count == 1 ? -1 : 2 * Float($0) / Float(count - 1) - 1 }
        }
        let (columns, rows) = (line(width), line(height))
        let points: [Float] = rows.flatMap { y in columns.flatMap { x -> [Float] in [x, y, 1] } }
        let base = try graph.floats(points, shape: [1, height * width, 3])
        let matrices = try graph.reshape(matrix, to: [-1, 2, 3])
        let grid = try graph.reshape(
            graph.matmul(base, matrices, transposesRight: true), to: [0, height, width, 2].map { $0 == 0 ? -1 : $0 })
        let target = try graph.concat(
            [graph.extent(of: x, axis: 0), graph.integers([height, width, 2])], axis: 0)
        let spread = graph.broadcast(grid, toComputed: target, shape: [x.shape[0], height, width, 2])
        return [try sampled(call, at: spread, in: x, .minusOneToOne)]
    }

    private enum Coordinates {
        case pixels
        case minusOneToOne
        case zeroToOne
    }

    /// The image [B, C, H, W] sampled at points (x, y) [B, height, width, 2].
    private static func sampled(
        _ call: ProgramCall, at grid: Graph.Value, in x: Graph.Value, _ coordinates: Coordinates
    )
        throws(Problem) -> Graph.Value
    {
        let graph = call.graph
        guard x.rank == 4, grid.rank == 4, grid.shape[3] == nil || grid.shape[3] == 2 else {
            throw Problem(
                "an image of shape \(shapeText(x.shape)) does not match points of shape \(shapeText(grid.shape))")
        }
        let padding: (name: String, alignsCorners: Bool) = try call.choice(
            "padding_mode", default: "constant",
            of: [
                "constant": ("zeros", false), "border": ("border", false), "reflection": ("reflection", true),
                "symmetric": ("reflection", false),
            ])
        let mode = try call.choice(
            "sampling_mode", default: "bilinear", of: ["bilinear": "bilinear", "nearest": "nearest"])
        let size = try graph.convert(
            graph.concat([graph.extent(of: x, axis: 3), graph.extent(of: x, axis: 2)], axis: 0), to: .f32)
        let last = try graph.shifted(size, by: -1)
        let aligned = try call.bool("align_corners")
        let unit: Graph.Value
        switch coordinates {
        case .pixels: unit = grid
        case .minusOneToOne: unit = try graph.scaled(graph.shifted(grid, by: 1), by: 0.5)
        case .zeroToOne: unit = grid
        }
        var pixels = unit
        if coordinates != .pixels {
            pixels = try aligned ? graph.multiply(unit, last) : graph.shifted(graph.multiply(unit, size), by: -0.5)
        }
        // The engine expects −1…1, between the centers of the outer pixels or between their edges.
        let parts =
            try padding.alignsCorners
            ? graph.divide(graph.scaled(pixels, by: 2), last)
            : graph.divide(graph.shifted(graph.scaled(pixels, by: 2), by: 1), size)
        let filler = padding.name == "zeros" ? try call.number("padding_value", default: 0) : 0
        let found = graph.operation(
            "GridSample", 9, [try graph.shifted(x, by: -filler), try graph.shifted(parts, by: -1)],
            [
                "align_corners": .bool(padding.alignsCorners), "mode": .text(mode), "padding_mode": .text(padding.name),
            ], shape: [x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]])
        return try graph.shifted(found, by: filler)
    }
}
