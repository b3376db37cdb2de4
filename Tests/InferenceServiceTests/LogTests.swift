import Choices
import Foundation
import InferenceService
import JSON
internal import ServiceCore
import Testing

/// A log without a reader: the kept lines, and the report of the lost ones.
@Suite struct LogTests {
    private let line = [UInt8]("0123456789\n".utf8)

    /// A queue that returns its steps in the form of expectations.
    private final class Probe {
        var queue: LogQueue
        var batch: [UInt8] = []
        init(capacity: Int) { queue = LogQueue(capacity: capacity) }
        func append(_ line: [UInt8], isImportant: Bool) -> Bool { queue.append(line, isImportant: isImportant) }
        func next() -> LogQueue.Step { queue.next(&batch) }
    }

    @Test("the log writer lingers before sleep; only an important line wakes a lingering writer")
    func theWriterIsWokenOnceAndLingersBeforeItSleeps() {
        let queue = Probe(capacity: 1000)
        #expect(queue.next() == .linger)
        #expect(queue.queue.isWritten)
        #expect(!queue.append(line, isImportant: false), "it comes by itself")
        #expect(!queue.queue.isWritten)
        #expect(queue.next() == .write(lost: 0))
        #expect(queue.batch == line)
        #expect(!queue.queue.isWritten, "it is being written")
        #expect(queue.next() == .linger)
        #expect(queue.append(line, isImportant: true), "an important line does not wait")
        #expect(!queue.append(line, isImportant: true), "and it is woken already")
        #expect(queue.next() == .write(lost: 0))
        #expect(queue.batch == line + line)
        #expect(queue.next() == .linger)
        #expect(queue.next() == .sleep)
        #expect(queue.queue.isWritten)
        #expect(queue.append(line, isImportant: false))
        queue.queue.end()
        #expect(queue.next() == .write(lost: 0))
        #expect(queue.next() == .end)
    }

    @Test("lines lost to a full queue are reported once; a quarter of the queue is for important lines")
    func linesThatAreLostAreReported() {
        let queue = Probe(capacity: 80)
        for _ in 0..<10 { _ = queue.append(line, isImportant: false) }
        #expect(queue.queue.lost == 5, "three quarters are for all")
        for _ in 0..<10 { _ = queue.append(line, isImportant: true) }
        #expect(queue.queue.lost == 13, "the rest is for what is important")
        #expect(queue.next() == .write(lost: 13))
        #expect(queue.batch.count == 77)
        _ = queue.append(line, isImportant: false)
        #expect(queue.next() == .write(lost: 0), "reported once")
        #expect(queue.queue.lost == 13)
        queue.queue.couldNotWrite(lines: 2)
        #expect(queue.queue.lost == 15)
    }

