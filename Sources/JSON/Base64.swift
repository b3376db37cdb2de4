/// Base64 (RFC 4648).
package enum Base64 {
    /// Decodes the base64 text of a JSON string; nil if it is not base64. Accepts both alphabets (`+/` and `-_`) and
    /// missing padding. Skips line breaks, which base64(1) and MIME insert. Any character may be escaped: some JSON
    /// writers escape `/`, others `+` or `=`.
    package static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        var failed = false
        let bytes = values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { buffer, initialized in
                var bits: UInt32 = 0, held = 0, written = 0
                var index = 0
                while index < text.count {
                    var value = values[Int(text[index])]
                    if value < 64 {
                        index += 1
                    } else {
                        let start = index
                        guard let letter = character(text, &index) else {
                            failed = true
                            return
                        }
                        if isLineBreak(letter) { continue }
                        if letter == UInt8(ascii: "=") {
                            failed = !isPadding(text, from: start)
                            break
                        }
                        value = values[Int(letter)]
                        guard value < 64 else {
                            failed = true
                            return
                        }
                    }
                    bits = bits << 6 | UInt32(value)
                    held += 6
                    guard held >= 8 else { continue }
                    held -= 8
                    buffer[written] = UInt8(truncatingIfNeeded: bits >> UInt32(held))
                    written += 1
                }
                // A single letter left over has six bits, less than a byte.
                failed = failed || held == 6
                initialized = written
            }
        }
        return failed ? nil : bytes
    }

    /// True if the rest of the text is one or two `=`, with line breaks between or after them.
    private static func isPadding(_ text: UnsafeRawBufferPointer, from start: Int) -> Bool {
        var index = start, count = 0
        while index < text.count {
            guard let letter = character(text, &index) else { return false }
            if isLineBreak(letter) { continue }
            count += 1
            guard letter == UInt8(ascii: "="), count <= 2 else { return false }
        }
        return true
    }

    private static func isLineBreak(_ letter: UInt8) -> Bool { letter == 0x0A || letter == 0x0D }

    /// The ASCII character at `index`, without its escape. Does not read escapes that base64 text does not need.
    private static func character(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> UInt8? {
        let first = text[index]
        index += 1
        guard first == UInt8(ascii: "\\") else { return first }
        guard index < text.count else { return nil }
        let escape = text[index]
        index += 1
        switch escape {
        case UInt8(ascii: "/"): return escape
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "u"):
            guard let unit = JSONScanner.unit(text, index), unit < 0x80 else { return nil }
            index += 4
            return UInt8(unit)
        default: return nil
        }
    }

    /// Appends base64 text, with padding.
    package static func append(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        text.reserveCapacity(text.count + bytes.count / 3 * 4 + 4)
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let word =
                UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[index + 2]) : 0)
            text.append(letters[Int(word >> 18)])
            text.append(letters[Int(word >> 12 & 63)])
            text.append(left > 1 ? letters[Int(word >> 6 & 63)] : UInt8(ascii: "="))
            text.append(left > 2 ? letters[Int(word & 63)] : UInt8(ascii: "="))
            index += 3
        }
    }

    /// The value of each byte as a base64 letter; 255 for other bytes.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, letter) in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8.enumerated() {
            values[Int(letter)] = UInt8(value)
        }
        values[Int(UInt8(ascii: "-"))] = 62
        values[Int(UInt8(ascii: "_"))] = 63
        return values
    }()
}
