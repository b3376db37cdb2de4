internal import FoundationEssentials

/// Finds the first place where a text stops being JSON (or JSON5): Foundation's parser on Linux only says that it is none.
///
/// It goes by the text's form alone, and is a little more generous than the parser about words and numbers.
struct JSONMistake {
    private let text: [UInt8]
    private var position = 0
    private var failure: (place: Int, expected: String)?

    /// The first name that an object has twice, with the place of the second.
    private var repeated: (place: Int, name: String)?

    /// The place and what was expected there, or nil if the form is right.
    static func find(in text: [UInt8]) -> String? {
        let search = searched(text)
        guard let (place, expected) = search.failure else { return nil }
        let rest = place < text.count ? text[place...].prefix(12) : []
        let found =
            switch rest.first {
            case nil: "the end of the file"
            case let byte? where byte < 0x20 && byte != 0x0A && byte != 0x0D:
                "the control character with number \(byte)"
            default: "\"" + String(decoding: rest.prefix { $0 >= 0x20 }, as: UTF8.self) + "\""
            }
        return "\(search.words(for: place)): expected \(expected), found \(found)"
    }

    /// The first name that an object has twice, and where it is the second time; nil if there is none, or the form is wrong.
    static func repeatedName(in text: [UInt8]) -> String? {
        let search = searched(text)
        guard search.failure == nil, let (place, name) = search.repeated else { return nil }
        return "\(search.words(for: place)): \"\(name)\" is given a second time"
    }

    private static func searched(_ text: [UInt8]) -> JSONMistake {
        var search = JSONMistake(text: text)
        search.value(depth: 0)
        search.space()
        if search.failure == nil, search.position < text.count { search.fail("nothing more") }
        return search
    }

    private func words(for place: Int) -> String {
        let line = text[..<min(place, text.count)].count { $0 == 0x0A } + 1
        return "line \(line), column \(column(place))"
    }

    private init(text: [UInt8]) { self.text = text }

    private var byte: UInt8? { position < text.count ? text[position] : nil }

    private mutating func fail(_ expected: String, at place: Int? = nil) {
        if failure == nil { failure = (place ?? position, expected) }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        space()
        guard byte == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// White space and comments.
    private mutating func space() {
        while let byte {
            if byte == 0x20 || 0x09...0x0D ~= byte || byte == 0xEF || byte == 0xBB || byte == 0xBF {
                position += 1
            } else if byte == UInt8(ascii: "/"), position + 1 < text.count, text[position + 1] == UInt8(ascii: "/") {
                while let byte = self.byte, byte != 0x0A { position += 1 }
            } else if byte == UInt8(ascii: "/"), position + 1 < text.count, text[position + 1] == UInt8(ascii: "*") {
                let start = position
                position += 2
                while position + 1 < text.count, !(text[position] == 0x2A && text[position + 1] == 0x2F) {
                    position += 1
                }
                guard position + 1 < text.count else { return fail("the comment's end", at: start) }
                position += 2
            } else {
                return
            }
        }
    }

    private mutating func value(depth: Int) {
        space()
        guard depth < 200 else { return fail("less nesting") }
        switch byte.map(Unicode.Scalar.init) {
        case "{": object(depth)
        case "[":
            position += 1
            while failure == nil, !take("]") {
                value(depth: depth + 1)
                if failure == nil, !take(","), !peek("]") { fail("\",\" or \"]\"") }
            }
        case "\"", "'": string()
        default:
            let start = position
            word("a value")
            if failure == nil, isText(text[start..<position]) { fail("a value (text must be in quotes)", at: start) }
        }
    }

    /// True if a word without quotes is neither a number nor one of the words that are values.
    private func isText(_ word: ArraySlice<UInt8>) -> Bool {
        let word = word.drop { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
        guard let first = word.first, !(48...57).contains(first), first != UInt8(ascii: ".") else { return false }
        return !["true", "false", "null", "NaN", "Infinity"].contains { word.elementsEqual($0.utf8) }
    }

    private mutating func object(_ depth: Int) {
        position += 1
        var names: Set<String> = []
        while failure == nil, !take("}") {
            let isQuoted = peek("\"") || peek("'")
            let start = position
            if isQuoted { string() } else { word("a member's name") }
            if failure == nil {
                let name = Self.name(text[start..<position], isQuoted: isQuoted)
                if !names.insert(name).inserted, repeated == nil { repeated = (start, name) }
            }
            if failure == nil, !take(":") { fail("\":\"") }
            if failure == nil { value(depth: depth + 1) }
            if failure == nil, !take(","), !peek("}") { fail("\",\" or \"}\"") }
        }
    }

    private mutating func peek(_ character: Unicode.Scalar) -> Bool {
        space()
        return byte == UInt8(ascii: character)
    }

    private mutating func string() {
        let start = position, quote = byte
        position += 1
        while let byte, byte != quote {
            if byte < 0x20, byte != 0x09, byte != 0x0A { return fail("a string without control characters") }
            if byte == 0x0A {
                return fail("the closing quote of the string that begins at the line's column \(column(start))")
            }
            position += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        guard byte == quote else { return fail("the string's closing quote", at: text.count) }
        position += 1
    }

    /// A member's name as the parser reads it.
    private static func name(_ bytes: ArraySlice<UInt8>, isQuoted: Bool) -> String {
        guard isQuoted else { return String(decoding: bytes, as: UTF8.self) }
        if bytes.contains(UInt8(ascii: "\\")), case .string(let name)? = try? JSONValue.parse(Data(bytes)) {
            return name
        }
        return String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    }

    private func column(_ place: Int) -> Int {
        place - (text[..<min(place, text.count)].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
    }

    /// A number, a word such as `true`, or a name without quotes.
    private mutating func word(_ expected: String) {
        let start = position
        while let byte {
            switch Unicode.Scalar(byte) {
            case "a"..."z", "A"..."Z", "0"..."9", "_", "$", "+", "-", ".": position += 1
            default:
                if position == start { fail(expected) }
                return
            }
        }
        if position == start { fail(expected) }
    }
}
