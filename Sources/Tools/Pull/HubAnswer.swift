/// The head of an answer, taken line by line.
package struct HubAnswer: Sendable {
    /// 0 before the first line.
    package private(set) var status = 0
    private var fields: [String: String] = [:]
    private var bytes = 0

    /// The maximum size of all heads of an answer, those of interim ones among them, in bytes.
    package static let largest = 256 << 10

    package init() {}

    /// Takes a line; false if the head is too large.
    package mutating func take(_ line: some Collection<UInt8>) -> Bool {
        bytes += line.count
        guard bytes <= Self.largest else { return false }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // An interim answer (100 Continue) came before this one.
            fields = [:]
            status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            return true
        }
        guard let colon = text.firstIndex(of: ":") else { return true }
        let name = text[..<colon].lowercased()
        let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            .prefix { $0 != "\r" && $0 != "\n" && $0 != "\r\n" }
        if fields[name] == nil { fields[name] = String(value) }
        return true
    }

    /// The value of a field, by its name in lower case.
    package subscript(name: String) -> String? { fields[name] }

    package var isSuccess: Bool { (200..<300).contains(status) }

    /// True for statuses that may be others in a while.
    package var isPassing: Bool { status == 408 || status == 429 || status >= 500 }

    /// The place that the answer sends the request to; nil if it is not a redirect.
    package var location: String? {
        [301, 302, 303, 307, 308].contains(status) ? fields["location"] ?? "" : nil
    }

    /// The size of the body in bytes; nil if it is not stated or not a number of 0 or more.
    package var length: Int? { fields["content-length"].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil } }

    /// The seconds to wait before another request, if the server asks for some: at most 30.
    package var pause: Double? {
        fields["retry-after"].flatMap { Double($0) }.flatMap { $0 >= 0 ? min($0, 30) : nil }
    }

    /// The first byte and the size of the whole in `Content-Range: bytes 5-9/10`; the size is nil for `*`.
    package var range: (first: Int, size: Int?)? {
        guard let text = fields["content-range"], text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let first = parts[0].split(separator: "-").first.flatMap({ Int($0) }) else {
            return nil
        }
        return (first, Int(parts[1]))
    }
}
