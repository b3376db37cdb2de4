/// Version 1 of the PROXY protocol:
///
/// ```
/// PROXY TCP4 192.0.2.7 192.0.2.1 56324 443\r\n
/// PROXY TCP6 2001:db8::7 2001:db8::1 56324 443\r\n
/// PROXY UNKNOWN ...\r\n                              (the rest of the line is ignored)
/// ```
extension ProxyHeader {
    /// The maximum length of the line with its end: UNKNOWN with two IPv6 addresses.
    public static let longestLine = 107

    /// The protocol word before the addresses.
    private enum Family: String, CaseIterable {
        case four = "TCP4 "
        case six = "TCP6 "
        case unknown = "UNKNOWN"
    }

    private static let name = Array("PROXY ".utf8)

    static func parseText(_ bytes: UnsafeRawBufferPointer) -> Result {
        let start = min(bytes.count, name.count)
        guard bytes[..<start].elementsEqual(name[..<start]) else {
            return .malformed("the connection does not start with a PROXY protocol header of version 1")
        }
        let end = min(bytes.count, longestLine)
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        guard let family = Family.allCases.first(where: { rest.starts(with: $0.rawValue.utf8) }) else {
            let isPart = Family.allCases.contains { $0.rawValue.utf8.starts(with: rest) }
            return isPart ? .needMore : .malformed("its protocol is not TCP4, TCP6 or UNKNOWN")
        }
        // Only CR LF ends the line.
        guard let first = rest.firstIndex(where: { $0 == ASCII.carriageReturn || $0 == ASCII.lineFeed }) else {
            return end < longestLine ? .needMore : .malformed("it has no end within \(longestLine) bytes")
        }
        guard rest[first] == ASCII.carriageReturn, first + 1 == rest.count || rest[first + 1] == ASCII.lineFeed else {
            return .malformed("its line does not end with CR and LF")
        }
        guard first + 1 < rest.count else {
            return end < longestLine ? .needMore : .malformed("it has no end within \(longestLine) bytes")
        }
        let size = start + first + 2
        let content = rest[family.rawValue.utf8.count..<first]
        switch family {
        case .unknown:
            guard content.isEmpty || content.first == ASCII.space else {
                return .malformed("its protocol is not TCP4, TCP6 or UNKNOWN")
            }
            return .header(ProxyHeader(source: nil), size: size)
        case .four, .six:
            guard let source = source(of: content, isSix: family == .six) else {
                return .malformed("it does not have two \(family.rawValue)addresses and two ports")
            }
            return .header(ProxyHeader(source: source), size: size)
        }
    }

    /// The first address with the first port.
    private static func source(of content: Slice<UnsafeRawBufferPointer>, isSix: Bool) -> IPEndpoint? {
        let words = content.split(separator: ASCII.space, omittingEmptySubsequences: false)
        guard words.count == 4, let source = address(words[0], isSix: isSix), address(words[1], isSix: isSix) != nil,
            let from = port(words[2]), port(words[3]) != nil
        else { return nil }
        return IPEndpoint(address: source, port: from)
    }

    private static func address(_ word: Slice<UnsafeRawBufferPointer>, isSix: Bool) -> IPAddress? {
        guard word.contains(ASCII.colon) == isSix,
            word.allSatisfy({ ASCII.hexValue($0) != nil || $0 == ASCII.colon || $0 == ASCII.dot })
        else { return nil }
        return IPAddress(parsing: String(decoding: word, as: UTF8.self))
    }

    /// 0 to 65535, without leading zeros.
    private static func port(_ word: Slice<UnsafeRawBufferPointer>) -> UInt16? {
        guard word.allSatisfy(ASCII.isDigit), word.count == 1 || word.first != ASCII.zero else { return nil }
        return UInt16(String(decoding: word, as: UTF8.self))
    }
}
