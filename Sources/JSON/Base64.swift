/// Base64 (RFC 4648).
package enum Base64 {
    /// The bytes of base64 text in a JSON string, or nil if it is none. Both alphabets are read (`+/` and `-_`), and padding may be
    /// missing. Passed over are backslashes before a slash, as some JSON writers put them there, and escaped line breaks, which
    /// base64(1) and MIME put between lines.
    package static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        var end = text.count
        while end >= 2, isLineBreak(text, at: end - 2) { end -= 2 }
        var count = end
        while count > 0, text[count - 1] == UInt8(ascii: "=") { count -= 1 }
        guard end - count <= 2 else { return nil }
        var failed = false
        let bytes = values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: count / 4 * 3 + 3) { buffer, initialized in
                var bits: UInt32 = 0, held = 0, written = 0
                var index = 0
                while index < count {
                    let value = values[Int(text[index])]
                    index += 1
                    guard value < 64 else {
                        if text[index - 1] == UInt8(ascii: "\\"), index < count {
                            if text[index] == UInt8(ascii: "/") { continue }
                            if isLineBreak(text, at: index - 1) {
                                index += 1
                                continue
                            }
                        }
                        failed = true
                        return
                    }
                    bits = bits << 6 | UInt32(value)
                    held += 6
                    guard held >= 8 else { continue }
                    held -= 8
                    buffer[written] = UInt8(truncatingIfNeeded: bits >> UInt32(held))
                    written += 1
                }
                // One letter alone is six bits: no byte.
                failed = held == 6
                initialized = written
            }
        }
        return failed ? nil : bytes
    }

    /// Whether `\n` or `\r` stands there, as JSON writes them.
    private static func isLineBreak(_ text: UnsafeRawBufferPointer, at index: Int) -> Bool {
        text[index] == UInt8(ascii: "\\")
            && (text[index + 1] == UInt8(ascii: "n") || text[index + 1] == UInt8(ascii: "r"))
    }

    /// Appends base64 text, padded.
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

    /// What each byte stands for; 255 for bytes that are not letters.
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
