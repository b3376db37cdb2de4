/// The notation for bytes in the fixtures, and its reverse for failure messages.
enum FixtureText {
    /// The bytes of one line; open if it ends with a backslash, which suppresses the CR LF.
    static func bytes(_ line: some StringProtocol) throws -> (bytes: [UInt8], isOpen: Bool) {
        var out: [UInt8] = []
        var rest = Array(line.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                out.append(byte)
                continue
            }
            guard let escape = rest.popFirst() else { return (out, true) }
            switch escape {
            case UInt8(ascii: "r"): out.append(0x0D)
            case UInt8(ascii: "n"): out.append(0x0A)
            case UInt8(ascii: "t"): out.append(0x09)
            case UInt8(ascii: "0"): out.append(0)
            case UInt8(ascii: "s"): out.append(0x20)
            case UInt8(ascii: "\\"): out.append(escape)
            case UInt8(ascii: "x"):
                guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                    throw Fixture.Malformed(description: "\\x without two digits: \(line)")
                }
                out.append(value)
                rest = rest.dropFirst(2)
            case UInt8(ascii: "{"):
                let inner = String(decoding: rest.prefix { $0 != UInt8(ascii: "}") }, as: UTF8.self)
                rest = rest.dropFirst(inner.utf8.count + 1)
                guard let star = inner.lastIndex(of: "*"), let count = Int(inner[inner.index(after: star)...]) else {
                    throw Fixture.Malformed(description: "no repetition: \(line)")
                }
                let unit = try bytes(inner[..<star]).bytes
                for _ in 0..<count { out.append(contentsOf: unit) }
            default: throw Fixture.Malformed(description: "no such escape: \(line)")
            }
        }
        return (out, false)
    }

    /// Bytes in the notation of the fixtures.
    static func written(_ bytes: [UInt8]) -> String {
        var out = ""
        for byte in bytes {
            switch byte {
            case 0x0D: out += "\\r"
            case 0x0A: out += "\\n"
            case 0x09: out += "\\t"
            case 0: out += "\\0"
            case UInt8(ascii: "\\"): out += "\\\\"
            case 0x20...0x7E: out.unicodeScalars.append(UnicodeScalar(byte))
            default: out += byte < 16 ? "\\x0\(String(byte, radix: 16))" : "\\x\(String(byte, radix: 16))"
            }
        }
        return out
    }
}
