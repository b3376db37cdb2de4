/// Masks of single detections: sums of prototypes, weighted by a detection's coefficients (YOLACT, YOLO-seg).
package struct InstanceMaskDecoder: Sendable {
    /// The number of prototypes, and of coefficients of a detection; the size of the input tensor in pixels.
    package let coefficients: Int, width: Int, height: Int
    private let cells: ChannelMaps
    /// The minimum logit of a position in the mask.
    private let minimum: Float

    /// Prepares to decode with prototypes of this shape: `[1, coefficients, height, width]`, or channels last.
    /// - Parameter threshold: the minimum probability of a position in the mask, above 0 and below 1.
    package init(
        shape whole: [Int], coefficients: Int, threshold: Float = 0.5, width: Int, height: Int
    ) throws(ObservationError) {
        guard let cells = ChannelMaps(OutputTensor.withoutBatch(whole, rank: 3), fits: { $0 == coefficients }) else {
            let expected = "[1, \(coefficients), height, width] or channels last"
            throw .unexpected(role: "prototypes", expected: expected, found: "\(whole)")
        }
        (self.coefficients, self.width, self.height, self.cells) = (coefficients, width, height, cells)
        minimum = ScoreScan.logit(threshold)
    }

    /// The mask of a detection in the picture, clipped to its box; nil if it would exceed `maximum` runs. Between the
    /// centers of cells, values are interpolated linearly, first across and then down. Between two rows of cells a
    /// column enters or leaves the mask at most once, in a row found by bisection: the cost depends on the picture's
    /// width, and little on its height.
    package func mask(
        of detection: Detection, coefficients values: ArraySlice<Float>, prototypes: OutputTensor,
        in picture: PictureMap, maximum: Int, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> RunLengths? {
        guard values.count == coefficients, prototypes.values.count == coefficients * cells.cells else {
            throw .unexpected(
                role: "prototypes", expected: "\(coefficients) prototypes", found: "\(prototypes.shape)")
        }
        var mask = RunLengths(width: picture.x.length, height: picture.y.length)
        // The pixels with their centers in the box.
        let rectangle = picture.rectangle(detection.box)
        let columns = rectangle.map { Self.pixels($0.x, $0.width, picture.x.length) } ?? 0..<0
        let rows = rectangle.map { Self.pixels($0.y, $0.height, picture.y.length) } ?? 0..<0
        func place(_ pixel: Int, _ axis: AxisMap, _ cells: Int, _ side: Int) -> Double {
            let place = axis.tensor(Double(pixel) + 0.5) * Double(cells) / Double(side) - 0.5
            return min(max(place, 0), Double(cells - 1))
        }
        let across = columns.map { place($0, picture.x, cells.width, width) }
        let down = rows.map { place($0, picture.y, cells.height, height) }
        guard let left = across.first, let right = across.last, let top = down.first, let bottom = down.last else {
            mask.close()
            return mask
        }
        let region = (
            x: Int(left)...min(Int(right) + 1, cells.width - 1), y: Int(top)...min(Int(bottom) + 1, cells.height - 1)
        )
        let field = try field(values, prototypes, x: region.x, y: region.y)
        let segments = Self.segments(down, from: rows.lowerBound, cells: region.y)
        var line = [Float](repeating: 0, count: region.y.count)
        for (column, place) in zip(columns, across) {
            if column & 63 == 0, isCancelled() { throw .cancelled }
            let cell = Int(place) - region.x.lowerBound, next = min(cell + 1, region.x.count - 1)
            let part = Float(place - place.rounded(.down))
            for row in 0..<region.y.count {
                let first = field[row &* region.x.count &+ cell], second = field[row &* region.x.count &+ next]
                line[row] = first + (second - first) * part
            }
            for segment in segments {
                let first = line[segment.cell], step = line[segment.next] - first
                func isIn(_ index: Int) -> Bool { first + step * segment.parts[index] >= minimum }
                // Values along a segment are monotonic: there is at most one change.
                let count = segment.parts.count, begins = isIn(0)
                var low = 1, high = isIn(count - 1) == begins ? count : count - 1
                if high == count { low = count }
                while low < high {
                    let middle = (low &+ high) &>> 1
                    if isIn(middle) == begins { low = middle + 1 } else { high = middle }
                }
                let range = begins ? 0..<low : low..<count
                mask.add(column: column, rows: segment.first + range.lowerBound..<segment.first + range.upperBound)
            }
            if mask.counts.count > maximum { return nil }
        }
        mask.close()
        return mask
    }

    /// The rows of the picture between the centers of two rows of cells.
    private struct Segment {
        /// The rows of cells, counted from the first one of the region.
        let cell: Int, next: Int
        /// The first row of the picture.
        let first: Int
        /// For each row, the relative distance from the center of `cell` to that of `next`, 0 to 1.
        var parts: [Float]
    }

    private static func segments(_ places: [Double], from first: Int, cells: ClosedRange<Int>) -> [Segment] {
        var segments: [Segment] = []
        for (index, place) in places.enumerated() {
            let cell = Int(place) - cells.lowerBound
            if segments.last?.cell != cell {
                segments.append(
                    Segment(cell: cell, next: min(cell + 1, cells.count - 1), first: first + index, parts: []))
            }
            segments[segments.count - 1].parts.append(Float(place - place.rounded(.down)))
        }
        return segments
    }

    private static func pixels(_ start: Double, _ length: Double, _ maximum: Int) -> Range<Int> {
        let first = max(0, Int((start - 0.5).rounded(.up))),
            last = min(maximum, Int((start + length - 0.5).rounded(.up)))
        return first..<max(first, last)
    }

    /// The weighted sum of the prototypes over a range of cells. Throws `notNumbers` if one is NaN.
    private func field(
        _ values: ArraySlice<Float>, _ prototypes: OutputTensor, x: ClosedRange<Int>, y: ClosedRange<Int>
    ) throws(ObservationError) -> [Float] {
        var field = [Float](repeating: 0, count: x.count * y.count)
        guard let base = prototypes.values.baseAddress else { return field }
        let step = cells.cellStep, channel = cells.channelStep, width = cells.width
        for (index, value) in values.enumerated() {
            for row in y {
                let line = (row - y.lowerBound) * x.count
                let source = base + (index &* channel &+ (row &* width &+ x.lowerBound) &* step)
                // With a constant step of 1, the compiler vectorizes the loop.
                if step == 1 {
                    for column in 0..<x.count { field[line &+ column] += value * source[column] }
                } else {
                    for column in 0..<x.count { field[line &+ column] += value * source[column &* step] }
                }
            }
        }
        for index in field.indices {
            if field[index].isNaN { throw .notNumbers(role: "prototypes") }
            field[index] = min(max(field[index], -1e9), 1e9)
        }
        return field
    }
}
