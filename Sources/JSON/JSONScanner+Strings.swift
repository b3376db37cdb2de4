extension JSONScanner {
    package mutating func string() throws(JSONError) -> String {
        let raw = try rawString()
        return try decoded(raw.range, hasEscapes: raw.hasEscapes)
    }

    /// Decodes the text of a string, between its quotes.
    /// - Parameter isJSON5: true to accept JSON5's escapes.
    func decoded(_ range: Range<Int>, hasEscapes: Bool, isJSON5: Bool = false) throws(JSONError) -> String {
        let bytes = UnsafeRawBufferPointer(rebasing: text[range])
        let decoded =
            hasEscapes
            ? try unescaped(bytes, from: range.lowerBound, isJSON5: isJSON5) : String(validating: bytes, as: UTF8.self)
        guard let decoded else { throw malformed("UTF-8 text", at: range.lowerBound) }
        return decoded
    }

    /// The range of a string's text between its quotes, and whether it has escapes. The text is not decoded.
    package mutating func rawString() throws(JSONError) -> (range: Range<Int>, hasEscapes: Bool) {
        skipSpace()
        guard byte == UInt8(ascii: "\"") else { throw malformed("a string") }
        advance()
        let start = position
        var hasEscapes = false
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                defer { advance() }
                return (start..<position, hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                advance(by: 2)
            case 0..<0x20: throw malformed("no control character in a string")
            default: advance()
            }
        }
        throw malformed("the string's closing quote", at: text.count)
    }

    private func unescaped(
        _ raw: UnsafeRawBufferPointer, from offset: Int, isJSON5: Bool
    ) throws(JSONError) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.count)
        var index = 0
        while index < raw.count {
            guard raw[index] == UInt8(ascii: "\\") else {
                bytes.append(raw[index])
                index += 1
                continue
            }
            guard index + 1 < raw.count else { return nil }
            let letter = raw[index + 1]
            index += 2
            switch letter {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(letter)
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0C)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = Self.scalar(raw, &index) else {
                    throw malformed("four hexadecimal digits of a character", at: offset + index)
                }
                bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            case UInt8(ascii: "'") where isJSON5: bytes.append(letter)
            case UInt8(ascii: "v") where isJSON5: bytes.append(0x0B)
            case UInt8(ascii: "0") where isJSON5 && !(index < raw.count && (0x30...0x39).contains(raw[index])):
                bytes.append(0)
            // An escaped line break continues the string on the next line, and is not part of the value.
            case 0x0A where isJSON5: break
            case 0x0D where isJSON5: index += index < raw.count && raw[index] == 0x0A ? 1 : 0
            case 0xE2 where isJSON5 && raw[index...].starts(with: [0x80, 0xA8]),
                0xE2 where isJSON5 && raw[index...].starts(with: [0x80, 0xA9]):
                index += 2
            case UInt8(ascii: "x") where isJSON5:
                let digits = raw[index...].prefix(2)
                guard digits.count == 2, let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                    throw malformed("two hexadecimal digits of a character", at: offset + index)
                }
                bytes.append(contentsOf: String(Unicode.Scalar(code)).utf8)
                index += 2
            default: throw malformed("an escape that JSON allows", at: offset + index - 2)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The character of the four digits at `index`, combined with the second half of a surrogate pair. A lone surrogate
    /// becomes U+FFFD.
    private static func scalar(_ raw: UnsafeRawBufferPointer, _ index: inout Int) -> Unicode.Scalar? {
        guard let first = unit(raw, index) else { return nil }
        index += 4
        if first & 0xFC00 == 0xD800, index + 1 < raw.count, raw[index] == UInt8(ascii: "\\"),
            raw[index + 1] == UInt8(ascii: "u"), let second = unit(raw, index + 2), second & 0xFC00 == 0xDC00
        {
            index += 6
            return Unicode.Scalar(0x10000 + (first & 0x3FF) << 10 + second & 0x3FF)
        }
        return Unicode.Scalar(first) ?? "\u{FFFD}"
    }

    /// The value of the four hexadecimal digits at `index`.
    static func unit(_ raw: UnsafeRawBufferPointer, _ index: Int) -> UInt32? {
        guard raw.count - index >= 4 else { return nil }
        var value: UInt32 = 0
        for offset in 0..<4 {
            let digit: UInt8
            switch raw[index + offset] {
            case let byte where byte >= 0x30 && byte <= 0x39: digit = byte - 0x30
            case let byte where byte >= 0x41 && byte <= 0x46: digit = byte - 0x41 + 10
            case let byte where byte >= 0x61 && byte <= 0x66: digit = byte - 0x61 + 10
            default: return nil
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    /// Reads a base64 string (RFC 4648 section 4 or 5), or a data: URL (RFC 2397) with base64, as browsers create them.
    /// - Parameter mistake: makes the error if it is neither, from a description of the value found.
    package mutating func base64(_ mistake: (_ found: String) -> JSONError) throws(JSONError) -> [UInt8] {
        let raw = try rawString()
        var string = UnsafeRawBufferPointer(rebasing: text[raw.range])
        let isURL = string.starts(with: "data:".utf8)
        if isURL, let comma = string.firstIndex(of: UInt8(ascii: ",")),
            string[..<comma].suffix(7).elementsEqual(";base64".utf8)
        {
            string = UnsafeRawBufferPointer(rebasing: string[(comma + 1)...])
        }
        if let bytes = Base64.decode(string) { return bytes }
        throw mistake(isURL ? "a data: URL that is not base64" : "a string that is not base64")
    }
}
