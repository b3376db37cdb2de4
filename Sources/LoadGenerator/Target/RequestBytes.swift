/// The bytes of a request, which are sent repeatedly.
package struct RequestBytes: Sendable {
    package let bytes: [UInt8]
    /// The size of the body in bytes.
    package let bodyCount: Int

    /// A POST of a picture, or a GET without a body.
    /// - Parameter fields: additional header fields, such as `Authorization`; validated with `field(_:)`.
    package init(target: LoadTarget, body: [UInt8]?, keepAlive: Bool, fields: [String] = []) {
        var head = "\(body == nil ? "GET" : "POST") \(target.path) HTTP/1.1\r\nHost: \(target.authority)\r\n"
        head += "User-Agent: ocelli-bench\r\n"
        // Each picture is sent repeatedly: shared or cached answers would hide the time of a prediction.
        if body != nil, !fields.contains(where: { $0.lowercased().hasPrefix("cache-control:") }) {
            head += "Cache-Control: no-store\r\n"
        }
        if let body { head += "Content-Type: application/octet-stream\r\nContent-Length: \(body.count)\r\n" }
        if !keepAlive { head += "Connection: close\r\n" }
        for field in fields { head += field + "\r\n" }
        head += "\r\n"
        bytes = Array(head.utf8) + (body ?? [])
        bodyCount = body?.count ?? 0
    }

    /// Validates a header field from the command line, `Name: value` (RFC 9110, 5.1 and 5.5).
    package static func field(_ text: String) throws(LoadError) -> String {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex,
            text.utf8[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"()<>@,;\\\"/[]?={}".utf8.contains($0) }),
            text.utf8[colon...].allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw LoadError("expected a field as \"Name: value\", found \"\(text)\"") }
        let name = text[..<colon].lowercased()
        guard !["host", "content-length", "transfer-encoding", "connection", "expect"].contains(name) else {
            throw LoadError("the field \"\(text[..<colon])\" is set by the load generator")
        }
        return text
    }
}
