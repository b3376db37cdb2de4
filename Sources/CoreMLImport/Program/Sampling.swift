/// Images looked at in places that are computed.
extension ProgramOperations {
    static let sampling: [String: Translator] = [
        "crop_resize": cropResize, "resample": resample, "affine": affine,
    ]

    // MARK: Boxes

    /// Boxes of an image, each scaled to one size. The weights of the pixels are computed as matrices, one a box and
    /// direction: 1 − distance between point and pixel.
    private static func cropResize(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let graph = call.graph
        let x = try call.float("x")
        guard x.rank == 4 else {
            throw Problem("a value of shape \(shapeText(x.shape)), where four axes are needed", at: "x")
        }
        var boxes: Graph.Value
        var images: Graph.Value?
        let isList = call.isGiven("boxes")
        if isList {
            boxes = try call.float("boxes")
            guard boxes.rank == 2, boxes.shape[1] == 4 else {
                throw Problem("the shape \(shapeText(boxes.shape)), where [boxes,4] is needed", at: "boxes")
            }
            let end = try scalar(graph, extent(graph, boxes, axis: 0))
            images =
                try call.optionalValue("box_indices")
                ?? graph.operation(
                    "Range", 4, [graph.scalar(0), end, graph.scalar(1)], ["output_type": "i64"], type: .i64,
                    shape: [boxes.shape[0]])
        } else {
            let regions = try call.float("roi")
            guard regions.rank == 5, regions.shape[2] == 4 || regions.shape[2] == 5 else {
                throw Problem("the shape \(shapeText(regions.shape)), where [boxes,1,4 or 5,1,1] is needed", at: "roi")
            }
            boxes = try graph.squeeze(regions, [1, 3, 4])
            if regions.shape[2] == 5 {
                images = graph.convert(try graph.gather(boxes, graph.scalar(0), axis: 1), to: .i32)
                boxes = try graph.slice(boxes, axes: [1], starts: [1], ends: [5], steps: [1])
            }
        }
        let order: (places: [Int], isCentered: Bool) = try call.choice(
            "box_coordinate_mode", default: "CORNERS_HEIGHT_FIRST",
            of: [
                "CORNERS_HEIGHT_FIRST": ([0, 1, 2, 3], false), "CORNERS_WIDTH_FIRST": ([1, 0, 3, 2], false),
                "CENTER_SIZE_HEIGHT_FIRST": ([0, 1, 2, 3], true), "CENTER_SIZE_WIDTH_FIRST": ([1, 0, 3, 2], true),
            ])
        let sizes = [try call.integer("target_height", default: 1), try call.integer("target_width", default: 1)]
        guard sizes.allSatisfy({ $0 > 0 && $0 <= 1 << 14 }) else { throw Problem("a target of \(sizes)") }
        let (isNormalized, scale) = (
            try call.bool("normalized_coordinates"), try call.number("spatial_scale", default: 1)
        )
        let sampling = try sampling(call)
        var weights: [Graph.Value] = []
        var inside: [Graph.Value] = []
        for direction in 0..<2 {
            let last = try graph.shifted(
                graph.convert(extent(graph, x, axis: 2 + direction), to: .f32), by: -1)
            func coordinate(_ place: Int) throws(Problem) -> Graph.Value {
                let column = try graph.gather(boxes, graph.integers([place]), axis: 1)
                return try graph.scaled(isNormalized ? graph.multiply(column, last) : column, by: scale)
            }
            var (start, end) = (try coordinate(order.places[direction]), try coordinate(order.places[direction + 2]))
            if order.isCentered {
                let half = try graph.scaled(end, by: 0.5)
                (start, end) = (try graph.subtract(start, half), try graph.add(start, half))
            }
            let points = try boxPoints(graph, start: start, end: end, count: sizes[direction], sampling)
            let isInside = try graph.binary(
                "LogicalAnd", 1, graph.binary("GreaterEqual", points, graph.float(0)),
                graph.binary("LessEqual", points, last))
            inside.append(graph.convert(isInside, to: .f32))
            let pixels = graph.operation(
                "Range", 4,
                [graph.scalar(0), try scalar(graph, extent(graph, x, axis: 2 + direction)), graph.scalar(1)],
                ["output_type": "f32"], type: .f32, shape: [x.shape[2 + direction]])
            let distance = graph.unary("Abs", try graph.subtract(graph.unsqueeze(points, [2]), pixels))
            weights.append(graph.unary("ReLU", try graph.subtract(graph.float(1), distance)))
        }
        // [boxes, images, channels, …]: one image where the box says which, else all.
        let image: Graph.Value
        if let images {
            image = try graph.unsqueeze(graph.gather(x, images, axis: 0), [1])
        } else {
            image = try graph.unsqueeze(x, [0])
        }
        let rows = try graph.matmul(graph.unsqueeze(weights[0], [1, 2]), image)
        var result = try graph.matmul(rows, graph.unsqueeze(weights[1], [1, 2]), transposesRight: true)
        // Points outside of the image have a value of their own.
        let mask = try graph.multiply(graph.unsqueeze(inside[0], [1, 2, 4]), graph.unsqueeze(inside[1], [1, 2, 3]))
        let filler = try call.number("pad_value", default: 0)
        result = try graph.shifted(
            graph.multiply(graph.shifted(result, by: -filler), mask), by: filler)
        return [isList ? try graph.squeeze(result, [1]) : result]
    }

