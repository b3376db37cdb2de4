internal import FoundationEssentials
internal import Glibc

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

    private let level: Level
    private let format: Format
    /// journald takes `<6>` at the start of a line as its priority.
    private let isJournal: Bool

    package init(level: Level, format: Format) {
        self.level = level
        self.format = format
        isJournal = getenv("JOURNAL_STREAM") != nil
    }

    package func debug(_ message: @autoclosure () -> String) { write(.debug, message) }
    package func info(_ message: @autoclosure () -> String) { write(.info, message) }
    package func notice(_ message: @autoclosure () -> String) { write(.notice, message) }
    package func warning(_ message: @autoclosure () -> String) { write(.warning, message) }
    package func error(_ message: @autoclosure () -> String) { write(.error, message) }

    /// Whether lines of a level are written.
    package func isEnabled(_ level: Level) -> Bool { level >= self.level }

    private func write(_ level: Level, _ message: () -> String) {
        guard isEnabled(level) else { return }
        line(level, message: message(), fields: [])
    }

    /// A line with named values beside the message, for JSON; in text the message says it all.
    package func line(_ level: Level, message: String, fields: [(String, JSONValueText)]) {
        guard isEnabled(level) else { return }
        var bytes: [UInt8]
        switch format {
        case .text:
            let prefix = isJournal ? "<\(level.rawValue)>" : level <= .info ? "" : "\(level.name): "
            // A message never breaks its line: what comes from outside could otherwise forge one.
            bytes = Array((prefix + message).utf8.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: " ") : $0 })
        case .json:
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
