/// Limits the rate of repeated lines, and counts the suppressed ones. The caller passes the time.
package struct LineLimiter: Sendable {
    /// The number of lines of one key that pass in a window.
    package static let burst = 5
    /// The length of a window, in nanoseconds.
    package static let window: UInt64 = 10_000_000_000
    /// The maximum number of keys; a new key beyond it removes all, which lets at most one burst too many through.
    static let maximum = 256

    private struct Entry {
        var start: UInt64
        var count = 1
        var suppressed = 0
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// The decision on a line.
    package enum Verdict: Sendable, Hashable {
        /// Write the line, with the number of similar lines that were suppressed before it.
        case write(suppressed: Int)
        case leaveOut
    }

    /// Decides on a line at a time in nanoseconds.
    /// - Parameter key: the key of lines that count as repetitions of each other.
    package mutating func check(_ key: String, at now: UInt64) -> Verdict {
        guard var entry = entries[key] else {
            if entries.count >= Self.maximum { entries.removeAll(keepingCapacity: true) }
            entries[key] = Entry(start: now)
            return .write(suppressed: 0)
        }
        defer { entries[key] = entry }
        if now &- entry.start >= Self.window {
            let suppressed = entry.suppressed
            entry = Entry(start: now)
            return .write(suppressed: suppressed)
        }
        guard entry.count < Self.burst else {
            entry.suppressed += 1
            return .leaveOut
        }
        entry.count += 1
        return .write(suppressed: 0)
    }
}
