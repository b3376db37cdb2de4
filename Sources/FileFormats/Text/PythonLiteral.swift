package import JSON

/// Reads a literal in the format of Python's `repr`, or YAML's flow style, which is nearly the same: dictionaries,
/// lists, tuples, strings, numbers, `True`, `False`, `None`. Ultralytics writes class names so. Keys become text.
package struct PythonLiteral {
    private let text: [UInt8]
    private var position = 0
    private var left = 1_000_000
    /// True for YAML's flow style, which has unquoted words.
    private let takesWords: Bool

    private static let maximumDepth = 16

    package static func read(_ text: String, takesWords: Bool = false) throws(FormatError) -> JSONValue {
        var reader = PythonLiteral(text: Array(text.utf8), takesWords: takesWords)
        let value = try reader.value(depth: 0)
        reader.space()
        guard reader.position == reader.text.count else { throw reader.malformed("nothing more") }
        return value
    }

    private init(text: [UInt8], takesWords: Bool) {
        self.text = text
        self.takesWords = takesWords
    }

    private func malformed(_ expected: String) -> FormatError {
        let found =
            position < text.count
            ? "\"" + String(decoding: text[position...].prefix(12), as: UTF8.self) + "\"" : "the end"
        return FormatError("is not a literal: at character \(position + 1) expected \(expected), found \(found)")
    }

    private mutating func space() {
        while position < text.count, text[position] <= 0x20 { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        space()
        guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) throws(FormatError) -> JSONValue {
        left -= 1
        guard left >= 0 else { throw FormatError("has more than a million values") }
        guard depth <= Self.maximumDepth else { throw FormatError("is nested more than \(Self.maximumDepth) deep") }
        if take("{") { return try object(depth) }
        if take("[") { return try array("]", depth) }
        if take("(") { return try array(")", depth) }
        space()
        guard position < text.count else { throw malformed("a value") }
        if text[position] == UInt8(ascii: "'") || text[position] == UInt8(ascii: "\"") { return .string(try string()) }
        let word = word()
        guard !word.isEmpty else { throw malformed("a value") }
        if let value = PlainScalar.value(word, isPython: !takesWords) { return value }
        guard takesWords else {
            position -= word.utf8.count
            throw malformed("a value")
        }
        return .string(word)
    }

    private mutating func word() -> String {
        let start = position
        while position < text.count {
            let byte = text[position]
            if [UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ")")].contains(byte) { break }
            if byte == UInt8(ascii: ":"), position + 1 >= text.count || text[position + 1] <= 0x20 || !takesWords {
                break
            }
            position += 1
        }
        var end = position
        while end > start, text[end - 1] <= 0x20 { end -= 1 }
        return String(decoding: text[start..<end], as: UTF8.self)
    }

    private mutating func array(_ close: Unicode.Scalar, _ depth: Int) throws(FormatError) -> JSONValue {
        var elements: [JSONValue] = []
        while !take(close) {
            elements.append(try value(depth: depth + 1))
            if !take(",") {
                guard take(close) else { throw malformed("\",\" or \"\(close)\"") }
                break
            }
        }
        return .array(elements)
    }

    private mutating func object(_ depth: Int) throws(FormatError) -> JSONValue {
        var members: [String: JSONValue] = [:]
        while !take("}") {
            guard let key = PlainScalar.text(try value(depth: depth + 1)) else { throw malformed("a key before this") }
            guard take(":") else { throw malformed("\":\"") }
            members[key] = try value(depth: depth + 1)
            if !take(",") {
                guard take("}") else { throw malformed("\",\" or \"}\"") }
                break
            }
        }
        return .object(members)
    }

    private mutating func string() throws(FormatError) -> String {
        let quote = text[position]
        position += 1
        let start = position
        let escapes = !takesWords || quote == UInt8(ascii: "\"")
        while position < text.count, text[position] != quote {
            position += escapes && text[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < text.count else { throw malformed("the closing quote") }
        let body = Array(text[start..<position])
        position += 1
        return escapes ? try Escapes.resolve(body) : String(decoding: body, as: UTF8.self)
    }
}

/// The backslash escapes of Python's and YAML's quoted strings.
enum Escapes {
    static func resolve(_ text: [UInt8]) throws(FormatError) -> String {
        guard text.contains(UInt8(ascii: "\\")) else { return String(decoding: text, as: UTF8.self) }
        var out: [UInt8] = []
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "\\"), index + 1 < text.count else {
                out.append(text[index])
                index += 1
                continue
            }
            let letter = Unicode.Scalar(text[index + 1])
            index += 2
            switch letter {
            case "n": out.append(0x0A)
            case "t": out.append(0x09)
            case "r": out.append(0x0D)
            case "0": out.append(0)
            case "\n": break
            case "x", "u", "U":
                let digits = letter == "x" ? 2 : letter == "u" ? 4 : 8
                let end = min(text.count, index + digits)
                guard end - index == digits,
                    let code = UInt32(String(decoding: text[index..<end], as: UTF8.self), radix: 16)
                else { throw FormatError("has an escape \"\\\(letter)\" without \(digits) hexadecimal digits") }
                // A lone surrogate is not a character.
                out += Array(String(Unicode.Scalar(code) ?? "\u{FFFD}").utf8)
                index = end
            default: out += Array(String(letter).utf8)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
