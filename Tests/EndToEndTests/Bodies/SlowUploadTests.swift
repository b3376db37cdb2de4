import Foundation
import TestSupport
import Testing

/// A client's deadline is for the answer: the time of its upload does not count.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct SlowUploadTests {
    @Test("timeout_ms begins when the body is complete: a slow upload is still answered")
    func theDeadlineBeginsWhenTheBodyIsThere() throws {
        let daemon = try Daemon()
        let picture = try Data(contentsOf: BadInputTests.seven)
        let client = try RawClient(daemon.url)
        try client.send(
            "POST /v1/classify?timeout_ms=3000 HTTP/1.1\r\nHost: x\r\nContent-Length: \(picture.count)\r\n\r\n")
        try client.send(picture.prefix(picture.count / 2))
        Thread.sleep(forTimeInterval: 3.5)
        try client.send(picture.suffix(from: picture.startIndex + picture.count / 2))
        #expect(try client.response().status == 200)
        client.close()
        #expect(daemon.stop() == 0)
    }
}
