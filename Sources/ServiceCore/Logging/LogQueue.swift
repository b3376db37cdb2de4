/// A bounded queue of log lines, and the next step of the thread that writes them. It only decides: the lock, the
/// thread and the descriptor are in ``LogWriter``.
///
/// ```
/// writing ──nothing left──▶ lingering ──still nothing──▶ asleep
///    ▲                          │ an important line         │ any line
///    └──────────────────────────┴───────────────────────────┘ (wake)
/// ```
///
/// Lingering makes lines cheap under load: many are written at once, and the writer is not woken for each.
package struct LogQueue: Sendable {
    /// The next step of the writer.
    package enum Step: Sendable, Hashable {
        /// Write the batch, then report the number of lost lines.
        case write(lost: UInt64)
        /// Wait a moment for more lines.
        case linger
        /// Wait until woken.
        case sleep
        /// The queue is empty, and no more lines will come.
        case end
    }

    private enum Phase: Sendable {
        case writing, lingering, asleep
    }

    /// The maximum of bytes that wait.
    private let capacity: Int
    private var pending: [UInt8] = []
    private var phase = Phase.writing
    private var isEnding = false
    /// Lost lines that the log has not reported yet.
    private var unreported: UInt64 = 0
    /// Lines that were lost because the log is not read as fast as it is written.
    package private(set) var lost: UInt64 = 0

    package init(capacity: Int) {
        self.capacity = capacity
    }

    /// Appends a line, or loses it if there is no room. The last quarter of the room is for important lines.
    /// - Returns: whether to wake the writer.
    package mutating func append(_ line: [UInt8], isImportant: Bool) -> Bool {
        let room = isImportant ? capacity : capacity / 4 * 3
        guard pending.count + line.count <= room else {
            lost &+= 1
            unreported &+= 1
            return false
        }
        pending += line
        guard phase == .asleep || isImportant && phase == .lingering else { return false }
        phase = .writing
        return true
    }

    /// Called by the writer after its last step. Replaces `batch` by the waiting lines, if any.
    package mutating func next(_ batch: inout [UInt8]) -> Step {
        batch.removeAll(keepingCapacity: true)
        if !pending.isEmpty || unreported > 0 {
            swap(&pending, &batch)
            phase = .writing
            defer { unreported = 0 }
            return .write(lost: unreported)
        }
        if isEnding { return .end }
        if phase == .lingering {
            phase = .asleep
            return .sleep
        }
        phase = .lingering
        return .linger
    }

    /// Counts lines that were taken and could not be written.
    package mutating func couldNotWrite(lines: Int) { lost &+= UInt64(clamping: lines) }

    /// True if every accepted line has been written.
    package var isWritten: Bool { pending.isEmpty && unreported == 0 && phase != .writing }

    /// Makes the writer end after writing the waiting lines.
    package mutating func end() { isEnding = true }
}
