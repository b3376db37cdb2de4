/// Reads a whole JSON text into values: for configurations and descriptions, which are small and looked up by name.
/// Request bodies with arrays of 100,000 numbers are read directly into typed memory by ``JSONScanner``, which
/// also reads the strings and numbers here, and makes the errors.
package struct JSONTree {
    package let value: JSONValue
    /// The first duplicate name in an object, with the location of the second occurrence; nil if all names are unique.
    package let repeatedName: String?

    /// The dialect of a text.
    package enum Dialect {
        /// RFC 8259. Of duplicate names, the last one counts, as in Python.
        case json
        /// JSON with comments, trailing commas, unquoted names, strings in single quotes and more forms of numbers
        /// (json5.org), for files written by hand. Of duplicate names, the first one counts; 5.0 equals 5.
        case json5
    }

    /// The maximum number of values in a text: enough for three labels for each of 200,000 classes.
    package static let maximumValues = 1_000_000

    /// Reads UTF-8 text, with or without a byte order mark.
    /// - Throws: the error and its location.
    package static func read(_ text: [UInt8], _ dialect: Dialect) throws(JSONTextError) -> JSONTree {
        try text.withUnsafeBytes { bytes -> Result<JSONTree, JSONTextError> in
            var reader = JSONTreeReader(bytes, isJSON5: dialect == .json5)
            do throws(JSONError) {
                let value = try reader.whole()
                return .success(JSONTree(value: value, repeatedName: reader.repeatedName))
            } catch {
                return .failure(JSONTextError(reason: reader.reason(error)))
            }
        }.get()
    }
}

/// The state of reading a text.
private struct JSONTreeReader {
    private var scanner: JSONScanner
    private let isJSON5: Bool
    private var left = JSONTree.maximumValues
    private(set) var repeatedName: String?

    init(_ text: UnsafeRawBufferPointer, isJSON5: Bool) {
        scanner = JSONScanner(text, subject: "it", isFile: true)
        self.isJSON5 = isJSON5
    }

    /// The message of an error without the words before the location.
    func reason(_ error: JSONError) -> String {
        let prefix = scanner.mistakePrefix
        return error.message.hasPrefix(prefix) ? String(error.message.dropFirst(prefix.count)) : error.message
    }

    mutating func whole() throws(JSONError) -> JSONValue {
        let value = try value(depth: 0)
        try space()
        try scanner.end()
        return value
    }

    /// Skips white space, and in JSON5 comments.
    private mutating func space() throws(JSONError) {
        scanner.skipSpace()
        while isJSON5, let byte = scanner.byte {
            let start = scanner.position
            if byte == 0x0B || byte == 0x0C {
                scanner.advance()
            } else if byte >= 0x80 {
                guard let (character, length) = further, Self.isSpace(character) else { return }
                scanner.advance(by: length)
            } else if isNext("//") {
                while let byte = scanner.byte, byte != 0x0A, byte != 0x0D, !isNext("\u{2028}"), !isNext("\u{2029}") {
                    scanner.advance()
                }
            } else if isNext("/*") {
                scanner.advance(by: 2)
                while scanner.byte != nil, !isNext("*/") { scanner.advance() }
                guard scanner.byte != nil else { throw scanner.malformed("the comment's end", at: start) }
                scanner.advance(by: 2)
            } else {
                return
            }
            scanner.skipSpace()
        }
    }

    /// The character beyond ASCII at the position, and its length in bytes; nil if there is no such character.
    private var further: (character: Unicode.Scalar, length: Int)? {
        for length in 2...4 where scanner.text.count - scanner.position >= length {
            let bytes = scanner.text[scanner.position..<scanner.position + length]
            if let character = String(validating: bytes, as: UTF8.self)?.unicodeScalars.first {
                return (character, length)
            }
        }
        return nil
    }

