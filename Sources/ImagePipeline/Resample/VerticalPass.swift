/// Takes rows one after the other and makes rows of outputs of them: keeps no more rows than one output needs.
struct VerticalPass {
    private let weights: ResampleWeights
    private let rowBytes: Int
    /// Rows that are kept.
    private let capacity: Int
    private let ring: UnsafeMutablePointer<UInt8>
    private let stride: Int
    private let result: UnsafeMutablePointer<UInt8>
    /// Source rows that have come.
    private var arrived = 0
    /// The next output.
    private(set) var output = 0

    /// - Parameters:
    ///   - rowBytes: bytes of a row; the passes work on whole vectors, up to 15 bytes further.
    init(weights: ResampleWeights, rowBytes: Int, ring: Memory, result: Memory) throws(ImageError) {
        self.weights = weights
        self.rowBytes = rowBytes
        var end = 0
        var capacity = 1
        for output in 0..<weights.outputCount {
            // Outputs come in order: one whose last row came early waits for those before it.
            end = max(end, weights.starts[output] + weights.counts[output])
            capacity = max(capacity, end - weights.starts[output])
        }
        self.capacity = capacity
        stride = Self.stride(rowBytes)
        self.ring = try ring.reserve(capacity * stride)
        self.result = try result.reserve(stride)
    }

    static func stride(_ rowBytes: Int) -> Int { (rowBytes + 63) & ~63 }

    var isDone: Bool { output == weights.outputCount }

    /// Where the next source row is to be written; then `advance()`.
    var nextSlot: UnsafeMutablePointer<UInt8> { ring + (arrived % capacity) * stride }

    mutating func advance() { arrived += 1 }

    /// The next row of outputs, once the rows it needs have come. Valid until the next call.
    mutating func next() -> UnsafePointer<UInt8>? {
        guard output < weights.outputCount else { return nil }
        let start = weights.starts[output]
        let count = weights.counts[output]
        guard start + count <= arrived else { return nil }
        let base = output * weights.stride
        output += 1
        if count == 1, weights.coefficients[base] == ResampleWeights.one {
            return UnsafePointer(ring + (start % capacity) * stride)
        }
        weights.coefficients.withUnsafeBufferPointer { coefficients in
            guard let factors = coefficients.baseAddress else { return }
            combine(start: start, count: count, factors: factors + base)
        }
        return UnsafePointer(result)
    }

    // All rows have `stride` bytes, a multiple of 16 that is not less than `rowBytes`: whole vectors stay within them.
    private func combine(start: Int, count: Int, factors: UnsafePointer<Int32>) {
        let ring = UnsafeRawPointer(self.ring)
        let result = UnsafeMutableRawPointer(self.result)
        let firstSlot = start % capacity
        var offset = 0
        while offset < rowBytes {
            var sum = SIMD16<Int32>(repeating: ResampleWeights.half)
            var slot = firstSlot
            for tap in 0..<count {
                let bytes = ring.loadUnaligned(fromByteOffset: slot &* stride &+ offset, as: SIMD16<UInt8>.self)
                sum &+= SIMD16<Int32>(truncatingIfNeeded: bytes) &* factors[tap]
                slot = slot &+ 1 == capacity ? 0 : slot &+ 1
            }
            let shifted = sum &>> SIMD16(repeating: ResampleWeights.precision)
            let levels = shifted.clamped(lowerBound: .zero, upperBound: SIMD16(repeating: 255))
            result.storeBytes(
                of: SIMD16<UInt8>(truncatingIfNeeded: levels), toByteOffset: offset, as: SIMD16<UInt8>.self)
            offset &+= 16
        }
    }
}
