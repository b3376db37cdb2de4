/// A point in pixels of the input tensor, from its top left corner.
package struct Keypoint: Sendable, Hashable {
    package let x: Float, y: Float
    /// The depth in pixels of the tensor's width, from the model's origin; nil if the model has no depth.
    package var z: Float?
    /// The model's confidence, 0 to 1; nil if the model has no confidence.
    package var confidence: Float?

    package init(x: Float, y: Float, confidence: Float?) { (self.x, self.y, self.confidence) = (x, y, confidence) }
}

/// A description of an output with the points of one figure.
package struct KeypointDecoding: Sendable, Hashable {
    package var layout: KeypointLayout
    /// For `points`: the order of the numbers of a point, and their unit.
    package var order = PointOrder.yxScore, units = BoxUnits.fractions
    package var scores = PointScores.probabilities
    /// The minimum confidence of a reported point.
    package var threshold: Float = 0
    /// True to move a heatmap's peak by a quarter of a cell towards its larger neighbor, on each axis.
    package var refines = true
    /// The place of the channel axis of heatmaps; nil derives it.
    package var place: ChannelPlace?

    /// The default decoding of a layout.
    package init(layout: KeypointLayout) { self.layout = layout }
}

/// The layout of an output of points. The raw values are those of model.json.
package enum KeypointLayout: String, Sendable, CaseIterable {
    /// Coordinates, point after point (MoveNet; landmarks); a map for each point, with its maximum at the point.
    case points, heatmaps
}

/// The form of the confidences of points.
package enum PointScores: String, Sendable, CaseIterable { case probabilities, sigmoid }

/// Reads the points of an output.
package struct KeypointDecoder: Sendable {
    package let decoding: KeypointDecoding
    /// The size of the input tensor in pixels, and the number of points.
    package let width: Int, height: Int, points: Int
    /// The maps of `heatmaps`, or the reader of `points`.
    private let maps: ChannelMaps?, reader: PointReader

    /// Prepares to decode an output of this shape. `names`: the number of named points; nil if points have no names.
    package init(
        _ decoding: KeypointDecoding, shape whole: [Int], width: Int, height: Int, names: Int?
    ) throws(ObservationError) {
        (self.decoding, self.width, self.height) = (decoding, width, height)
        reader = PointReader(decoding, width: width, height: height)
        let count = OutputTensor.count(of: whole) ?? 0
        let number = names.map(String.init) ?? "points"
        switch decoding.layout {
        case .points:
            let each = decoding.order.count
            guard count > 0, count % each == 0, count <= 1 << 20, names == nil || names == count / each else {
                throw .unexpected(
                    role: "output", expected: "[1, \(number), \(each)] (\(decoding.order.rawValue))", found: "\(whole)")
            }
            (points, maps) = (count / each, nil)
        case .heatmaps:
            let shape = OutputTensor.withoutBatch(whole, rank: 3)
            maps = ChannelMaps(shape, place: decoding.place) { $0 == names ?? $0 }
            guard let maps, maps.channels <= 1 << 16 else {
                throw .unexpected(
                    role: "output", expected: "[1, \(number), height, width] or channels last", found: "\(whole)")
            }
            points = maps.channels
        }
    }

    /// The points in order; nil for a point below the threshold.
    package func keypoints(
        _ tensor: OutputTensor, threshold: Float? = nil, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Keypoint?] {
        let minimum = threshold ?? decoding.threshold
        guard tensor.values.count == points * (maps?.cells ?? reader.each) else {
            let expected = "\(points) \(maps == nil ? "points" : "maps")"
            throw .unexpected(role: "output", expected: expected, found: "\(tensor.shape)")
        }
        guard let maps else { return try reader.points(tensor.values, threshold: minimum) }
        var found: [Keypoint?] = []
        found.reserveCapacity(points)
        for point in 0..<points {
            if isCancelled() { throw .cancelled }
            found.append(try peak(point, maps, tensor.values, minimum))
        }
        return found
    }

    private func peak(
        _ point: Int, _ cells: ChannelMaps, _ values: UnsafeBufferPointer<Float>, _ minimum: Float
    ) throws(ObservationError) -> Keypoint? {
        let start = point * cells.channelStep, step = cells.cellStep
        var best = -Float.infinity, place = -1
        for index in 0..<cells.cells {
            let value = values[start &+ index &* step]
            if value > best {
                (best, place) = (value, index)
            } else if value.isNaN {
                throw .notNumbers(role: "output")
            }
        }
        guard place >= 0 else { return nil }
        let confidence = min(max(decoding.scores == .sigmoid ? ScoreScan.sigmoid(best) : best, 0), 1)
        guard confidence >= minimum else { return nil }
        let column = place % cells.width, row = place / cells.width
        var x = Float(column) + 0.5, y = Float(row) + 0.5
        if decoding.refines {
            func value(_ column: Int, _ row: Int) -> Float { values[start + (row * cells.width + column) * step] }
            func shift(_ before: Float, _ after: Float) -> Float { after > before ? 0.25 : after < before ? -0.25 : 0 }
            if column > 0, column < cells.width - 1 { x += shift(value(column - 1, row), value(column + 1, row)) }
            if row > 0, row < cells.height - 1 { y += shift(value(column, row - 1), value(column, row + 1)) }
        }
        return Keypoint(
            x: x * Float(width) / Float(cells.width), y: y * Float(height) / Float(cells.height),
            confidence: confidence)
    }
}