    /// The points of a box along one direction: [boxes, count].
    private static func boxPoints(
        _ graph: GraphBuilder, start: Graph.Value, end: Graph.Value, count: Int, _ sampling: Sampling
    ) throws(Problem) -> Graph.Value {
        let places = (0..<count).map { Float($0) }
        let length = try graph.subtract(end, start)
        switch sampling {
        case .strict, .aligned:
            let parts = count == 1 ? [sampling == .aligned ? 0.5 : 0] : places.map { $0 / Float(count - 1) }
            return try graph.add(start, graph.multiply(length, graph.floats(parts)))
        case .offset:
            let delta = try graph.binary("Maximum", length, graph.float(1))
            return try graph.add(start, graph.multiply(delta, graph.floats(places.map { ($0 + 0.5) / Float(count) })))
        case .asymmetric, .halfPixel:
            // As on a line of as many pixels as the box covers, both ends included.
            let pixels = try graph.shifted(length, by: 1)
            let isCentered = sampling == .halfPixel
            let parts = places.map { ($0 + (isCentered ? 0.5 : 0)) / Float(count) }
            let points = try graph.shifted(graph.multiply(pixels, graph.floats(parts)), by: isCentered ? -0.5 : 0)
            let limited = try graph.binary(
                "Minimum", 1, graph.binary("Maximum", points, graph.float(0)), length)
            return try graph.add(start, limited)
        }
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
        return [try looked(call, at: grid, in: x, coordinates)]
    }

    private static func affine(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (graph, x) = (call.graph, try call.float("x"))
        let matrix = try call.float("transform_matrix")
        let (height, width) = (try call.integer("output_height"), try call.integer("output_width"))
        guard matrix.rank == 2, matrix.shape[1] == 6, height > 0, width > 0, height <= 1 << 14, width <= 1 << 14,
            height * width <= 1 << 22
        else {
            throw Problem("matrices of shape \(shapeText(matrix.shape)) and an output of \(width) by \(height)")
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
            [extent(graph, x, axis: 0), graph.integers([height, width, 2])], axis: 0)
        let spread = graph.operation(
            "Broadcast", 3, [grid, target], ["mode": "numpy"], shape: [x.shape[0], height, width, 2])
        return [try looked(call, at: spread, in: x, .minusOneToOne)]
    }

    private enum Coordinates {
        case pixels
        case minusOneToOne
        case zeroToOne
    }

    /// The image [B, C, H, W] at points (x, y) [B, height, width, 2].
    private static func looked(_ call: ProgramCall, at grid: Graph.Value, in x: Graph.Value, _ coordinates: Coordinates)
        throws(Problem) -> Graph.Value
    {
        let graph = call.graph
        guard x.rank == 4, grid.rank == 4, grid.shape[3] == nil || grid.shape[3] == 2 else {
            throw Problem("an image of shape \(shapeText(x.shape)) at points of shape \(shapeText(grid.shape))")
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
            graph.concat([extent(graph, x, axis: 3), extent(graph, x, axis: 2)], axis: 0), to: .f32)
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
        // The engine wants −1…1, between the middles of the outer pixels or between their edges.
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
