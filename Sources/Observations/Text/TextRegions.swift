/// A place where a text detector found text.
package struct TextRegion: Sendable, Hashable {
    /// The corners in pixels of the map, in the order top left, top right, bottom right, bottom left, in which the two
    /// leftmost ones are those of the left side. They may lie outside the map.
    package let corners: [PlanePoint]
    /// The mean probability in the region before it grew, 0 to 1.
    package let score: Float
}

/// The numbers by which regions are made from a map of probabilities (Differentiable Binarization, Liao et al. 2020).
package struct TextRegionDecoding: Sendable, Hashable {
    /// Pixels with a higher probability are text.
    package var bitmap: Float = 0.3
    /// True to extend text by a pixel to the right and downwards.
    package var dilates = true
    /// The minimum score of a region.
    package var threshold: Float = 0.5
    /// The distance by which a region grows, as a factor of its area over its perimeter.
    package var growth = 1.6

    package init() {}

    /// The minimum length of the shorter side before and after growing.
    static let minimumSide = 3.0, minimumGrownSide = 5.0
}

/// Finds the regions of text in a map of probabilities.
package struct TextRegionDecoder: Sendable {
    private let decoding: TextRegionDecoding
    private let width: Int, height: Int

    /// Prepares to decode an output of this shape: `[1, 1, height, width]`.
    package init(_ decoding: TextRegionDecoding, shape whole: [Int]) throws(ObservationError) {
        let shape = OutputTensor.withoutBatch(whole, rank: 2)
        guard shape.count == 2, let count = OutputTensor.count(of: shape), count > 0,
            count <= PixelComponents.maximumPixels
        else { throw .unexpected(role: "find", expected: "[1, 1, height, width]", found: "\(whole)") }
        (self.decoding, height, width) = (decoding, shape[0], shape[1])
    }

    /// The regions, in no particular order.
    /// - Parameters:
    ///   - threshold: the minimum score; nil is that of the decoding.
    ///   - isCancelled: asked at each row and each region.
    /// - Throws: `notNumbers` for a map with NaN.
    package func regions(
        _ tensor: OutputTensor, threshold: Float? = nil, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [TextRegion] {
        guard tensor.values.count == width * height, let map = tensor.values.baseAddress else {
            throw .unexpected(role: "find", expected: "[1, 1, \(height), \(width)]", found: "\(tensor.shape)")
        }
        if tensor.values.contains(where: \.isNaN) { throw .notNumbers(role: "find") }
        let level = decoding.bitmap, width = width
        func isText(_ x: Int, _ y: Int) -> Bool { map[y &* width &+ x] > level }
        let hulls: [[PlanePoint]]
        if decoding.dilates {
            hulls = try PixelComponents.hulls(width: width, height: height, isCancelled: isCancelled) { x, y in
                isText(x, y) || x > 0 && isText(x - 1, y)
                    || y > 0 && (isText(x, y - 1) || x > 0 && isText(x - 1, y - 1))
            }
        } else {
            hulls = try PixelComponents.hulls(width: width, height: height, isCancelled: isCancelled, isText)
        }
        let minimum = threshold ?? decoding.threshold
        var regions: [TextRegion] = []
        for hull in hulls {
            if isCancelled() { throw .cancelled }
            guard let rectangle = EnclosingRectangle(around: hull),
                rectangle.shorterSide >= TextRegionDecoding.minimumSide
            else { continue }
            let score = mean(map, rectangle.corners)
            guard score >= minimum else { continue }
            let distance = rectangle.areaOverPerimeter * decoding.growth
            let whole = rectangle.corners.map {
                PlanePoint(x: $0.x.rounded(.towardZero), y: $0.y.rounded(.towardZero))
            }
            let grown = PlanePoint.hull(
                PolygonGrowth.grown(whole, by: distance).sorted { ($0.y, $0.x) < ($1.y, $1.x) })
            guard let region = EnclosingRectangle(around: grown),
                region.shorterSide >= TextRegionDecoding.minimumGrownSide
            else { continue }
            regions.append(
                TextRegion(corners: EnclosingRectangle.ordered(region.corners), score: min(max(score, 0), 1)))
        }
        return regions
    }

    /// The mean of the map over a convex polygon and its edges, with the corners cut to integers.
    private func mean(_ map: UnsafePointer<Float>, _ corners: [PlanePoint]) -> Float {
        // Corners of rectangles around parts of the map are less than its diagonal away from it.
        let points = corners.map { (x: Int($0.x), y: Int($0.y)) }
        let top = max(points.map(\.y).min() ?? 0, 0), bottom = min(points.map(\.y).max() ?? 0, height - 1)
        guard top <= bottom else { return 0 }
        var left = [Int](repeating: width, count: bottom - top + 1), right = [Int](repeating: -1, count: left.count)
        for (index, one) in points.enumerated() {
            let other = points[(index + 1) % points.count]
            // The pixels of the edge, from left to right: one for each step along its longer axis.
            let (start, end) = other.x < one.x ? (other, one) : (one, other)
            let x = end.x - start.x, y = abs(end.y - start.y), down = end.y < start.y ? -1 : 1
            let steps = max(x, y, 1)
            for step in 0...steps {
                let part = (2 * min(x, y) * step + steps - 1) / (2 * steps)
                let column = start.x + (x >= y ? step : part), row = start.y + down * (x >= y ? part : step) - top
                guard left.indices.contains(row) else { continue }
                (left[row], right[row]) = (min(left[row], column), max(right[row], column))
            }
        }
        var sum = 0.0, count = 0
        for row in left.indices {
            let first = max(left[row], 0), last = min(right[row], width - 1)
            guard first <= last else { continue }
            for column in first...last { sum += Double(map[(top + row) * width + column]) }
            count += last - first + 1
        }
        return count > 0 ? Float(sum / Double(count)) : 0
    }
}
