/// Lines that wait to be written, bounded, and what the one who writes them does next. Decisions only: the lock, the
/// thread and the descriptor are ``LogWriter``'s.
///
/// ```
/// writing ──nothing left──▶ lingering ──still nothing──▶ asleep
///    ▲                          │ an important line         │ any line
///    └──────────────────────────┴───────────────────────────┘ (wake)
/// ```
///
/// Lingering is what makes lines cheap under load: many are written at once, and the writer is not woken for each.
package struct LogQueue: Sendable {
    /// The next step of the writer.
    package enum Step: Sendable, Hashable {
        /// Write what was taken, then report the number of lost lines.
        case write(lost: UInt64)
        /// Wait a moment for more.
        case linger
        /// Wait until woken.
        case sleep
        /// There is nothing left, and there will be nothing more.
        case end
    }

    private enum Phase: Sendable {
        case writing, lingering, asleep
    }

    /// Bytes that may wait.
    private let capacity: Int
    private var pending: [UInt8] = []
    private var phase = Phase.writing
    private var isEnding = false
    /// Lost lines that the log has not reported yet.
    private var untold: UInt64 = 0
    /// Lines that were lost because the log is not read as quickly as it is written.
    package private(set) var lost: UInt64 = 0

    package init(capacity: Int) {
        self.capacity = capacity
    }

    /// Puts a line at the end, or loses it if there is no room. The last quarter of the room is for important lines.
    /// - Returns: whether the writer is to be woken.
    package mutating func append(_ line: [UInt8], isImportant: Bool) -> Bool {
        let room = isImportant ? capacity : capacity / 4 * 3
        guard pending.count + line.count <= room else {
            lost &+= 1
            untold &+= 1
            return false
        }
        pending += line
        guard phase == .asleep || isImportant && phase == .lingering else { return false }
        phase = .writing
        return true
    }

    /// Called by the writer when it has done its last step. `batch` is emptied, and filled where there is something to
    /// write.
    package mutating func next(_ batch: inout [UInt8]) -> Step {
        batch.removeAll(keepingCapacity: true)
        if !pending.isEmpty || untold > 0 {
            swap(&pending, &batch)
            phase = .writing
            defer { untold = 0 }
            return .write(lost: untold)
        }
        if isEnding { return .end }
        if phase == .lingering {
            phase = .asleep
            return .sleep
        }
        phase = .lingering
        return .linger
    }

    /// Lines that were taken and could not be written.
    package mutating func couldNotWrite(lines: Int) { lost &+= UInt64(clamping: lines) }

    /// True if everything that was taken in has been written.
    package var isWritten: Bool { pending.isEmpty && untold == 0 && phase != .writing }

    /// The writer ends when it has written what there is.
    package mutating func end() { isEnding = true }
}
