/// JSON's strings (RFC 8259 section 7), for the error bodies that are written where no JSON library is.
public enum JSONText {
    /// `text` as a JSON string, with its quotes. Control characters, `"` and `\` are escaped; all else stays UTF-8.
    public static func appendString(_ text: String, to out: inout [UInt8]) {
        out.append(ASCII.quote)
        var text = text
        text.withUTF8 { bytes in
            // What needs no escape, nearly always all of it, is copied at once.
            var start = 0
            for index in bytes.indices where bytes[index] < 0x20 || isSpecial(bytes[index]) {
                out.append(contentsOf: bytes[start..<index])
                start = index &+ 1
                appendEscape(of: bytes[index], to: &out)
            }
            out.append(contentsOf: bytes[start...])
        }
        out.append(ASCII.quote)
    }

    private static func isSpecial(_ byte: UInt8) -> Bool { byte == ASCII.quote || byte == ASCII.backslash }

    private static func appendEscape(of byte: UInt8, to out: inout [UInt8]) {
        switch byte {
        case ASCII.quote, ASCII.backslash:
            out.append(ASCII.backslash)
            out.append(byte)
        case ASCII.lineFeed: ResponseSerializer.append("\\n", to: &out)
        case ASCII.carriageReturn: ResponseSerializer.append("\\r", to: &out)
        case ASCII.tab: ResponseSerializer.append("\\t", to: &out)
        default:
            ResponseSerializer.append("\\u00", to: &out)
            out.append(ASCII.zero &+ byte / 16)
            let low = byte % 16
            out.append(low < 10 ? ASCII.zero &+ low : 0x61 &+ low &- 10)
        }
    }
}
