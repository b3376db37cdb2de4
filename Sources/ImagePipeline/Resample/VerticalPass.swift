import CResample

/// Takes rows one after another and computes rows of outputs from them. Keeps only the rows that one output needs.
struct VerticalPass {
    private let weights: ResampleWeights
    /// The coefficients in halves: for each output and pair of coefficients, the high halves, then the low halves.
    private let halves: [Int16]
    private let rowBytes: Int
    /// The number of rows that are kept.
    private let capacity: Int
    private let ring: UnsafeMutablePointer<UInt8>
    /// True if rows are not changed.
    let isIdentity: Bool
    private let stride: Int
    private let result: UnsafeMutablePointer<UInt8>
    /// The number of source rows received.
    private var arrived = 0
    /// The index of the next output.
    private(set) var output = 0

    /// - Parameters:
    ///   - rowBytes: the bytes of a row; the passes work on whole vectors, up to 31 bytes beyond it.
    init(weights: ResampleWeights, rowBytes: Int, ring: Memory, result: Memory) throws(ImageError) {
        self.weights = weights
        halves =
            weights.isSelection
            ? [] : CoefficientHalves.array(weights.coefficients, inGroupsOf: Int(CRESAMPLE_ROW_GROUP))
        self.rowBytes = rowBytes
        var end = 0
        var capacity = 1
        for output in 0..<weights.outputCount {
            // Outputs are returned in order, so one that is complete early waits for those before it.
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

    /// The memory for the next source row; call `advance()` after writing it.
    var nextSlot: UnsafeMutablePointer<UInt8> { ring + (arrived % capacity) * stride }

    mutating func advance() { arrived += 1 }

    /// Counts a row of an identity that was used unchanged.
    mutating func passOne() {
        arrived += 1
        output += 1
    }

    /// The next row of outputs; nil if it needs more rows. Valid until the next call.
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
            // `stride` is a multiple of 64 and at least `rowBytes`; the ring has `capacity` strides and the result one.
            // The `count <= capacity` rows from `start` on were received. An output has `weights.stride` coefficients,
            // an even number and at least `count`.
            var rows = cresample_rows(
                ring: ring, stride: stride, capacity: capacity, first: start % capacity, count: count)
            cresample_vertical(ResampleLevel.best, &rows, halves + base * 2, rowBytes, result)
        }
        return UnsafePointer(result)
    }
}
