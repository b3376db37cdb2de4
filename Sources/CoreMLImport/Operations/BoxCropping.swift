/// The parameters for cropping images to boxes, each scaled to the same size.
struct BoxCropping {
    let height: Int, width: Int
    let sampling: GridSampling
    var coordinates = Coordinates.cornersHeightFirst
    /// True if coordinates go from 0 to 1, false if they are pixels.
    var isNormalized = false
    /// The factor for coordinates.
    var scale: Float = 1
    /// The value of points outside the image.
    var filler: Float = 0

    /// The meaning of the four numbers of a box.
    enum Coordinates: Int {
        case cornersHeightFirst, cornersWidthFirst, centerHeightFirst, centerWidthFirst

        /// The indices of the first coordinate (or the center) of rows and of columns; the second (or the size) follows
        /// two indices later.
        fileprivate var places: [Int] {
            switch self {
            case .cornersHeightFirst, .centerHeightFirst: [0, 1]
            case .cornersWidthFirst, .centerWidthFirst: [1, 0]
            }
        }
        fileprivate var isCentered: Bool { self == .centerHeightFirst || self == .centerWidthFirst }
    }

    init(height: Int, width: Int, sampling: GridSampling) throws(Problem) {
        guard [height, width].allSatisfy({ $0 > 0 && $0 <= 1 << 14 }) else {
            throw Problem("unsupported target size \([height, width])")
        }
        self.height = height
        self.width = width
        self.sampling = sampling
    }
}

extension GraphBuilder {
    /// Splits regions [n, 1, 4 or 5, 1, 1] into boxes [n, 4] and, if they have five numbers, the indices of the images
    /// [n], which come first.
    func boxes(of regions: Graph.Value) throws(Problem) -> (boxes: Graph.Value, images: Graph.Value?) {
        guard regions.rank == 5, regions.shape[2] == 4 || regions.shape[2] == 5 else {
            throw Problem("expected boxes of shape [boxes,1,4 or 5,1,1], found \(shapeText(regions.shape))")
        }
        let numbers = try squeeze(regions, [1, 3, 4])
        guard regions.shape[2] == 5 else { return (numbers, nil) }
        let images = convert(try gather(numbers, scalar(0), axis: 1), to: .i64)
        return (try slice(numbers, axes: [1], starts: [1], ends: [5], steps: [1]), images)
    }

    /// Crops images [batch, C, H, W] to boxes [n, 4]. With `images` [n], the index of the image of each box, the result
    /// is [n, 1, C, height, width], else [n, batch, C, height, width].
    ///
    /// The weights of the pixels are matrices, one for each box and direction: 1 − distance between point and pixel.
    func crops(of x: Graph.Value, boxes: Graph.Value, images: Graph.Value?, _ cropping: BoxCropping) throws(Problem)
        -> Graph.Value
    {
        var weights: [Graph.Value] = []
        var inside: [Graph.Value] = []
        for (direction, count) in [cropping.height, cropping.width].enumerated() {
            let size = try scalar(of: extent(of: x, axis: 2 + direction))
            let last = try shifted(convert(size, to: .f32), by: -1)
            func coordinate(_ place: Int) throws(Problem) -> Graph.Value {
                let column = try gather(boxes, integers([place]), axis: 1)
                return try scaled(cropping.isNormalized ? multiply(column, last) : column, by: cropping.scale)
            }
            let place = cropping.coordinates.places[direction]
            var (start, end) = (try coordinate(place), try coordinate(place + 2))
            if cropping.coordinates.isCentered {
                let half = try scaled(end, by: 0.5)
                (start, end) = (try subtract(start, half), try add(start, half))
            }
            let points = try boxPoints(start: start, end: end, count: count, cropping.sampling)
            let isInside = try binary(
                "LogicalAnd", 1, binary("GreaterEqual", points, float(0)), binary("LessEqual", points, last))
            inside.append(convert(isInside, to: .f32))
            let pixels = range(
                from: scalar(0), to: size, by: scalar(1), type: .f32, count: x.shape[2 + direction])
            let distance = unary("Abs", try subtract(unsqueeze(points, [2]), pixels))
            weights.append(unary("ReLU", try subtract(float(1), distance)))
        }
        // [boxes, images, channels, …]: one image if each box has an index, else all.
        let image: Graph.Value
        if let images {
            image = try unsqueeze(gather(x, images, axis: 0), [1])
        } else {
            image = try unsqueeze(x, [0])
        }
        let rows = try matmul(unsqueeze(weights[0], [1, 2]), image)
        let result = try matmul(rows, unsqueeze(weights[1], [1, 2]), transposesRight: true)
        // Points outside the image have a separate value.
        let mask = try multiply(unsqueeze(inside[0], [1, 2, 4]), unsqueeze(inside[1], [1, 2, 3]))
        return try shifted(multiply(shifted(result, by: -cropping.filler), mask), by: cropping.filler)
    }

    /// The points of a box along one axis: [boxes, count].
    private func boxPoints(
        start: Graph.Value, end: Graph.Value, count: Int, _ sampling: GridSampling
    ) throws(Problem) -> Graph.Value {
        let places = (0..<count).map { Float($0) }
        let length = try subtract(end, start)
        switch sampling {
        case .strict, .aligned:
            let parts = count == 1 ? [sampling == .aligned ? 0.5 : 0] : places.map { $0 / Float(count - 1) }
            return try add(start, multiply(length, floats(parts)))
        case .offset:
            let delta = try binary("Maximum", length, float(1))
            return try add(start, multiply(delta, floats(places.map { ($0 + 0.5) / Float(count) })))
        case .asymmetric, .halfPixel:
            // As on a line with all pixels that the box covers, including both ends.
            let pixels = try shifted(length, by: 1)
            let isCentered = sampling == .halfPixel
            let parts = places.map { ($0 + (isCentered ? 0.5 : 0)) / Float(count) }
            let points = try shifted(multiply(pixels, floats(parts)), by: isCentered ? -0.5 : 0)
            let limited = try binary("Minimum", 1, binary("Maximum", points, float(0)), length)
            return try add(start, limited)
        }
    }
}
