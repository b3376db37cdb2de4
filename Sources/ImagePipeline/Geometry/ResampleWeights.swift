/// For each output pixel of an axis: the source pixels from which it is computed, and their weights.
///
/// The numbers are those of Pillow's resampler: weights in double precision, normalized to a sum of 1, then converted
/// to fixed point with 22 fraction bits. So the sums give the same pixels bit for bit.
struct ResampleWeights: Hashable {
    /// The number of fraction bits of a coefficient: 32 bits less 8 bits of value and 2 bits of headroom for the sum.
    static let precision: Int32 = 22
    /// The coefficient for 1.0.
    static let one: Int32 = 1 << precision

    /// By output: the first source pixel.
    private(set) var starts: [Int32]
    /// By output: the number of successive source pixels; at least 1.
    private(set) var counts: [Int32]
    /// For each output `stride` coefficients; those from `counts[output]` on are 0.
    private(set) var coefficients: [Int32]
    /// The number of coefficients per output; even.
    let stride: Int

    var outputCount: Int { starts.count }

    /// The source pixels that the outputs need.
    var sourceRange: Range<Int> {
        var low = Int32.max
        var high: Int32 = 0
        for output in starts.indices {
            low = min(low, starts[output])
            high = max(high, starts[output] + counts[output])
        }
        return low < high ? Int(low)..<Int(high) : 0..<0
    }

    /// True if every output is a copy of one source pixel.
    var isSelection: Bool { counts.allSatisfy { $0 == 1 } && coefficients.allSatisfy { $0 == Self.one || $0 == 0 } }

    /// True if every output is a copy of the source pixel with the same index.
    var isIdentity: Bool { isSelection && starts.indices.allSatisfy { Int(starts[$0]) == $0 } }

    /// - Parameters:
    ///   - box: the start of the scaled part, in source pixels (may be fractional), and its length.
    ///   - sourceLength: the number of source pixels; none outside is used.
    ///   - scaledLength: the number of pixels to which the box is scaled.
    ///   - outputs: the pixels of those that are needed.
    ///   - enlarges: whether either axis of the picture gets longer.
    init(
        box: (start: Double, length: Double), sourceLength: Int, scaledLength: Int, outputs: Range<Int>,
        resampler: Resampler, enlarges: Bool = false
    ) {
        let (boxStart, scale) = (box.start, box.length / Double(scaledLength))
        if scale == 1, boxStart == boxStart.rounded(), outputs.upperBound <= sourceLength - Int(boxStart) {
            // All filters are 1 in the middle and 0 one pixel further.
            self = Self(copying: outputs, from: Int32(boxStart))
            return
        }
        switch resampler {
        case .linear, .area:
            let rule: PlainRule = resampler == .linear ? .linear : enlarges ? .areaEnlarged : .area
            self = Self.plain(
                rule, boxStart: boxStart, scale: scale, sourceLength: sourceLength, outputs: outputs)
        case .nearest: self.init(nearest: outputs, from: boxStart, scale: scale, sourceLength: sourceLength)
        default:
            self.init(filter: resampler, outputs, from: boxStart, scale: scale, sourceLength: sourceLength)
        }
    }

    /// Each output is the nearest source pixel.
    private init(nearest outputs: Range<Int>, from boxStart: Double, scale: Double, sourceLength: Int) {
        // Pillow finds the nearest pixel by repeated addition; between two pixels the last bit decides.
        var position = boxStart + scale * 0.5
        if outputs.lowerBound > 0 {
            if outputs.lowerBound < 100_000 {
                for _ in 0..<outputs.lowerBound { position += scale }
            } else {
                position += Double(outputs.lowerBound) * scale
            }
        }
        starts = []
        starts.reserveCapacity(outputs.count)
        for _ in outputs {
            starts.append(Int32(max(0, min(Int(position), sourceLength - 1))))
            position += scale
        }
        counts = [Int32](repeating: 1, count: outputs.count)
        coefficients = outputs.flatMap { _ in [Self.one, 0] }
        stride = 2
    }

    /// Each output is computed from the source pixels that the filter reaches.
    private init(
        filter: Resampler, _ outputs: Range<Int>, from boxStart: Double, scale: Double, sourceLength: Int
    ) {
        let filterScale = max(1, scale)
        let support = filter.support * filterScale
        let taps = min(Int(support.rounded(.up)) * 2 + 1, sourceLength)
        let stride = (taps + 1) & ~1
        var starts: [Int32] = []
        var counts: [Int32] = []
        var coefficients = [Int32](repeating: 0, count: stride * outputs.count)
        starts.reserveCapacity(outputs.count)
        counts.reserveCapacity(outputs.count)
        var weights = [Double](repeating: 0, count: taps)
        for (index, output) in outputs.enumerated() {
            let center = boxStart + (Double(output) + 0.5) * scale
            let first = max(0, min(Int(center - support + 0.5), sourceLength - 1))
            let end = min(sourceLength, Int(center + support + 0.5))
            let count = max(1, min(taps, end - first))
            var sum = 0.0
            for tap in 0..<count {
                let weight = filter.weight((Double(tap + first) - center + 0.5) * (1 / filterScale))
                weights[tap] = weight
                sum += weight
            }
            // Leave out zeros at both ends.
            var used = count
            while used > 1, weights[used - 1] == 0 { used -= 1 }
            var skipped = 0
            while skipped < used - 1, weights[skipped] == 0 { skipped += 1 }
            for tap in skipped..<used {
                let weight = (sum != 0 ? weights[tap] / sum : 1 / Double(count)) * Double(Self.one)
                coefficients[index * stride + tap - skipped] = Int32(weight < 0 ? weight - 0.5 : weight + 0.5)
            }
            starts.append(Int32(first + skipped))
            counts.append(Int32(used - skipped))
        }
        self.init(starts: starts, counts: counts, coefficients: coefficients, stride: stride)
    }

    init(starts: [Int32], counts: [Int32], coefficients: [Int32], stride: Int) {
        self.starts = starts
        self.counts = counts
        self.coefficients = coefficients
        self.stride = stride
    }

    /// Each output is the source pixel with its index plus `start`.
    private init(copying outputs: Range<Int>, from start: Int32) {
        starts = outputs.map { start + Int32($0) }
        counts = [Int32](repeating: 1, count: outputs.count)
        coefficients = outputs.flatMap { _ in [Self.one, 0] }
        stride = 2
    }

    /// Reverses the axis: the order of outputs and of source pixels.
    mutating func mirror(sourceLength: Int) {
        for output in starts.indices {
            let base = output * stride
            coefficients[base..<base + Int(counts[output])].reverse()
            starts[output] = Int32(sourceLength) - starts[output] - counts[output]
        }
        starts.reverse()
        counts.reverse()
        let old = coefficients
        for output in starts.indices {
            let from = (starts.count - 1 - output) * stride
            coefficients.replaceSubrange(output * stride..<(output + 1) * stride, with: old[from..<from + stride])
        }
    }

    /// Adds `offset` to the indices of source pixels.
    mutating func rebase(by offset: Int) {
        for output in starts.indices {
            starts[output] += Int32(offset)
        }
    }
}
