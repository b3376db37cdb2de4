/// Weights that are not those of antialiased filters: those of OpenCV's `resize`.
extension ResampleWeights {
    enum PlainRule {
        /// Interpolates between the two nearest pixels.
        case linear
        /// Weighs each pixel by its share in the area that an output covers.
        case area
        /// `INTER_AREA` when a side gets longer: pixels stay sharp, and two are mixed only if an output covers parts of
        /// both.
        case areaEnlarged
    }

    /// - Parameters:
    ///   - scale: the number of source pixels per output.
    ///   - sourceLength: the number of source pixels, at least 1.
    static func plain(
        _ rule: PlainRule, boxStart: Double, scale: Double, sourceLength: Int, outputs: Range<Int>
    ) -> ResampleWeights {
        let taps = rule == .area ? min(Int(scale.rounded(.up)) + 1, sourceLength) : 2
        let stride = (taps + 1) & ~1
        var starts: [Int32] = []
        var counts: [Int32] = []
        var coefficients = [Int32](repeating: 0, count: stride * outputs.count)
        starts.reserveCapacity(outputs.count)
        counts.reserveCapacity(outputs.count)
        for (index, output) in outputs.enumerated() {
            var first: Int
            var shares: [Double]
            switch rule {
            case .linear:
                let position = boxStart + (Double(output) + 0.5) * scale - 0.5
                (first, shares) = (Int(position.rounded(.down)), mix(position - position.rounded(.down)))
            case .areaEnlarged:
                let position = (Double(output) * scale).rounded(.down)
                let part = Double(output + 1) - (position + 1) / scale
                (first, shares) = (
                    Int(boxStart.rounded(.down)) + Int(position), mix(part <= 0 ? 0 : part - part.rounded(.down))
                )
            case .area:
                let low = boxStart + Double(output) * scale
                let high = min(low + scale, Double(sourceLength))
                first = Int(low.rounded(.down))
                shares = (0..<taps).map { tap in
                    max(0, min(Double(first + tap + 1), high) - max(Double(first + tap), low))
                }
            }
            // The edge pixel replaces missing pixels.
            if first < 0 { (first, shares) = (0, [1, 0]) }
            if first >= sourceLength - 1 { (first, shares) = (sourceLength - 1, [1, 0]) }
            while shares.count > 1, shares.last == 0 { shares.removeLast() }
            shares.removeLast(max(0, first + shares.count - sourceLength))
            let sum = shares.reduce(0, +)
            for (tap, share) in shares.enumerated() {
                let weight = sum > 0 ? share / sum : tap == 0 ? 1 : 0
                coefficients[index * stride + tap] = Int32((weight * Double(one)).rounded())
            }
            starts.append(Int32(first))
            counts.append(Int32(shares.count))
        }
        return ResampleWeights(starts: starts, counts: counts, coefficients: coefficients, stride: stride)
    }

    private static func mix(_ part: Double) -> [Double] { [1 - part, part] }
}
