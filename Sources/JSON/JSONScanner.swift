/// Reads JSON text (RFC 8259) in one pass, without building a tree: request bodies contain arrays of 100,000 numbers,
/// which are read directly into typed memory (see the extension for numbers).
///
/// Valid only during the call that lends it the text. Deeper nesting than ``maximumDepth`` is refused, so that
/// recursion is bounded; only requested values are kept.
package struct JSONScanner {
    /// The maximum nesting depth of arrays and objects.
    package static let maximumDepth = 64
    /// The maximum number of members of one object: their names are kept to detect duplicates.
    package static let maximumMembers = 4_096

    package let text: UnsafeRawBufferPointer
    @usableFromInline package internal(set) var position: Int
    private var depth = 0
    /// The name of the text, and of its end, in messages.
    private let subject: String
    private let endName: String

    /// Starts at the beginning of the text.
    /// - Parameters:
    ///   - subject: the name of the text in messages: `the body`, `the file`.
    ///   - isFile: true if messages call the end of the text that of a file.
    package init(_ text: UnsafeRawBufferPointer, subject: String = "the body", isFile: Bool = false) {
        self.text = text
        self.subject = subject
        endName = isFile ? "the end of the file" : "the end of the text"
        // A byte order mark is not part of JSON, but some editors write it.
        position = ByteOrderMark.length(in: text)
    }

    /// A scanner of the same text at another offset, where a value begins.
    package func moved(to place: Int) -> JSONScanner {
        var other = self
        other.depth = 0
        other.position = min(max(place, 0), text.count)
        return other
    }

    /// The kind of a value.
    package enum Kind: String {
        case object = "an object", array = "an array", string = "a string", number = "a number"
        case bool = "true or false", null = "null"
    }

    // MARK: Bytes

    /// The byte at the position, or nil at the end.
    @inlinable @inline(__always)
    package var byte: UInt8? { position < text.count ? text[position] : nil }

    @inlinable @inline(__always)
    package mutating func advance(by count: Int = 1) { position &+= count }

    @inlinable @inline(__always)
    package mutating func skipSpace() {
        while position < text.count {
            switch text[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position &+= 1
            default: return
            }
        }
    }

    /// Takes a byte, and white space before it, if it is next.
    @inlinable @inline(__always)
    package mutating func take(_ expectedByte: UInt8) -> Bool {
        skipSpace()
        guard position < text.count, text[position] == expectedByte else { return false }
        position &+= 1
        return true
    }

    // MARK: Errors

    /// The error for text that is not JSON, with the expected syntax at the position.
    package func malformed(_ expected: String) -> JSONError { malformed(expected, at: position) }

    /// An offset as a location in messages.
    func place(_ place: Int) -> String {
        let line = text[..<place].count { $0 == 0x0A } + 1
        return "line \(line), column \(column(place))"
    }

    /// The column of an offset in its line, from 1.
    func column(_ place: Int) -> Int { place - (text[..<place].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1 }

    /// The text before the location in a message.
    var mistakePrefix: String { "\(subject) is not valid JSON: " }

    package func malformed(_ expected: String, at offset: Int) -> JSONError {
        let offset = min(offset, text.count)
        let rest = text[offset..<min(offset + 12, text.count)]
        let found =
            switch rest.first {
            case nil: endName
            case let byte? where byte < 0x20 && byte != 0x0A && byte != 0x0D:
                "the control character with number \(byte)"
            default: "\"" + String(decoding: rest.prefix { $0 >= 0x20 }, as: UTF8.self) + "\""
            }
        return .syntax("\(mistakePrefix)\(place(offset)): expected \(expected), found \(found)")
    }

    // MARK: Values

    /// Skips to the next value and returns its kind.
    package mutating func kind() throws(JSONError) -> Kind {
        skipSpace()
        switch byte ?? 0 {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw malformed("a value")
        }
    }

    /// Calls `member` for each member of an object, with its name; `member` must read the value.
    package mutating func object(
        _ member: (String, inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        try enter(UInt8(ascii: "{"), "an object")
        if take(UInt8(ascii: "}")) { return leave() }
        var names: Set<String> = []
        repeat {
            skipSpace()
            guard byte == UInt8(ascii: "\"") else { throw malformed("a member's name in quotes") }
            guard names.count < Self.maximumMembers else {
                throw .syntax(
                    "an object in \(subject) has more than \(Self.maximumMembers) members: \(place(position))")
            }
            if names.count & 1023 == 1023 { try checkCancellation() }
            let start = position
            let name = try string()
            // RFC 8259 does not define which of two members counts: refuse both.
            guard names.insert(name).inserted else {
                throw .syntax(
                    "\(subject) has the member \"\(name.prefix(200))\" twice in one object: \(place(start))")
            }
            guard take(UInt8(ascii: ":")) else { throw malformed("\":\"") }
            try member(name, &self)
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw malformed("\",\" or \"}\"") }
        leave()
    }

    /// Calls `element` for each element of an array, with its index; `element` must read it.
    package mutating func array(_ element: (Int, inout JSONScanner) throws(JSONError) -> Void) throws(JSONError) {
        try enter(UInt8(ascii: "["), "an array")
        if take(UInt8(ascii: "]")) { return leave() }
        var index = 0
        repeat {
            if index & 1023 == 1023 { try checkCancellation() }
            try element(index, &self)
            index += 1
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw malformed("\",\" or \"]\"") }
        leave()
    }

    /// Throws if the calling task was cancelled: a text may have millions of values.
    @usableFromInline
    func checkCancellation() throws(JSONError) { if Task.isCancelled { throw .cancelled } }

    private mutating func enter(_ bracket: UInt8, _ what: String) throws(JSONError) {
        guard take(bracket) else { throw malformed(what) }
        depth += 1
        guard depth <= Self.maximumDepth else { throw tooDeep }
    }

    private mutating func leave() { depth -= 1 }

    private var tooDeep: JSONError {
        .syntax("\(subject) is nested too deeply: the limit is \(Self.maximumDepth) levels")
    }

    package mutating func bool() throws(JSONError) -> Bool {
        skipSpace()
        if byte == UInt8(ascii: "t") {
            try word("true")
            return true
        }
        try word("false")
        return false
    }

    package mutating func null() throws(JSONError) { try word("null") }

    private mutating func word(_ word: StaticString) throws(JSONError) {
        skipSpace()
        let length = word.utf8CodeUnitCount
        guard text.count - position >= length,
            word.withUTF8Buffer({ $0.elementsEqual(text[position..<position + length]) })
        else { throw malformed("\(word)") }
        position += length
    }

    /// Skips any value.
    package mutating func skip() throws(JSONError) {
        switch try kind() {
        case .object: try object { (_, scanner) throws(JSONError) in try scanner.skip() }
        case .array: try array { (_, scanner) throws(JSONError) in try scanner.skip() }
        case .string: _ = try string()
        case .number: _ = try number()
        case .bool: _ = try bool()
        case .null: try null()
        }
    }

    /// Checks that only white space follows. Call it after the last value.
    package mutating func end() throws(JSONError) {
        skipSpace()
        guard position >= text.count else { throw malformed("nothing more") }
    }
}