/// Reads coordinates, point after point.
package struct PointReader: Sendable {
    /// The number of numbers in a point, and their indices; -1 for those that are missing.
    let each: Int, x: Int, y: Int, z: Int, score: Int, areLogits: Bool, scaleX: Float, scaleY: Float

    /// - Parameters:
    ///   - width: the width of the input tensor in pixels.
    ///   - height: its height in pixels.
    package init(_ decoding: KeypointDecoding, width: Int, height: Int) {
        let order = decoding.order, isPart = decoding.units == .fractions
        (each, x, y, z, score) = (order.count, order.x, order.y, order.z ?? -1, order.score ?? -1)
        (areLogits, scaleX, scaleY) = (
            decoding.scores == .sigmoid, isPart ? Float(width) : 1, isPart ? Float(height) : 1
        )
    }

    /// The points in order; nil for a point below the threshold. Throws `notNumbers` if another point has no place, or
    /// if a confidence is NaN.
    package func points(
        _ values: some RandomAccessCollection<Float>, threshold: Float
    ) throws(ObservationError) -> [Keypoint?] {
        var found: [Keypoint?] = []
        found.reserveCapacity(values.count / each)
        for point in 0..<values.count / each {
            let start = values.index(values.startIndex, offsetBy: point &* each)
            func value(_ element: Int) -> Float { values[values.index(start, offsetBy: element)] }
            var one = Keypoint(x: value(x) * scaleX, y: value(y) * scaleY, confidence: nil)
            var isFound = true
            if score >= 0 {
                let confidence = areLogits ? ScoreScan.sigmoid(value(score)) : value(score)
                isFound = !(confidence < threshold)
                one.confidence = min(max(confidence, 0), 1)
                if confidence.isNaN { throw .notNumbers(role: "output") }
            }
            // Zero unless a coordinate is not finite.
            if isFound, (one.x - one.x) + (one.y - one.y) != 0 { throw .notNumbers(role: "output") }
            found.append(isFound ? one : nil)
        }
        // Few models have a depth: the separate loop costs the others nothing.
        if z >= 0 {
            for point in found.indices {
                let depth = values[values.index(values.startIndex, offsetBy: point &* each &+ z)] * scaleX
                if depth.isFinite { found[point]?.z = depth }
            }
        }
        return found
    }
}
