package import HTTPWire

/// The trace of a request as stated by its client (W3C, Trace Context), for the access log. It is neither forwarded nor
/// returned.
package struct TraceContext: Sendable, Hashable {
    /// 32 hexadecimal digits.
    package let traceID: String
    /// The client's own span: 16 hexadecimal digits.
    package let parentID: String
    /// The vendors' members (`tracestate`); nil without a valid one.
    package let state: String?

    /// Returns nil if a request has no valid `traceparent`: the recommendation says to ignore such a field.
    package init?(_ head: RequestHead) {
        guard head.contains("traceparent") else { return nil }
        let fields = head.values(of: "traceparent")
        // With two fields it is unknown which one is right.
        guard fields.count == 1, let parent = fields.first, let (trace, span) = Self.parse(parent) else { return nil }
        traceID = trace
        parentID = span
        state = Self.state(head.values(of: "tracestate"))
    }

    /// Parses the trace and span of `00-TRACE-SPAN-FLAGS` (section 3.2). A later version may have more after another
    /// dash.
    private static func parse(_ text: String) -> (trace: String, span: String)? {
        let bytes = Array(text.utf8.prefix(57))
        guard bytes.count >= 55, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash else { return nil }
        for range in [0..<2, 3..<35, 36..<52, 53..<55] where !bytes[range].allSatisfy(isHex) { return nil }
        let version = bytes[..<2]
        if version.elementsEqual("ff".utf8) { return nil }
        if bytes.count > 55, version.elementsEqual("00".utf8) || bytes[55] != dash { return nil }
        let trace = bytes[3..<35], span = bytes[36..<52]
        guard trace.contains(where: { $0 != zero }), span.contains(where: { $0 != zero }) else { return nil }
        return (String(decoding: trace, as: UTF8.self), String(decoding: span, as: UTF8.self))
    }

    private static let dash = UInt8(ascii: "-"), zero = UInt8(ascii: "0")

    /// Lower case only (section 3.2.2).
    private static func isHex(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) }

    // MARK: tracestate

    /// The maximum members and bytes of a list: every system must be able to forward as many (section 3.3).
    private static let maximumMembers = 32, maximumBytes = 512

    /// The members of all fields as one list; nil if it is empty, or if a member is not valid.
    private static func state(_ fields: [String]) -> String? {
        var keys: Set<Substring> = []
        var kept: [Substring] = []
        for field in fields {
            for part in field.split(separator: ",") {
                let member = trimmed(part)
                if member.isEmpty { continue }
                guard let equals = member.firstIndex(of: "=") else { return nil }
                let key = member[..<equals], value = member[member.index(after: equals)...]
                guard isKey(key), isValue(value), keys.insert(key).inserted, keys.count <= maximumMembers else {
                    return nil
                }
                kept.append(member)
            }
        }
        let text = kept.joined(separator: ",")
        return text.isEmpty || text.utf8.count > maximumBytes ? nil : text
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? ""
    }

    /// `vendor` or `tenant@vendor` (section 3.3.1.3.1).
    private static func isKey(_ key: Substring) -> Bool {
        let parts = key.split(separator: "@", omittingEmptySubsequences: false)
        func isPart(_ part: Substring, maximum: Int, startsWithDigit: Bool) -> Bool {
            guard let first = part.utf8.first, part.utf8.count <= maximum else { return false }
            let isLetter = (0x61...0x7A).contains(first), isDigit = (0x30...0x39).contains(first)
            return (isLetter || startsWithDigit && isDigit)
                && part.utf8.allSatisfy {
                    (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || "_-*/".utf8.contains($0)
                }
        }
        switch parts.count {
        // The second edition of the recommendation lets a key begin with a digit.
        case 1: return isPart(parts[0], maximum: 256, startsWithDigit: true)
        case 2:
            return isPart(parts[0], maximum: 241, startsWithDigit: true)
                && isPart(parts[1], maximum: 14, startsWithDigit: false)
        default: return false
        }
    }

    /// Visible ASCII and inner spaces, without comma and equals sign.
    private static func isValue(_ value: Substring) -> Bool {
        guard let last = value.utf8.last, last != 0x20, value.utf8.count <= 256 else { return false }
        return value.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x2C && $0 != 0x3D }
    }
}
