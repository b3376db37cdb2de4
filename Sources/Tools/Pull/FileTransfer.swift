/// Decides how a file is received over several requests: where each begins, what an answer is good for, and when to
/// stop trying.
package struct FileTransfer: Sendable {
    /// The size of the whole file in bytes.
    package let size: Int
    /// The number of bytes on disk, which the next request leaves out.
    package private(set) var offset: Int
    /// The bytes on disk at the last progress, which set the count of failures to 0.
    private var furthest: Int
    /// The bytes that count as progress: a server that sends a few and stalls makes none.
    private var worth: Int { max(1, min(1 << 20, size / 8)) }
    private var attempts = RetryCount()
    private var hasRestarted = false

    package init(size: Int, have offset: Int) {
        (self.size, self.offset, furthest) = (size, offset, offset)
    }

    /// The use of an answer when its head is complete.
    package enum Use: Sendable, Equatable {
        /// Write the body from this byte of the file on: 0 or ``offset``.
        case write(from: Int)
        /// Ignore the body; it may succeed in a while.
        case retry(String)
        /// Ignore the body, drop what is on disk, and begin again.
        case restart
        /// Ignore the body: the status is final.
        case refused
        /// Ignore the body: the answer is not of this file.
        case contradiction(String)
    }

    package mutating func use(of answer: HubAnswer) -> Use {
        switch answer.status {
        case 200:
            if let length = answer.length, length != size { return .contradiction("the server sends \(length) bytes") }
            // A server that knows no ranges sends the whole file.
            return .write(from: 0)
        case 206:
            guard let range = answer.range, range.first == offset, range.size ?? size == size else {
                return restarted ?? .contradiction("the server sends another part than was asked for")
            }
            if let length = answer.length, length > size - offset {
                return .contradiction("the server sends \(length) bytes after the first \(offset)")
            }
            return .write(from: offset)
        case 416: return restarted ?? .contradiction("the server has no bytes after the first \(offset)")
        default: return answer.isPassing ? .retry("the server answers \(answer.status)") : .refused
        }
    }

    /// Once only.
    private var restarted: Use? {
        mutating get {
            guard offset > 0, !hasRestarted else { return nil }
            hasRestarted = true
            return .restart
        }
    }

    /// A request begins again at 0.
    package mutating func restart() { offset = 0 }

    /// The end of a request that did not complete the file.
    /// - Parameters:
    ///   - offset: the number of bytes on disk.
    ///   - isStalled: true if the time without progress has passed.
    ///   - pause: the seconds that the server asks for.
    /// - Returns: the seconds to wait before the next request; nil if there must be none.
    package mutating func failed(at offset: Int, isStalled: Bool = false, pause: Double? = nil) -> Double? {
        self.offset = offset
        if offset - furthest >= worth {
            furthest = offset
            attempts = RetryCount()
        }
        return attempts.failed(isStalled: isStalled, pause: pause)
    }
}

/// Counts failures in a row.
package struct RetryCount: Sendable {
    private var failures = 0
    /// Of failures that take no time, and of stalled requests, each of which takes the whole time without progress.
    private static let maximum = 5, ofStall = 2

    package init() {}

    /// - Returns: the seconds to wait; nil after too many failures.
    package mutating func failed(isStalled: Bool = false, pause: Double? = nil) -> Double? {
        failures += isStalled ? Self.ofStall : 1
        guard failures < Self.maximum else { return nil }
        return pause ?? [0.25, 0.5, 1, 2, 4][min(failures, 5) - 1]
    }
}
