/// Parses HTTP/1.1 responses (RFC 9112) incrementally: status, length and persistence. A pure value.
///
/// Accepts only answers with a `Content-Length`, or without a body by their status: decoding a transfer coding would
/// add the generator's own work to the measurement.
package struct ResponseParser: Sendable {
    /// A complete response.
    package struct Answer: Sendable, Hashable {
        package let status: Int
        /// The size of the body in bytes.
        package let bodyCount: Int
        /// True if the server allows the connection to be reused.
        package let keepAlive: Bool
        /// The beginning of the body if the status is not a success, for the error message.
        package let excerpt: [UInt8]
    }

    /// The maximum size of a head in bytes.
    static let headLimit = 64 << 10
    package static let excerptLimit = 400

    private var head: [UInt8] = []
    private var remaining = 0
    private var answer: Answer?
    private var excerpt: [UInt8] = []

    package init() {}

    /// True if no byte of a response was received.
    package var isAtStart: Bool { head.isEmpty && answer == nil }

    /// Takes received bytes.
    /// - Returns: the response that they complete, after which the parser starts again; nil if it is incomplete.
    /// - Throws: the error in the response; the connection cannot be reused.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) throws(LoadError) -> Answer? {
        var offset = 0
        while answer == nil {
            guard offset < bytes.count else { return nil }
            guard let end = appendHead(bytes, from: &offset) else {
                guard head.count <= Self.headLimit else { throw LoadError("the answer's head is over 64 KiB") }
                return nil
            }
            let found = try Self.parse(head[..<end])
            head.removeAll(keepingCapacity: true)
            // Interim responses (RFC 9110, 15.2) precede the final one.
            if found.status >= 200 { (answer, remaining) = (found, found.bodyCount) }
        }
        guard let found = answer else { return nil }
        let count = min(remaining, bytes.count - offset)
        if found.status >= 300, excerpt.count < Self.excerptLimit {
            excerpt.append(contentsOf: bytes[offset..<offset + min(count, Self.excerptLimit - excerpt.count)])
        }
        remaining -= count
        offset += count
        guard remaining == 0 else { return nil }
        guard offset == bytes.count else {
            throw LoadError("\(bytes.count - offset) bytes came after the answer, to no request")
        }
        let whole = Answer(
            status: found.status, bodyCount: found.bodyCount, keepAlive: found.keepAlive, excerpt: excerpt)
        answer = nil
        excerpt = []
        return whole
    }

    /// Appends to the head up to its empty line; returns the length of the head once it is complete.
    private mutating func appendHead(_ bytes: UnsafeRawBufferPointer, from offset: inout Int) -> Int? {
        let from = max(0, head.count - 3)
        let before = head.count
        // Most answers arrive at once: bound the copy, which includes bytes after the head.
        let piece = min(bytes.count - offset, Self.headLimit + 4 - before)
        guard piece > 0 else { return nil }
        head.append(contentsOf: bytes[offset..<offset + piece])
        var index = from
        while index + 3 < head.count {
            if head[index] == 13, head[index + 1] == 10, head[index + 2] == 13, head[index + 3] == 10 {
                offset += index + 4 - before
                return index + 4
            }
            index += 1
        }
        offset += piece
        return nil
    }

    private static func parse(_ head: ArraySlice<UInt8>) throws(LoadError) -> Answer {
        var lines = String(decoding: head.dropLast(4), as: UTF8.self).split(
            omittingEmptySubsequences: false, whereSeparator: { $0 == "\r\n" })[...]
        let statusLine = lines.popFirst() ?? ""
        let words = statusLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0] == "HTTP/1.1" || words[0] == "HTTP/1.0", words[1].utf8.count == 3,
            let status = Int(words[1]), (100...599).contains(status)
        else { throw LoadError("the answer is not HTTP/1.1: it begins with \"\(statusLine.prefix(60))\"") }
        var length: Int?
        var keepAlive = words[0] == "HTTP/1.1"
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else {
                throw LoadError("a field of the answer has no colon: \"\(line.prefix(60))\"")
            }
            // White space around the value is not part of it (RFC 9112, 5.1).
            var value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            while value.last == " " || value.last == "\t" { value.removeLast() }
            switch line[..<colon].lowercased() {
            case "content-length":
                guard let count = Int(value), count >= 0, count < 1 << 40, length == nil || length == count else {
                    throw LoadError("the answer's Content-Length is \"\(value.prefix(30))\"")
                }
                length = count
            case "transfer-encoding":
                throw LoadError(
                    "the server answers with Transfer-Encoding: \(value.prefix(30)), which is not supported")
            case "connection":
                for word in value.lowercased().split(separator: ",") {
                    if word.contains("close") { keepAlive = false }
                    if word.contains("keep-alive") { keepAlive = true }
                }
            default: break
            }
        }
        if status < 200 || status == 204 || status == 304 { length = 0 }
        guard let length else { throw LoadError("the answer (status \(status)) has no Content-Length") }
        return Answer(status: status, bodyCount: length, keepAlive: keepAlive, excerpt: [])
    }
}
