/// The mapping of the points of a resized grid to the original one.
enum GridSampling {
    /// i · in / out.
    case asymmetric
    /// The first and last points coincide; a single point is the first.
    case strict
    /// The first and last points coincide; a single point is in the middle.
    case aligned
    /// Steps of max(1, in − 1) / out, the first half a step from the edge.
    case offset
    /// (i + ½) · in / out − ½.
    case halfPixel

    /// The positions of `count` points on a line of `extent` elements.
    func points(extent: Int, count: Int) -> [Double] {
        let (size, steps) = (Double(extent), Double(count))
        return (0..<count).map { index in
            let place = Double(index)
            let point =
                switch self {
                case .asymmetric: place * size / steps
                case .strict: count == 1 ? 0 : place * (size - 1) / (steps - 1)
                case .aligned: count == 1 ? (size - 1) / 2 : place * (size - 1) / (steps - 1)
                case .offset: (place + 0.5) * max(1, size - 1) / steps
                case .halfPixel: (place + 0.5) * size / steps - 0.5
                }
            return min(max(point, 0), size - 1)
        }
    }

    /// The index of the nearest element of each point.
    func nearest(extent: Int, count: Int) -> [Int32] {
        points(extent: extent, count: count).enumerated().map { index, point in
            let place =
                switch self {
                case .asymmetric: Double(index * extent / count)
                case .halfPixel: Double((2 * index + 1) * extent / (2 * count))
                default: (point + 0.5).rounded(.down)
                }
            return Int32(clamping: Int(min(place, Double(extent - 1))))
        }
    }

    /// The engine's name of the sampling; `nil` if it has no equivalent, or treats a single point differently.
    func engineName(counts: [Int]) -> GraphBuilder.Sampling? {
        switch self {
        case .asymmetric: .asymmetric
        case .halfPixel: .halfPixel
        case .strict: .alignCorners
        case .aligned: counts.contains(1) ? nil : .alignCorners
        case .offset: nil
        }
    }
}
