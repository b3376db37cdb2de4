import CResample

/// Takes rows one after the other and makes rows of outputs of them: keeps no more rows than one output needs.
struct VerticalPass {
    private let weights: ResampleWeights
    /// The coefficients in halves: by output and two of them, the high halves and the low ones.
    private let halves: [Int16]
    private let rowBytes: Int
    /// Rows that are kept.
    private let capacity: Int
    private let ring: UnsafeMutablePointer<UInt8>
    /// Every row comes out as it is.
    let isIdentity: Bool
    private let stride: Int
    private let result: UnsafeMutablePointer<UInt8>
    /// Source rows that have come.
    private var arrived = 0
    /// The next output.
    private(set) var output = 0

    /// - Parameters:
    ///   - rowBytes: bytes of a row; the passes work on whole vectors, up to 31 bytes further.
    init(weights: ResampleWeights, rowBytes: Int, ring: Memory, result: Memory) throws(ImageError) {
        self.weights = weights
        halves =
            weights.isSelection
            ? [] : CoefficientHalves.array(weights.coefficients, inGroupsOf: Int(CRESAMPLE_ROW_GROUP))
        self.rowBytes = rowBytes
        var end = 0
        var capacity = 1
        for output in 0..<weights.outputCount {
            // Outputs come in order: one whose last row came early waits for those before it.
            end = max(end, Int(weights.starts[output] + weights.counts[output]))
            capacity = max(capacity, end - Int(weights.starts[output]))
        }
        self.capacity = capacity
        isIdentity = weights.isIdentity
        stride = Self.stride(rowBytes)
        self.ring = try ring.reserve(capacity * stride)
        self.result = try result.reserve(stride)
    }

    static func stride(_ rowBytes: Int) -> Int { (rowBytes + 63) & ~63 }

    var isDone: Bool { output == weights.outputCount }

    /// The memory for the next source row; then `advance()`.
    var nextSlot: UnsafeMutablePointer<UInt8> { ring + (arrived % capacity) * stride }

    mutating func advance() { arrived += 1 }

    /// Counts a row of an identity that was used as it is.
    mutating func passOne() {
        arrived += 1
        output += 1
    }

    /// The next row of outputs, once the rows it needs have come. Valid until the next call.
    mutating func next() -> UnsafePointer<UInt8>? {
        guard output < weights.outputCount else { return nil }
        let start = Int(weights.starts[output])
        let count = Int(weights.counts[output])
        guard start + count <= arrived else { return nil }
        let base = output * weights.stride
        output += 1
        if count == 1, weights.coefficients[base] == ResampleWeights.one {
            return UnsafePointer(ring + (start % capacity) * stride)
        }
        halves.withUnsafeBufferPointer { halves in
            guard let halves = halves.baseAddress else { return }
            // `stride` is a multiple of 64 not less than `rowBytes`, the ring has `capacity` of them and the result
            // one; the rows from `start` on, `count <= capacity` of them, have come. An output has `weights.stride`
            // coefficients, an even number not less than `count`.
            var rows = cresample_rows(
                ring: ring, stride: stride, capacity: capacity, first: start % capacity, count: count)
            cresample_vertical(ResampleLevel.best, &rows, halves + base * 2, rowBytes, result)
        }
        return UnsafePointer(result)
    }
}
