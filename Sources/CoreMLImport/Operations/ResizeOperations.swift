/// Resizing of the last axes.
extension GraphBuilder {
    /// The maximum extent to scale to.
    private static let largestExtent = 1 << 16

    /// Scales rows and columns by factors.
    func upsampled(_ x: Graph.Value, by factors: [Float], sampling: GridSampling, linear: Bool) throws(Problem)
        -> Graph.Value
    {
        guard x.rank >= 3, factors.count == 2, factors.allSatisfy({ $0 > 0 && $0 <= 65536 }) else {
            throw Problem("\(shapeText(x.shape)) cannot be scaled by \(factors)")
        }
        let extents = x.shape.suffix(2).compactMap { $0 }
        if extents.count == 2 {
            let sizes: [Int] = zip(extents, factors).map { Int((Double($0) * Double($1)).rounded(.down)) }
            return try resized(x, to: sizes, sampling: sampling, linear: linear)
        }
        guard x.rank == 4, let name = sampling.engineName(counts: []) else {
            throw Problem("scaling needs an image of known size")
        }
        return try resize(x, factors: factors, linear: linear, sampling: name)
    }

    /// Resizes the last axes.
    func resized(_ x: Graph.Value, to sizes: [Int], sampling: GridSampling, linear: Bool) throws(Problem) -> Graph.Value
    {
        guard x.rank >= sizes.count, sizes.allSatisfy({ $0 > 0 && $0 <= Self.largestExtent }) else {
            throw Problem("a value of shape \(shapeText(x.shape)) cannot be scaled to \(sizes)")
        }
        let old = x.shape.suffix(sizes.count).compactMap { $0 }
        // The engine's nearest mode is exact only if all elements are repeated equally; otherwise gather by a list.
        let isExact = linear || (old.count == sizes.count && zip(old, sizes).allSatisfy { $0 > 0 && $1 % $0 == 0 })
        if sizes.count == 2, x.rank == 4, isExact || old.count < 2,
            let name = linear || sampling == .asymmetric ? sampling.engineName(counts: sizes) : nil
        {
            return try resize(x, height: sizes[0], width: sizes[1], linear: linear, sampling: name)
        }
        guard old.count == sizes.count, old.allSatisfy({ $0 > 0 }) else {
            throw Problem("scaling needs an image of known size")
        }
        var result = x
        for (index, size) in sizes.enumerated() {
            let axis = x.rank - sizes.count + index
            if linear {
                result = try interpolated(result, axis: axis, sampling.points(extent: old[index], count: size))
            } else {
                let places = sampling.nearest(extent: old[index], count: size)
                result = try gather(result, constant(.i32, shape: [size], bytes: Bytes(of: places)), axis: axis)
            }
        }
        return result
    }

    /// The values at points along an axis, interpolated between its elements.
    private func interpolated(_ x: Graph.Value, axis: Int, _ points: [Double]) throws(Problem) -> Graph.Value {
        guard let extent = x.shape[axis] else { throw Problem("the extent of an axis is unknown") }
        func elements(at places: [Int]) throws(Problem) -> Graph.Value {
            let indices = try constant(
                .i32, shape: [places.count], bytes: Bytes(of: places.map { Int32(clamping: $0) }))
            return try gather(x, indices, axis: axis)
        }
        let lower = points.map { Int($0) }
        let parts = zip(points, lower).map { Float($0 - Double($1)) }
        let low = try elements(at: lower)
        if parts.allSatisfy({ $0 == 0 }) { return low }
        let high = try elements(at: lower.map { min($0 + 1, extent - 1) })
        let weights = try floats(parts, shape: [parts.count] + (axis + 1..<x.rank).map { _ in 1 })
        return try add(low, multiply(weights, subtract(high, low)))
    }
}