    @Test("an unread log blocks no caller; a late reader gets the kept lines in order and the lost count")
    func anUnreadLogStopsNoWriter() async throws {
        let pipe = Pipe()
        let log = try Log(level: .info, format: .text, descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let count = 40_000
        for number in 0..<count { log.line(.info) { $0.add("line \(number) of a log that is not read for a while") } }
        #expect(log.lostLines > 0)
        await log.flush(within: .milliseconds(50))
        // A late reader gets the kept lines in order, then the number of lost lines.
        let reader = Task.detached { try pipe.fileHandleForReading.readToEnd() ?? Data() }
        await log.flush(within: .seconds(60))
        let lost = log.lostLines
        log.notice("a line\nthat tries to be two")
        await log.flush(within: .seconds(60))
        try pipe.fileHandleForWriting.close()
        // Each line begins with the time in UTC.
        let time = #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /#
        let lines = String(decoding: try await reader.value, as: UTF8.self).split(separator: "\n").map { line in
            #expect(line.prefixMatch(of: time) != nil, "\(line)")
            return line.dropFirst(25)
        }
        let numbers = lines.compactMap { $0.hasPrefix("line ") ? Int($0.split(separator: " ")[1]) : nil }
        #expect(numbers.count == count - Int(lost))
        #expect(numbers == numbers.sorted())
        #expect(numbers.first == 0)
        let reported = lines.compactMap { line in
            line.hasPrefix("warning: ") && line.contains("lines were lost") ? Int(line.split(separator: " ")[1]) : nil
        }
        #expect(reported.reduce(0, +) == Int(lost))
        #expect(lines.last == "notice: a line that tries to be two")
    }

    @Test("a log line begins with the current time in ISO 8601")
    func theTimeIsNow() async throws {
        let pipe = Pipe()
        let log = try Log(level: .info, format: .text, descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let before = Date()
        log.info("now")
        await log.flush(within: .seconds(60))
        let after = Date()
        let line = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        let form = ISO8601DateFormatter()
        form.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let time = try #require(form.date(from: String(line.prefix(24))))
        #expect((before.addingTimeInterval(-0.01)...after).contains(time), "\(line)")
    }

    /// Programs get several problems as a list.
    @Test("structured fields are members of a JSON log line, in addition to the message")
    func fieldsStandBesideTheMessageInJSON() async throws {
        let pipe = Pipe()
        let log = try Log(level: .info, format: .json, descriptor: pipe.fileHandleForWriting.fileDescriptor)
        log.error("two problems") { $0.member("problems", ["a", "b"]) }
        await log.flush(within: .seconds(60))
        let object = try JSONSerialization.jsonObject(with: pipe.fileHandleForReading.availableData) as? [String: Any]
        #expect(object?["problems"] as? [String] == ["a", "b"])
        #expect(object?["message"] as? String == "two problems")
    }

    @Test("JSON log lines of concurrent tasks do not mix")
    func manyThreadsLinesNeverMix() async throws {
        let pipe = Pipe()
        let log = try Log(level: .info, format: .json, descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let reader = Task.detached { try pipe.fileHandleForReading.readToEnd() ?? Data() }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<200 {
                        log.line(.info) {
                            $0.add("\"quoted\"")
                        } fields: {
                            $0.key("x"); $0.integer(1)
                        }
                    }
                }
            }
        }
        await log.flush(within: .seconds(60))
        try pipe.fileHandleForWriting.close()
        let lines = try await reader.value.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 1600)
        for line in lines {
            let object = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
            #expect(object?["message"] as? String == "\"quoted\"")
            #expect(object?["x"] as? Int == 1)
        }
    }

    @Test("a line that cannot be written because the reader closed the pipe counts as lost")
    func aReaderThatIsGoneIsCounted() async throws {
        let pipe = Pipe()
        let log = try Log(level: .info, format: .text, descriptor: pipe.fileHandleForWriting.fileDescriptor)
        // As the daemon does at its start: a write without a reader is then an error, not a signal.
        signal(SIGPIPE, SIG_IGN)
        try pipe.fileHandleForReading.close()
        log.notice("without a reader")
        await log.flush(within: .seconds(60))
        #expect(log.lostLines == 1)
    }

    /// Text from a client can neither end its field nor imitate another one.
    @Test(
        "client text with spaces, quotes or control characters is quoted in its log field",
        arguments: [
            ("/plain%41", "/plain%41"), ("/a b id=x", "\"/a b id=x\""), ("/\"", "\"/\\\"\""),
            ("/\u{9B}1m", "\"/\u{9B}1m\""),
            ("/\n", "\"/\\n\""), ("", ""),
        ])
    func valuesFromOutsideKeepToTheirField(_ value: String, _ expected: String) {
        var text = LogText()
        text.add(" path=", quotingIfNeeded: value)
        #expect(String(decoding: text.bytes, as: UTF8.self) == " path=" + expected)
    }

    @Test("times in the log are rounded to hundredths of a millisecond")
    func timesAreRounded() {
        var text = LogText()
        for time: UInt64 in [0, 4_999, 5_000, 1_004_999, 1_005_000, 999_995_000, 60_000_000_000] {
            text.addMilliseconds(time)
            text.add(" ")
        }
        #expect(String(decoding: text.bytes, as: UTF8.self) == "0.00 0.00 0.01 1.00 1.01 1000.00 60000.00 ")
    }

    /// A decoded path must not reach a terminal unchanged: it may contain escape sequences of one byte (C1), marks that
    /// change the direction of the following text, line separators, and invisible characters.
    @Test(
        "control, direction and invisible characters are escaped or replaced in log lines",
        arguments: [
            ("a\u{9B}31m", "a\\u{9B}31m"), ("a\u{202E}b", "a\\u{202E}b"),
            ("a\u{2066}b\u{2069}", "a\\u{2066}b\\u{2069}"),
            ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"), ("\u{85}", "\\u{85}"),
            ("\u{200B}\u{FEFF}", "\\u{200B}\\u{FEFF}"),
            ("a\u{1B}[31m\r\n\u{7F}b", "a [31m   b"), ("\u{E000}", "\\u{E000}"),
            ("gr\u{FC}n \u{1F408} \u{4E2D}", "gr\u{FC}n \u{1F408} \u{4E2D}"),
        ])
    func controlCharactersAreEscaped(_ text: String, _ expected: String) {
        var line = LogText()
        line.add(text)
        line.keepToOneLine()
        #expect(String(decoding: line.bytes, as: UTF8.self) == expected)
    }
}
