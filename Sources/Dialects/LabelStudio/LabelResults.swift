internal import JSON

/// The results of a control tag for a task, as they are kept while other tags are answered.
struct LabelResults: Sendable, Equatable {
    /// The sum of the scores, and their number.
    private(set) var sum: Float = 0
    private(set) var count = 0
    /// The results in JSON, separated by commas.
    private(set) var text: [UInt8] = []

    /// The mean of the scores; 0 without results.
    var score: Float { count > 0 ? sum / Float(count) : 0 }

    /// No results.
    init() {}

    /// Adds a result.
    /// - Parameters:
    ///   - score: nil if another result has it.
    ///   - write: writes its members.
    mutating func add(score: Float?, _ write: (inout JSONWriter) -> Void) {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            write(&writer)
            if let score { writer.member("score", score) }
        }
        if !text.isEmpty { text.append(UInt8(ascii: ",")) }
        text += writer.bytes
        guard let score, score.isFinite else { return }
        sum += score
        count += 1
    }

    /// Adds the results of another tag.
    mutating func add(_ other: LabelResults) {
        if !text.isEmpty, !other.text.isEmpty { text.append(UInt8(ascii: ",")) }
        text += other.text
        sum += other.sum
        count += other.count
    }

    // MARK: Bytes

    /// The length of the numbers before the text.
    private static let head = 8

    /// The results as bytes, for ``init(bytes:)``.
    var bytes: [UInt8] {
        let numbers = UInt64(sum.bitPattern) << 32 | UInt64(UInt32(truncatingIfNeeded: count))
        return (0..<Self.head).map { UInt8(truncatingIfNeeded: numbers >> UInt64(8 * $0)) } + text
    }

    /// Nil for fewer bytes than there are numbers.
    init?(bytes: [UInt8]) {
        guard bytes.count >= Self.head else { return nil }
        let numbers = (0..<Self.head).reduce(UInt64(0)) { $0 | UInt64(bytes[$1]) << UInt64(8 * $1) }
        sum = Float(bitPattern: UInt32(truncatingIfNeeded: numbers >> 32))
        count = Int(UInt32(truncatingIfNeeded: numbers))
        text = Array(bytes[Self.head...])
    }
}
