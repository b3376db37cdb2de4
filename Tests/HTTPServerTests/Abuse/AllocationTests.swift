import Foundation
import TestSupport
import Testing

@Suite("Allocations", .serialized)
struct AllocationTests {
    /// The allocations of one request in a release build. Lower a number when possible; raise one only for a reason.
    static let thresholds: [(method: String, path: String, body: String, maximum: Double)] = [
        ("GET", "/healthz", "", 1.1),
        ("GET", "/task", "", 8.1),
        ("POST", "/echo", String(repeating: "x", count: 100), 12.1),
    ]

    @Test("a request takes no more allocations than its threshold", arguments: thresholds.indices)
    func handful(index: Int) throws {
        let threshold = Self.thresholds[index]
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        func exchange(_ method: String, _ path: String, _ body: String) throws -> String {
            let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
            try client.send("\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\(length)\r\n\(body)")
            return try client.response().text
        }
        func count() throws -> Double {
            Double(try exchange("GET", "/allocations", "").trimmingCharacters(in: .newlines)) ?? 0
        }
        for _ in 0..<100 { _ = try exchange(threshold.method, threshold.path, threshold.body) }
        let before = try count()
        for _ in 0..<1_000 { _ = try exchange(threshold.method, threshold.path, threshold.body) }
        let each = (try count() - before) / 1_000
        client.close()
        #if !DEBUG
            #expect(each <= threshold.maximum, "\(threshold.method) \(threshold.path)")
        // The sanitizer does not count allocations.
        #endif
        #expect(each >= 0)
        try probe.expectRest()
    }
}
