import Foundation
import TestSupport
import Testing

/// Standard error is a pipe that is not read.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct UnreadLogTests {
    /// Sends a number of requests on one connection.
    private func ask(_ url: String, _ count: Int) throws -> [Substring] {
        let result = try Shell.run(
            "curl",
            [
                "-sS", "--max-time", "120", "-w", "%{http_code}\n", "-o", "/dev/null",
                "\(url)/healthz?[1-\(count)]",
            ])
        return result.text.split(separator: "\n")
    }

    /// Fills the log: more than a pipe and the queue hold.
    private func fill(_ daemon: Daemon) throws {
        for _ in 0..<20 {
            #expect(try ask(daemon.url, 2000).allSatisfy { $0 == "200" })
            let page = try Curl.run(daemon.url + "/metrics").text
            if (MetricsTests.value("ocelli_log_lines_dropped_total", in: page) ?? 0) > 0 { return }
        }
        Issue.record("no line was lost: is the log being read?")
    }

    @Test("a daemon with an unread log continues to answer, reload and end")
    func theDaemonGoesOnAnsweringAndEnds() throws {
        let daemon = try Daemon()
        daemon.stopReadingLog()
        try fill(daemon)
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel == "7")
        daemon.signal(SIGHUP)
        #expect(SignalsTests.waitForReloads(1, of: daemon))
        #expect(daemon.stop() == 0)
    }

    @Test("lost log lines are reported once the log is read again")
    func lostLinesAreReportedWhenTheLogIsReadAgain() throws {
        let daemon = try Daemon()
        daemon.stopReadingLog()
        try fill(daemon)
        daemon.startReadingLog()
        #expect(daemon.waitForLog("log lines were lost"))
        #expect(daemon.stop() == 0)
        #expect(daemon.log.contains("every request was answered"), "\(daemon.log.suffix(500))")
    }
}
