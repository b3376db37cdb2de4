/// Lets a line that repeats pass only regularly, and counts the others. Time comes from outside.
package struct LineLimiter: Sendable {
    /// The number of lines of one key that pass in a window.
    package static let burst = 5
    /// The length of a window, in nanoseconds.
    package static let window: UInt64 = 10_000_000_000
    /// Keys that are remembered; past it all are forgotten, which lets at most a burst too many through.
    static let most = 256

    private struct Entry {
        var start: UInt64
        var count = 1
        var suppressed = 0
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// The decision on a line.
    package enum Verdict: Sendable, Hashable {
        /// It is written; with the number of similar lines that were suppressed before.
        case write(suppressed: Int)
        case leaveOut
    }

    /// - Parameter key: what lines have in common that count as one line repeating.
    package mutating func judge(_ key: String, at now: UInt64) -> Verdict {
        guard var entry = entries[key] else {
            if entries.count >= Self.most { entries.removeAll(keepingCapacity: true) }
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
