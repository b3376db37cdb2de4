package import ImagePipeline

/// The messages that a decoding process may send, and their order: it states a size, decodes when memory is given, and
/// reports that it is done. Anything else is an error of the picture, and the process is ended.
package struct DecodeDialogue: Sendable {
    /// An event of the dialogue.
    package enum Event: Sendable {
        /// A message was received; nil for an invalid one.
        case received(DecoderMessage?)
        /// The process closed its socket.
        case closed
        /// The process has ended: by a signal, or, if that is 0, with an exit status.
        case ended(signal: Int32, status: Int32)
        /// The time limit has passed.
        case late
        /// The request was cancelled.
        case cancelled
    }

    /// The action after an event.
    package enum Action: Sendable, Equatable {
        /// Check the size, reserve memory, and call ``allow(bytes:seconds:clock:)``.
        case check(DecoderMessage)
        /// Wait for the end of the process, which gives the reason for its silence.
        case awaitEnd
        /// End the process, then use the pixels.
        case take(DecoderMessage)
        /// End the process.
        case refuse(ImageError)
    }

    private enum State {
        case opening, stated
        case decoding(bytes: Int)
        case silent, over
    }

    private let format: ImageFormat
    /// The current time limits in seconds, of wall-clock and of processor time.
    private var clockSeconds: Int, processorSeconds: Int
    private var state = State.opening

    /// A dialogue about a picture of a format.
    package init(_ format: ImageFormat, limits: DecodeLimits) {
        self.format = format
        clockSeconds = limits.clockSeconds(ofPixels: 0)
        processorSeconds = limits.secondsToOpen
    }

    /// Lets the process decode with `bytes` of memory for the pixels, `seconds` of processor time and `clock` seconds
    /// of wall-clock time.
    package mutating func allow(bytes: Int, seconds: Int, clock: Int) {
        clockSeconds = clock
        processorSeconds = seconds
        if case .stated = state { state = .decoding(bytes: bytes) }
    }

    /// Handles an event. Returns the next action.
    package mutating func take(_ event: Event) -> Action {
        switch event {
        case .received(let statement): return answer(statement)
        case .closed:
            state = .silent
            return .awaitEnd
        case .ended(let signal, let status): return refuse(ending(signal: signal, status: status))
        case .late: return refuse("decoding it took longer than \(clockSeconds) s")
        case .cancelled:
            state = .over
            return .refuse(.cancelled)
        }
    }

    private mutating func answer(_ statement: DecoderMessage?) -> Action {
        guard let statement else { return refuse("its decoder sent an invalid message") }
        if case .refused(let reason) = statement.kind { return refuse(reason.isEmpty ? "it is damaged" : reason) }
        switch (state, statement.kind) {
        case (.opening, .size):
            guard statement.pixelBytes != nil else {
                guard statement.width > 0, statement.height > 0 else {
                    return refuse("its size is \(statement.width) x \(statement.height) pixels")
                }
                state = .over
                return .refuse(.sideTooLong(limit: 65_535, width: statement.width, height: statement.height))
            }
            state = .stated
            return .check(statement)
        case (.decoding(let bytes), .done):
            guard let needed = statement.pixelBytes, needed <= bytes else {
                return refuse(
                    "its decoder wrote \(statement.width) x \(statement.height) pixels, which is not the size that it stated"
                )
            }
            state = .over
            return .take(statement)
        default: return refuse("its decoder sent a message out of turn")
        }
    }

    private mutating func refuse(_ reason: String) -> Action {
        state = .over
        return .refuse(.corrupt("\(format.title): \(reason)"))
    }

    /// The names of signals by number, as on Linux.
    private static let names: [Int32: String] = [
        4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV",
    ]

    private func ending(signal: Int32, status: Int32) -> String {
        switch signal {
        case 0: "its decoder ended with status \(status) before it was done"
        case 9: "its decoder was killed (out of memory?)"
        case 24: "decoding it took more than \(processorSeconds) s of a processor"
        case 31: "its decoder made a forbidden system call (SIGSYS)"
        default: "its decoder crashed (\(Self.names[signal] ?? "signal \(signal)"))"
        }
    }
}
