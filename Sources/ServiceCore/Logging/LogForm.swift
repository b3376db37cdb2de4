internal import Choices
internal import Glibc
internal import JSON
internal import Synchronization

/// Formats log lines. The format may change while the daemon runs.
final class LogForm: Sendable {
    private let isJSON: Atomic<Bool>
    /// True if journald reads the lines: it takes a leading `<6>` as the priority.
    private let isJournal: Bool

    init(_ format: LogFormat) {
        isJSON = Atomic(format == .json)
        isJournal = getenv("JOURNAL_STREAM") != nil
    }

    func use(_ format: LogFormat) { isJSON.store(format == .json, ordering: .relaxed) }

    /// A line with its newline.
    func line(
        _ level: LogLevel, message: (inout LogText) -> Void, fields: (inout JSONWriter) -> Void = { _ in }
    ) -> [UInt8] {
        isJSON.load(ordering: .relaxed) ? json(level, message, fields) : text(level, message)
    }

    private func text(_ level: LogLevel, _ message: (inout LogText) -> Void) -> [UInt8] {
        var text = LogText()
        if isJournal {
            text.add("<")
            text.add(level.priority)
            text.add(">")
        } else {
            // journald has its own time.
            Self.timestamp(&text)
            text.add(ascii: " ")
            if level > .info {
                text.add(level.rawValue)
                text.add(": ")
            }
        }
        message(&text)
        text.keepToOneLine()
        text.add(ascii: "\n")
        return text.bytes
    }

    private func json(
        _ level: LogLevel, _ message: (inout LogText) -> Void, _ fields: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var text = LogText()
        message(&text)
        var writer = JSONWriter(capacity: 2 * text.bytes.count + 256)
        writer.object { writer in
            writer.key("time")
            var time = LogText(capacity: 24)
            Self.timestamp(&time)
            writer.string(String(decoding: time.bytes, as: UTF8.self))
            writer.member("level", level.rawValue)
            writer.member("message", String(decoding: text.bytes, as: UTF8.self))
            fields(&writer)
        }
        let isPlain = writer.bytes.allSatisfy { $0 < 0x7F }
        let bytes =
            isPlain ? writer.bytes : Array(PrintableText.json(String(decoding: writer.bytes, as: UTF8.self)).utf8)
        return bytes + [UInt8(ascii: "\n")]
    }

    /// The time in RFC 3339 form, UTC, to the millisecond.
    private static func timestamp(_ text: inout LogText) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var parts = tm()
        var seconds = time.tv_sec
        gmtime_r(&seconds, &parts)
        // Without a string for each number, because every request writes a line.
        func add(_ mark: Unicode.Scalar, _ number: Int32) {
            text.add(ascii: mark)
            text.add(Int(number), digits: 2)
        }
        text.add(Int(parts.tm_year) + 1900, digits: 4)
        add("-", parts.tm_mon + 1)
        add("-", parts.tm_mday)
        add("T", parts.tm_hour)
        add(":", parts.tm_min)
        add(":", parts.tm_sec)
        text.add(ascii: ".")
        text.add(time.tv_nsec / 1_000_000, digits: 3)
        text.add(ascii: "Z")
    }
}
