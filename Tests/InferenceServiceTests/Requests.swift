import HTTPServer
import HTTPWire
import SystemSupport
import Testing

/// Requests as the server passes them to its responder.
enum Requests {
    /// Parses a head; each line of the text ends with LF instead of CRLF.
    static func head(_ text: String) throws -> RequestHead {
        var parser = RequestParser()
        let bytes = Array((text.split(separator: "\n").joined(separator: "\r\n") + "\r\n\r\n").utf8)
        let result = try bytes.withUnsafeBytes { bytes throws(WireError) in try parser.parse(bytes) }
        guard case .head(let head, _) = result else { throw Incomplete() }
        return head
    }

    /// A request with this head and no body.
    static func request(
        _ text: String, remote: String = "127.0.0.1:4242", head: UInt64 = 0, body: UInt64 = 0
    ) throws -> HTTPRequest {
        HTTPRequest(
            head: try Self.head(text), body: .empty, requestID: "r1", remote: remote,
            headReceived: MonotonicInstant(nanoseconds: head), bodyReceived: MonotonicInstant(nanoseconds: body))
    }

    private struct Incomplete: Error {}
}
