/// Why a picture is not kept.
package enum KeepingRefusal: String, Sendable, Hashable, CaseIterable {
    /// Too many pictures wait to be written.
    case queueFull = "queue_full"
    /// As many pictures as `keep_rate` were kept in the last minute.
    case rate
    /// It is larger than the queue, or than `keep_bytes`.
    case tooLarge = "too_large"
    /// Its bytes are no picture's.
    case noPicture = "no_picture"
    /// The disk is full.
    case diskFull = "disk_full"
    /// Its files cannot be written.
    case failed
}

/// The pictures that wait to be written, and those that may be kept in a minute: pure values, without a clock.
package struct KeepingGate: Sendable {
    /// The maximum number and bytes of pictures that wait.
    package static let maximumWaiting = 64, maximumBytes = 32 << 20
    private static let minute = 60_000

    /// The maximum number of pictures in any minute.
    package var rate: Int
    private let maximumWaiting: Int, maximumBytes: Int
    package private(set) var waiting = 0
    package private(set) var bytes = 0
    /// The pictures that entered since a time: at most ten times the rate in a minute, because those that are kept
    /// already do not count for the rate, and looking at each takes processor time.
    private var looks = (count: 0, since: 0)
    /// The times of the pictures that were kept in the last minute, in milliseconds, oldest first.
    private var recent: [Int]

    /// - Parameter recent: the times of the pictures that were kept before a restart.
    package init(
        rate: Int, recent: [Int] = [], maximumWaiting: Int = Self.maximumWaiting, maximumBytes: Int = Self.maximumBytes
    ) {
        self.rate = rate
        self.recent = recent.sorted()
        self.maximumWaiting = maximumWaiting
        self.maximumBytes = maximumBytes
    }

    /// True if one more picture may be kept now.
    /// - Parameter now: milliseconds of a clock that never goes back.
    package mutating func isOpen(at now: Int) -> Bool {
        if let first = recent.firstIndex(where: { now &- $0 < Self.minute }) {
            recent.removeFirst(first)
        } else {
            recent.removeAll()
        }
        return recent.count < rate
    }

    /// Counts a picture that is kept.
    package mutating func kept(at now: Int) { recent.append(now) }

    /// Takes a place in the queue.
    /// - Returns: the reason if there is no place; nil if it is taken.
    package mutating func enter(_ size: Int, at now: Int) -> KeepingRefusal? {
        guard size <= maximumBytes else { return .tooLarge }
        guard isOpen(at: now) else { return .rate }
        if now &- looks.since >= Self.minute { looks = (0, now) }
        guard looks.count < 10 * rate else { return .rate }
        guard waiting < maximumWaiting, bytes + size <= maximumBytes else { return .queueFull }
        looks.count += 1
        waiting += 1
        bytes += size
        return nil
    }

    /// Gives a place in the queue back.
    package mutating func leave(_ size: Int) {
        waiting -= 1
        bytes -= size
    }
}
