import HTTPWire

/// A naive parser of the chunked coding: line by line from the whole body, without state. Slow, but short enough to be
/// checked against RFC 9112 section 7.1 by reading.
enum ChunkOracle {
    /// The data and the end of the body; nil if it is malformed, incomplete or over a limit.
    static func decode(_ bytes: [UInt8], limits: WireLimits) -> (data: [UInt8], end: Int)? {
        var data: [UInt8] = []
        var index = 0
        var extensionBytes = 0
        while true {
            guard let line = line(bytes, &index) else { return nil }
            let digits = line.prefix { isHex($0) }
            guard (1...16).contains(digits.count), let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
            else {
                return nil
            }
            let rest = line.dropFirst(digits.count)
            extensionBytes += rest.count
            guard extensionBytes <= limits.chunkExtensionBytes, isExtension(Array(rest)) else { return nil }
            if size == 0 { break }
            guard size <= bytes.count - index else { return nil }
            data += bytes[index..<(index + size)]
            index += size
            guard bytes.count - index >= 2, bytes[index] == 0x0D, bytes[index + 1] == 0x0A else { return nil }
            index += 2
        }
        return trailers(bytes, &index, limits) ? (data, index) : nil
    }

    private static func trailers(_ bytes: [UInt8], _ index: inout Int, _ limits: WireLimits) -> Bool {
        let start = index
        var count = 0
        while let line = line(bytes, &index) {
            guard index - start <= limits.trailerBytes else { return false }
            if line.isEmpty { return true }
            count += 1
            guard count <= limits.fieldCount, let colon = line.firstIndex(of: UInt8(ascii: ":")),
                colon > line.startIndex,
                line[..<colon].allSatisfy(isToken), line[colon...].allSatisfy(isText)
            else { return false }
        }
        return false
    }

    /// The bytes before the next CR LF; nil if it is missing, or a lone CR or LF precedes it.
    private static func line(_ bytes: [UInt8], _ index: inout Int) -> ArraySlice<UInt8>? {
        guard let end = bytes[index...].firstIndex(where: { $0 == 0x0D || $0 == 0x0A }), bytes[end] == 0x0D,
            end + 1 < bytes.count, bytes[end + 1] == 0x0A
        else { return nil }
        defer { index = end + 2 }
        return bytes[index..<end]
    }

    /// Recursive descent over `*( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )`.
    private static func isExtension(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        func blanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }
        func token() -> Bool {
            let count = rest.prefix(while: isToken).count
            rest = rest.dropFirst(count)
            return count > 0
        }
        func quoted() -> Bool {
            rest = rest.dropFirst()
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "\"") { return true }
                if byte == UInt8(ascii: "\\") {
                    guard let escaped = rest.popFirst(), isText(escaped) else { return false }
                } else if !isText(byte) {
                    return false
                }
            }
            return false
        }
        while !rest.isEmpty {
            blanks()
            guard rest.popFirst() == UInt8(ascii: ";") else { return false }
            blanks()
            guard token() else { return false }
            let afterName = rest
            blanks()
            if rest.first == UInt8(ascii: "=") {
                rest = rest.dropFirst()
                blanks()
                guard rest.first == UInt8(ascii: "\"") ? quoted() : token() else { return false }
            } else {
                rest = afterName
            }
        }
        return true
    }

    private static func isHex(_ byte: UInt8) -> Bool { Array("0123456789abcdefABCDEF".utf8).contains(byte) }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
        }
    }

    private static func isText(_ byte: UInt8) -> Bool { byte == 0x09 || (byte >= 0x20 && byte != 0x7F) }
}