    /// True for JSON5's white space beyond ASCII, which text from web pages has instead of blanks.
    private static func isSpace(_ character: Unicode.Scalar) -> Bool {
        character.properties.generalCategory == .spaceSeparator
            || "\u{FEFF}\u{2028}\u{2029}".unicodeScalars.contains(character)
    }

    /// True for characters of names beyond ASCII, as ECMAScript 5.1 defines them.
    private static func isOfName(_ character: Unicode.Scalar, isFirst: Bool) -> Bool {
        switch character.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber: true
        case .nonspacingMark, .spacingMark, .decimalNumber, .connectorPunctuation: !isFirst
        default: !isFirst && (character == "\u{200C}" || character == "\u{200D}")
        }
    }

    private func isNext(_ word: StaticString) -> Bool {
        scanner.text[scanner.position...].starts(
            with: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    private mutating func take(_ character: Unicode.Scalar) throws(JSONError) -> Bool {
        try space()
        return scanner.take(UInt8(ascii: character))
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        try space()
        left -= 1
        guard left >= 0 else { throw scanner.malformed("at most \(JSONTree.maximumValues) values") }
        guard depth <= JSONScanner.maximumDepth else {
            throw scanner.malformed("the end: it is nested too deeply, the limit is \(JSONScanner.maximumDepth) levels")
        }
        switch scanner.byte.map(Unicode.Scalar.init) {
        case "{": return .object(try object(depth))
        case "[": return .array(try array(depth))
        case "\"": return .string(try isJSON5 ? string() : scanner.string())
        case "'" where isJSON5: return .string(try string())
        default: return try isJSON5 ? word() : scalar()
        }
    }

    private mutating func array(_ depth: Int) throws(JSONError) -> [JSONValue] {
        var elements: [JSONValue] = []
        scanner.advance()
        if try take("]") { return [] }
        while true {
            elements.append(try value(depth: depth + 1))
            if try take(",") {
                if isJSON5, try take("]") { return elements }
                continue
            }
            guard try take("]") else { throw scanner.malformed("\",\" or \"]\"") }
            return elements
        }
    }

    private mutating func object(_ depth: Int) throws(JSONError) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        scanner.advance()
        if try take("}") { return [:] }
        while true {
            try space()
            let start = scanner.position
            let name = try name()
            guard try take(":") else { throw scanner.malformed("\":\"") }
            let value = try value(depth: depth + 1)
            if members[name] != nil, repeatedName == nil {
                repeatedName = "\(scanner.place(start)): \"\(name)\" is given a second time"
            }
            if !isJSON5 || members[name] == nil { members[name] = value }
            if try take(",") {
                if isJSON5, try take("}") { return members }
                continue
            }
            guard try take("}") else { throw scanner.malformed("\",\" or \"}\"") }
            return members
        }
    }

    // MARK: JSON

    private mutating func scalar() throws(JSONError) -> JSONValue {
        switch try scanner.kind() {
        case .null:
            try scanner.null()
            return .null
        case .bool: return .bool(try scanner.bool())
        default: break
        }
        let start = scanner.position, number = try scanner.number()
        // 1.0 is kept as a number: it may be a version.
        if number.isInteger, let integer = number.integer(Int.self, in: scanner.text) { return .integer(integer) }
        guard let value = number.double(in: scanner.text) else { throw outOfRange(start) }
        return .number(value)
    }

    private func outOfRange(_ place: Int) -> JSONError {
        scanner.malformed("a number within the range of 64-bit floats", at: place)
    }

    // MARK: JSON5

    private mutating func name() throws(JSONError) -> String {
        guard isJSON5 else {
            guard scanner.byte == UInt8(ascii: "\"") else { throw scanner.malformed("a member's name in quotes") }
            return try scanner.string()
        }
        if scanner.byte == UInt8(ascii: "\"") || scanner.byte == UInt8(ascii: "'") { return try string() }
        let start = scanner.position
        while let byte = scanner.byte {
            if Self.isWord(byte) {
                scanner.advance()
            } else if byte >= 0x80 {
                guard let (character, length) = further else { throw scanner.malformed("UTF-8 text", at: start) }
                guard Self.isOfName(character, isFirst: scanner.position == start) else { break }
                scanner.advance(by: length)
            } else {
                break
            }
        }
        let word = scanner.text[start..<scanner.position]
        guard let first = word.first, first > UInt8(ascii: "9") || first == UInt8(ascii: "$"),
            !word.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") })
        else { throw scanner.malformed("a member's name", at: start) }
        return String(decoding: word, as: UTF8.self)
    }

    /// Reads a string in quotes of either kind.
    private mutating func string() throws(JSONError) -> String {
        let quote = scanner.byte, first = scanner.position
        scanner.advance()
        let start = scanner.position
        while let byte = scanner.byte, byte != quote {
            if byte == UInt8(ascii: "\\") {
                // An escaped line break may have two bytes.
                scanner.advance(by: isNext("\\\r\n") ? 3 : 2)
            } else if byte == 0x0A || byte == 0x0D {
                let column = scanner.column(first)
                throw scanner.malformed("the closing quote of the string that begins at the line's column \(column)")
            } else if byte < 0x20, byte != 0x09 {
                throw scanner.malformed("a string without control characters")
            } else {
                scanner.advance()
            }
        }
        guard scanner.byte == quote else {
            throw scanner.malformed("the string's closing quote", at: scanner.text.count)
        }
        defer { scanner.advance() }
        return try scanner.decoded(start..<scanner.position, hasEscapes: true, isJSON5: true)
    }

    /// Reads a number, or a word that is a value.
    private mutating func word() throws(JSONError) -> JSONValue {
        let start = scanner.position
        let word = String(decoding: takeBytes(Self.isWord), as: UTF8.self)
        switch word {
        case "": throw scanner.malformed("a value", at: start)
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        default: break
        }
        let isNegative = word.first == "-"
        let magnitude = isNegative || word.first == "+" ? word.dropFirst() : word[...]
        switch magnitude {
        case "Infinity": return .number(isNegative ? -.infinity : .infinity)
        case "NaN": return .number(.nan)
        default: break
        }
        guard let first = magnitude.utf8.first, (48...57).contains(first) || first == UInt8(ascii: ".") else {
            throw scanner.malformed("a value (text must be in quotes)", at: start)
        }
        if magnitude.hasPrefix("0x") || magnitude.hasPrefix("0X") {
            guard let number = Int((isNegative ? "-" : "") + magnitude.dropFirst(2), radix: 16),
                magnitude.utf8.dropFirst(2).first.map({ $0 >= 48 }) == true
            else { throw scanner.malformed("a hexadecimal number of 64 bits", at: start) }
            return .integer(number)
        }
        let isPlain = magnitude.utf8.allSatisfy { (48...57).contains($0) || "+-.eE".utf8.contains($0) }
        guard isPlain, let number = Double(word) else { throw scanner.malformed("a number", at: start) }
        if first == 48, magnitude.utf8.dropFirst().first.map({ (48...57).contains($0) }) == true {
            throw scanner.malformed("a number without leading zeros", at: start)
        }
        if let integer = Int(word) ?? Int(exactly: number) { return .integer(integer) }
        guard number.isFinite else { throw outOfRange(start) }
        return .number(number)
    }

    private mutating func takeBytes(_ isIncluded: (UInt8) -> Bool) -> UnsafeRawBufferPointer {
        let start = scanner.position
        while let byte = scanner.byte, isIncluded(byte) { scanner.advance() }
        return UnsafeRawBufferPointer(rebasing: scanner.text[start..<scanner.position])
    }

    /// True for the ASCII characters of numbers, words and names.
    private static func isWord(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "$", "+", "-", ".": true
        default: false
        }
    }
}
