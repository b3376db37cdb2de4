/// Reads HTTP/1.1 responses (RFC 9112) as they come: status, length and whether the connection continues. A pure value.
///
/// Only answers with a `Content-Length` (or none by their status) are read: a coding that has to be taken apart would
/// make the generator's own work part of what it measures.
package struct ResponseParser: Sendable {
    /// A whole response.
    package struct Answer: Sendable, Hashable {
        package let status: Int
        /// Bytes of the body.
        package let bodyCount: Int
        /// True if the server lets the connection be used again.
        package let keepAlive: Bool
        /// The beginning of the body, where the status is not a success: it says why.
        package let excerpt: [UInt8]
    }

    /// Longest head that is read.
    static let headLimit = 64 << 10
    package static let excerptLimit = 400

    private var head: [UInt8] = []
    private var remaining = 0
    private var answer: Answer?
    private var excerpt: [UInt8] = []

    package init() {}

    /// True if nothing of a response has come yet.
    package var isAtStart: Bool { head.isEmpty && answer == nil }

    /// Takes bytes that have come.
    /// - Returns: the response that they complete; nil while it is not whole. The parser is then at the start again.
    /// - Throws: what is wrong with it; the connection is then of no more use.
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
            // Interim answers (RFC 9110, 15.2) come before the one that counts.
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

    /// Copies to the head up to its empty line; returns the head's length, once it is whole.
    private mutating func appendHead(_ bytes: UnsafeRawBufferPointer, from offset: inout Int) -> Int? {
        let from = max(0, head.count - 3)
        let before = head.count
        // Most answers arrive whole: what lies behind the head is not copied far.
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
            // White space on either side is not part of the value (RFC 9112, 5.1).
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
