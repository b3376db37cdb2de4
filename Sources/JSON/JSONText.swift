/// Appends JSON strings (RFC 8259 section 7) and numbers to text.
package enum JSONText {
    /// A text as a JSON string in quotes.
    package static func quoted(_ text: String) -> String {
        var out: [UInt8] = []
        appendString(text, to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    /// Appends `text` as a JSON string in quotes. Control characters, `"` and `\` are escaped; other characters stay
    /// UTF-8.
    package static func appendString(_ text: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { bytes in
            // Text without escapes, nearly always all of it, is copied at once.
            var start = 0
            for index in bytes.indices where bytes[index] < 0x20 || isSpecial(bytes[index]) {
                out.append(contentsOf: bytes[start..<index])
                start = index &+ 1
                appendEscape(of: bytes[index], to: &out)
            }
            out.append(contentsOf: bytes[start...])
        }
        out.append(UInt8(ascii: "\""))
    }

    package static func appendDecimal(_ number: UInt64, to out: inout [UInt8]) {
        var divisor: UInt64 = 1
        while number / divisor >= 10 { divisor &*= 10 }
        while divisor > 0 {
            out.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    private static func isSpecial(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") }

    private static func appendEscape(of byte: UInt8, to out: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            out.append(UInt8(ascii: "\\"))
            out.append(byte)
        case UInt8(ascii: "\n"): out.append(contentsOf: "\\n".utf8)
        case UInt8(ascii: "\r"): out.append(contentsOf: "\\r".utf8)
        case UInt8(ascii: "\t"): out.append(contentsOf: "\\t".utf8)
        default:
            out.append(contentsOf: "\\u00".utf8)
            out.append(UInt8(ascii: "0") &+ byte / 16)
            let low = byte % 16
            out.append(low < 10 ? UInt8(ascii: "0") &+ low : 0x61 &+ low &- 10)
        }
    }
}
