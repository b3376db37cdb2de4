/// One output of an inference, in the elements of the engine: all values, or a sample of a large output.
struct EngineAnswer: Sendable {
    let shape: Shape
    let type: ElementType
    private let bytes: [UInt8]
    /// True if it has all values.
    let isComplete: Bool

    /// - Parameter maximum: the maximum number of values that are kept.
    init(_ raw: UnsafeRawBufferPointer, shape: Shape, type: ElementType, maximum: Int) {
        let size = type.byteCount, count = size > 0 ? raw.count / size : 0
        self.shape = shape
        self.type = type
        isComplete = count <= maximum
        if isComplete {
            bytes = Array(raw)
        } else {
            var sample: [UInt8] = []
            sample.reserveCapacity(maximum * size)
            for place in SamplePlaces(of: count, maximum: maximum) {
                sample += raw[place * size..<(place + 1) * size]
            }
            bytes = sample
        }
    }

    /// True if every bit is equal.
    func isIdentical(to other: EngineAnswer) -> Bool { shape == other.shape && bytes == other.bytes }

    /// The number of values that are kept.
    var count: Int { type.byteCount > 0 ? bytes.count / type.byteCount : 0 }

    /// The values. Only integers of 64 bits are rounded.
    var values: [Double] {
        var values: [Double] = []
        values.reserveCapacity(count)
        bytes.withUnsafeBytes { raw in ElementConversion.read(raw, as: type) { _, value in values.append(value) } }
        return values
    }

    /// All bytes, in the order of the memory; nil for a sample.
    var memory: [UInt8]? { isComplete ? bytes : nil }

    /// The answer as the comparison of streams samples it; nil for a sample.
    func sampled(maximum: Int) -> ReferenceAnswers.Output? {
        guard isComplete else { return nil }
        return bytes.withUnsafeBytes { ReferenceAnswers.sample($0, shape: shape, type: type, maximum: maximum) }
    }
}
