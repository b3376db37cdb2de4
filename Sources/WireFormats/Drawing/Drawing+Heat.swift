package import ImagePipeline
package import Inference
internal import Observations

extension Drawing {
    /// The colours of the map: below the threshold, and above it.
    private static let usual: Color = (255, 220, 0), unusual: Color = (255, 0, 0)
    /// The opacity at twice the threshold and above, and at the threshold.
    private static let densest = 0.75, middle = 0.35

    /// Draws a map of distances over the part of the picture that the model saw, interpolated between the centres of
    /// the patches. A distance of 0 is transparent; up to the threshold yellow grows, beyond it red does.
    /// - Parameter threshold: nil takes the greatest distance.
    package mutating func draw(
        _ map: AnomalyMap, threshold: Double?, isCancelled: () -> Bool
    ) throws(ImageError) {
        let area = map.area
        guard map.rows > 0, map.columns > 0, map.distances.count == map.rows * map.columns, area.width > 0,
            area.height > 0
        else { return }
        let middle = threshold ?? map.distances.max() ?? 0
        let places = (0..<width).map { Self.between($0, area.x, area.width, map.columns) }
        for row in 0..<height {
            if row & 63 == 0, isCancelled() { throw .cancelled }
            guard let down = Self.between(row, area.y, area.height, map.rows) else { continue }
            for column in 0..<width {
                guard let across = places[column] else { continue }
                let upper =
                    map.distances[down.first * map.columns + across.first] * (1 - across.part)
                    + map.distances[down.first * map.columns + across.second] * across.part
                let lower =
                    map.distances[down.second * map.columns + across.first] * (1 - across.part)
                    + map.distances[down.second * map.columns + across.second] * across.part
                blend(column, row, upper * (1 - down.part) + lower * down.part, middle)
            }
        }
    }

    /// The two cells around a pixel: its centre is between theirs; and its place between them. Nil outside of the grid.
    /// - Parameters:
    ///   - start: the place of the grid's edge, in pixels; `length` is its extent, with `cells` cells.
    private static func between(
        _ pixel: Int, _ start: Double, _ length: Double, _ cells: Int
    ) -> (first: Int, second: Int, part: Double)? {
        let share = (Double(pixel) + 0.5 - start) / length
        guard share >= 0, share <= 1 else { return nil }
        let place = min(max(share * Double(cells) - 0.5, 0), Double(cells - 1))
        let first = Int(place)
        return (first, min(first + 1, cells - 1), place - Double(first))
    }

    /// Mixes a pixel with the colour of a distance.
    private mutating func blend(_ column: Int, _ row: Int, _ distance: Double, _ threshold: Double) {
        guard distance > 0 else { return }
        let isUnusual = distance > threshold, color = isUnusual ? Self.unusual : Self.usual
        let opacity =
            isUnusual
            ? Self.middle + (Self.densest - Self.middle) * (threshold > 0 ? min(distance / threshold - 1, 1) : 1)
            : Self.middle * distance / threshold
        let place = 3 * (row * width + column)
        for (index, value) in [color.red, color.green, color.blue].enumerated() {
            let old = Double(pixels[place + index])
            pixels[place + index] = UInt8(clamping: Int((old + (Double(value) - old) * opacity).rounded()))
        }
    }
}

/// A picture with an anomaly's map over it.
package enum HeatPicture {
    /// Draws and encodes as PNG. Takes about as long as decoding the picture.
    package static func png(
        of picture: HeldPicture, _ anomaly: AnomalyMark, isCancelled: () -> Bool
    ) throws(ImageError) -> [UInt8] {
        var drawing = try Drawing(picture, isCancelled: isCancelled)
        if let map = anomaly.map { try drawing.draw(map, threshold: anomaly.threshold, isCancelled: isCancelled) }
        return try drawing.encoded(isJPEG: false, isCancelled: isCancelled)
    }
}
