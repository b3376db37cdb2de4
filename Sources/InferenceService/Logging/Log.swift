internal import FlowControl
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// Writes log lines to standard error: for journald with priority prefixes, for terminals without, or as JSON objects.
///
/// Each line is one `write`, so lines of several threads never mix.
package final class Log: Sendable {
    /// Importance, with syslog's numbers.
    package enum Level: Int, Sendable, Comparable, CaseIterable {
        case error = 3, warning = 4, notice = 5, info = 6, debug = 7

        package static func < (a: Level, b: Level) -> Bool { a.rawValue > b.rawValue }

        /// The name in settings.
        package var name: String { "\(self)" }
    }

    /// The form of the lines.
    package enum Format: Sendable {
        case text, json
    }

    /// The level and the form may change while the daemon runs: `rawValue` of the level, and 1 for JSON.
    private let level: Atomic<Int>
    private let isJSON: Atomic<Bool>
    /// journald takes `<6>` at the start of a line as its priority.
    private let isJournal: Bool
    private let limiter = Mutex(LineLimiter())
    private let suppressed = Atomic<UInt64>(0)

    package init(level: Level, format: Format) {
        self.level = Atomic(level.rawValue)
        isJSON = Atomic(format == .json)
        isJournal = getenv("JOURNAL_STREAM") != nil
    }

    /// Writes other lines, or in another form, from now on.
    package func use(level: Level, format: Format) {
        self.level.store(level.rawValue, ordering: .relaxed)
        isJSON.store(format == .json, ordering: .relaxed)
    }

    /// Lines that were left out because they repeated.
    package var suppressedLines: UInt64 { suppressed.load(ordering: .relaxed) }

    package func debug(_ message: @autoclosure () -> String) { write(.debug, nil, message) }
    package func info(_ message: @autoclosure () -> String) { write(.info, nil, message) }
    package func notice(_ message: @autoclosure () -> String) { write(.notice, nil, message) }
    /// - Parameter key: what lines have in common that count as one line repeating; nil: the message.
    package func warning(_ message: @autoclosure () -> String, repeating key: String? = nil) {
        write(.warning, key, message)
    }
    /// - Parameter key: what lines have in common that count as one line repeating; nil: the message.
    package func error(_ message: @autoclosure () -> String, repeating key: String? = nil) {
        write(.error, key, message)
    }

    /// Whether lines of a level are written.
    package func isEnabled(_ level: Level) -> Bool { level.rawValue <= self.level.load(ordering: .relaxed) }

    private func write(_ level: Level, _ key: String?, _ message: () -> String) {
        guard isEnabled(level) else { return }
        let text = message()
        let now = MonotonicInstant.now.nanoseconds
        switch limiter.withLock({ $0.judge(key ?? text, at: now) }) {
        case .leaveOut: suppressed.wrappingAdd(1, ordering: .relaxed)
        case .write(suppressed: 0): line(level, message: text, fields: [])
        case .write(let count): line(level, message: "\(text) (and \(count) lines like it, left out)", fields: [])
        }
    }

    /// A line with named values beside the message, for JSON; in text the message says it all.
    package func line(_ level: Level, message: String, fields: [(String, JSONValueText)]) {
        guard isEnabled(level) else { return }
        var bytes: [UInt8]
        switch isJSON.load(ordering: .relaxed) {
        case false:
            let prefix = isJournal ? "<\(level.rawValue)>" : level <= .info ? "" : "\(level.name): "
            // A message never breaks its line: what comes from outside could otherwise forge one.
            bytes = Array((prefix + message).utf8.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: " ") : $0 })
        case true:
            var writer = JSONWriter(capacity: 256)
            writer.object { writer in
                writer.key("time")
                writer.string(Self.timestamp())
                writer.key("level")
                writer.string(level.name)
                writer.key("message")
                writer.string(message)
                for (name, value) in fields {
                    writer.key(name)
                    writer.raw(value.text)
                }
            }
            bytes = writer.bytes
        }
        bytes.append(UInt8(ascii: "\n"))
        bytes.withUnsafeBytes { raw in
            // A full pipe or a closed terminal loses a log line, not a request.
            _ = Glibc.write(2, raw.baseAddress, raw.count)
        }
    }

    /// The time in RFC 3339 form, UTC, to the millisecond.
    private static func timestamp() -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var parts = tm()
        var seconds = time.tv_sec
        gmtime_r(&seconds, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let thousandths = time.tv_nsec / 1_000_000
        let fraction = String(repeating: "0", count: 3 - String(thousandths).count) + String(thousandths)
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T"
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)).\(fraction)Z"
    }
}

/// A value of a JSON log line, as JSON text.
package struct JSONValueText: Sendable {
    let text: [UInt8]

    package static func string(_ value: String) -> JSONValueText {
        var writer = JSONWriter(capacity: value.utf8.count + 2)
        writer.string(value)
        return JSONValueText(text: writer.bytes)
    }

    package static func integer(_ value: some BinaryInteger) -> JSONValueText {
        JSONValueText(text: Array(String(value).utf8))
    }

    package static func milliseconds(_ nanoseconds: UInt64) -> JSONValueText {
        var writer = JSONWriter(capacity: 16)
        writer.milliseconds(nanoseconds)
        return JSONValueText(text: writer.bytes)
    }
}
