package import Choices
internal import FlowControl
package import JSON
internal import Synchronization
package import SystemSupport

/// Writes log lines to standard error: with priority prefixes for journald, without them for terminals, or as JSON
/// objects. Its own thread writes them: see ``LogWriter``. Thread-safe.
package final class Log: Sendable {
    /// The `priority` of the level, which may change while the daemon runs.
    private let level: Atomic<Int>
    private let form: LogForm
    private let writer: LogWriter
    private let limiter = Mutex(LineLimiter())
    private let suppressed = Atomic<UInt64>(0)

    /// - Parameter descriptor: the descriptor to write to; by default standard error.
    package init(level: LogLevel, format: LogFormat, descriptor: Int32 = 2) throws(CommandError) {
        self.level = Atomic(level.priority)
        let form = LogForm(format)
        self.form = form
        writer = try LogWriter(descriptor: descriptor) { lost in
            form.line(.warning) {
                $0.add("\(lost) log lines were lost: the log is written faster than it is read")
            }
        }
    }

    /// Changes the level and the format from now on.
    package func use(level: LogLevel, format: LogFormat) {
        self.level.store(level.priority, ordering: .relaxed)
        form.use(format)
    }

    /// Lines that were lost because the log was not read fast enough.
    package var lostLines: UInt64 { writer.lostLines }

    /// Lines that were suppressed because they repeated.
    package var suppressedLines: UInt64 { suppressed.load(ordering: .relaxed) }

    package func debug(_ message: @autoclosure () -> String) { write(.debug, nil, message) }
    package func info(_ message: @autoclosure () -> String) { write(.info, nil, message) }
    package func notice(_ message: @autoclosure () -> String) { write(.notice, nil, message) }
    /// - Parameter key: the key of lines that count as repetitions of each other; nil for the message.
    package func warning(_ message: @autoclosure () -> String, repeating key: String? = nil) {
        write(.warning, key, message)
    }
    /// - Parameters:
    ///   - key: the key of lines that count as repetitions of each other; nil for the message.
    ///   - fields: writes named values in addition to the message, for JSON only; the message must contain them for
    ///     text.
    package func error(
        _ message: @autoclosure () -> String, repeating key: String? = nil,
        fields: (inout JSONWriter) -> Void = { _ in }
    ) {
        write(.error, key, message, fields)
    }

    /// True if lines of a level are written.
    package func isEnabled(_ level: LogLevel) -> Bool { level.priority <= self.level.load(ordering: .relaxed) }

    private func write(
        _ level: LogLevel, _ key: String?, _ message: () -> String, _ fields: (inout JSONWriter) -> Void = { _ in }
    ) {
        guard isEnabled(level) else { return }
        let text = message()
        let now = MonotonicInstant.now.nanoseconds
        switch limiter.withLock({ $0.check(key ?? text, at: now) }) {
        case .leaveOut: suppressed.wrappingAdd(1, ordering: .relaxed)
        case .write(suppressed: 0): line(level, message: { $0.add(text) }, fields: fields)
        case .write(let count):
            line(level, message: { $0.add("\(text) (and \(count) similar lines suppressed)") }, fields: fields)
        }
    }

    /// Writes a line with named values in addition to the message, for JSON only; the message must contain them for
    /// text.
    package func line(
        _ level: LogLevel, message: (inout LogText) -> Void, fields: (inout JSONWriter) -> Void = { _ in }
    ) {
        guard isEnabled(level) else { return }
        writer.write(form.line(level, message: message, fields: fields), isImportant: level >= .notice)
    }

    /// Returns when everything is written, or after the time.
    package func flush(within time: Duration) async { await writer.flush(within: time) }

    /// Like ``flush(within:)``, for a thread that may block.
    package func flushBlocking(within time: Duration) { writer.flushBlocking(within: time) }
}
