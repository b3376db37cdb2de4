package import JSON

/// The values in an answer that differ for each request, even if the answer is shared.
package enum PerRequestField: Int {
    case requestID
    /// The time of the whole request: in milliseconds, in whole milliseconds, and in seconds.
    case total, wholeMilliseconds, seconds

    /// Writes the time of the whole request, given in nanoseconds, in the value's unit.
    package func write(total: UInt64, to writer: inout JSONWriter) {
        switch self {
        case .requestID: writer.null()
        case .total: writer.milliseconds(total)
        case .wholeMilliseconds: writer.integer(Self.wholeMilliseconds(total))
        case .seconds: writer.number(Double(total / 1_000) / 1_000_000)
        }
    }

    /// Nanoseconds as the nearest whole milliseconds.
    package static func wholeMilliseconds(_ nanoseconds: UInt64) -> Int {
        Int(clamping: (nanoseconds &+ 500_000) / 1_000_000)
    }
}
