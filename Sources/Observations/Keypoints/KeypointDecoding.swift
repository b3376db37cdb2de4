/// A point in pixels of the input tensor, from its top left corner.
package struct Keypoint: Sendable, Hashable {
    package let x: Float, y: Float
    /// The depth in pixels of the tensor's width, from wherever the model counts; nil if it does not say.
    package var z: Float?
    /// The model's confidence, 0 to 1; nil if it does not say.
    package var confidence: Float?

    /// A point.
    package init(x: Float, y: Float, confidence: Float?) {
        self.x = x
        self.y = y
        self.confidence = confidence
    }
}

/// The way in which a model's output is read as the points of one figure in the picture.
package struct KeypointDecoding: Sendable, Hashable {
    package var layout: KeypointLayout
    /// The order of the numbers of a point, for `points`.
    package var order: PointOrder
    /// The unit of `points`.
    package var units: BoxUnits
    /// The form of confidences.
    package var scores: PointScores
    /// The least confidence of a point that is reported.
    package var threshold: Float
    /// True if a heatmap's peak is moved by a quarter of a cell towards its larger neighbour, each way.
    package var refines: Bool
    /// The place of a heatmap's axis of points; nil finds it.
    package var place: ChannelPlace?

    /// The usual decoding of a layout.
    package init(layout: KeypointLayout) {
        self.layout = layout
        order = .yxScore
        units = .fractions
        scores = .probabilities
        threshold = 0
        refines = true
    }
}

/// The layout of an output of points. The raw values are those of model.json.
package enum KeypointLayout: String, Sendable, CaseIterable {
    /// Coordinates, point after point (MoveNet; regression of landmarks).
    case points
    /// A map for each point, whose greatest value marks the place.
    case heatmaps
}

/// The form of confidences of points.
package enum PointScores: String, Sendable, CaseIterable {
    case probabilities, sigmoid
}

/// Reads the points of an output.
package struct KeypointDecoder: Sendable {
    package let decoding: KeypointDecoding
    package let width: Int, height: Int
    /// The number of points.
    package let points: Int
    private let cells: (width: Int, height: Int)
    private let isFirst: Bool

    /// Prepares decoding of an output of this shape.
    /// - Parameters:
    ///   - width: of the input tensor in pixels, as `height`.
    ///   - names: how many points are named; nil if none are.
    package init(
        _ decoding: KeypointDecoding, shape whole: [Int], width: Int, height: Int, names: Int?
    ) throws(ObservationError) {
        self.decoding = decoding
        self.width = width
        self.height = height
        let count = OutputTensor.count(of: whole) ?? 0
        let number = names.map(String.init) ?? "points"
        switch decoding.layout {
        case .points:
            let each = decoding.order.count
            guard count > 0, count % each == 0, count <= 1 << 20, names == nil || names == count / each else {
                throw .unexpected(
                    role: "output", expected: "[1, \(number), \(each)] (\(decoding.order.rawValue))", found: "\(whole)")
            }
            points = count / each
            cells = (0, 0)
            isFirst = true
        case .heatmaps:
            let shape = OutputTensor.withoutBatch(whole, rank: 3)
            let expected = "[1, \(number), height, width] or channels last"
            guard shape.count == 3, count > 0, count <= 1 << 30 else {
                throw .unexpected(role: "output", expected: expected, found: "\(whole)")
            }
            switch decoding.place {
            case let place?: isFirst = place == .first
            case nil where names != nil && (shape[0] == names) != (shape[2] == names): isFirst = shape[0] == names
            case nil: isFirst = shape[0] <= shape[2]
            }
            points = isFirst ? shape[0] : shape[2]
            cells = isFirst ? (shape[2], shape[1]) : (shape[1], shape[0])
            guard names == nil || names == points, points <= 1 << 16 else {
                throw .unexpected(role: "output", expected: expected, found: "\(whole)")
            }
        }
    }

    /// The points in order; nil for one that was not found.
    package func keypoints(
        _ tensor: OutputTensor, threshold: Float? = nil, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Keypoint?] {
        let least = threshold ?? decoding.threshold
        switch decoding.layout {
        case .points:
            guard tensor.values.count == points * decoding.order.count else {
                throw .unexpected(role: "output", expected: "\(points) points", found: "\(tensor.shape)")
            }
            return PointReader(decoding, width: width, height: height).points(tensor.values, threshold: least)
        case .heatmaps:
            guard tensor.values.count == points * cells.width * cells.height else {
                throw .unexpected(role: "output", expected: "\(points) maps", found: "\(tensor.shape)")
            }
            var found: [Keypoint?] = []
            for point in 0..<points {
                if isCancelled() { throw .cancelled }
                found.append(peak(point, tensor.values, least))
            }
            return found
        }
    }

    private func peak(_ point: Int, _ values: UnsafeBufferPointer<Float>, _ least: Float) -> Keypoint? {
        let count = cells.width * cells.height
        let start = isFirst ? point * count : point, step = isFirst ? 1 : points
        var best = -Float.infinity, place = -1
        for index in 0..<count {
            let value = values[start &+ index &* step]
            if value > best {
                best = value
                place = index
            }
        }
        guard place >= 0 else { return nil }
        let confidence = min(max(decoding.scores == .sigmoid ? ScoreScan.sigmoid(best) : best, 0), 1)
        guard confidence >= least else { return nil }
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
    private let order: PointOrder, scores: PointScores
    private let scaleX: Float, scaleY: Float

    /// - Parameter width: of the input tensor in pixels, as `height`.
    package init(_ decoding: KeypointDecoding, width: Int, height: Int) {
        order = decoding.order
        scores = decoding.scores
        scaleX = decoding.units == .fractions ? Float(width) : 1
        scaleY = decoding.units == .fractions ? Float(height) : 1
    }

    /// The points in order; nil for one that is under the threshold, or is not a number.
    package func points(_ values: some RandomAccessCollection<Float>, threshold: Float) -> [Keypoint?] {
        let each = order.count
        return (0..<values.count / each).map { point in
            func value(_ element: Int) -> Float {
                values[values.index(values.startIndex, offsetBy: point * each + element)]
            }
            var found = Keypoint(x: value(order.x) * scaleX, y: value(order.y) * scaleY, confidence: nil)
            guard found.x.isFinite, found.y.isFinite else { return nil }
            found.z = order.z.map { value($0) * scaleX }.flatMap { $0.isFinite ? $0 : nil }
            guard let place = order.score else { return found }
            let confidence = scores == .sigmoid ? ScoreScan.sigmoid(value(place)) : value(place)
            guard confidence >= threshold else { return nil }
            found.confidence = min(max(confidence, 0), 1)
            return found
        }
    }
}
