import Foundation
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

    /// A form with some pictures; nil stands for text that is not a picture.
    static func form(_ pictures: [URL?]) throws -> (body: [UInt8], fields: String) {
        form(
            try pictures.map { picture in
                [UInt8](try picture.map { try Data(contentsOf: $0) } ?? Data("no picture".utf8))
            })
    }

    /// A form with some pictures.
    static func form(_ pictures: [[UInt8]]) -> (body: [UInt8], fields: String) {
        let head = Array("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"p\"\r\n\r\n".utf8)
        let parts = pictures.flatMap { head + $0 + Array("\r\n".utf8) }
        return (parts + Array("--b--\r\n".utf8), "\nContent-Type: multipart/form-data; boundary=b")
    }

    private struct Incomplete: Error {}
}
