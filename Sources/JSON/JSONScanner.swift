/// Reads JSON text (RFC 8259) in one pass, without building a tree: request bodies hold arrays of 100,000 numbers,
/// which go straight into typed memory (see the extension for numbers).
///
/// A scanner lives within the call that lends it the text. What is nested deeper than ``mostDepth`` is refused, so that
/// no text makes it recurse without end; nothing is kept that is not asked for.
package struct JSONScanner {
    /// The deepest nesting of arrays and objects that is read.
    package static let mostDepth = 64
    /// The most members of one object: their names are kept, to find one that is there twice.
    package static let mostMembers = 4_096

    package let text: UnsafeRawBufferPointer
    @usableFromInline package internal(set) var position: Int
    private var depth = 0
    /// The name of the text, and of its end, for errors.
    private let subject: String
    private let endName: String

    /// Reads from the text's beginning.
    /// - Parameters:
    ///   - subject: what the text is, for errors: `the body`, `the file`.
    ///   - isFile: whether errors call its end that of a file.
    package init(_ text: UnsafeRawBufferPointer, subject: String = "the body", isFile: Bool = false) {
        self.text = text
        self.subject = subject
        endName = isFile ? "the end of the file" : "the end of the text"
        // A byte order mark is not part of JSON, but editors leave it there.
        position = ByteOrderMark.length(in: text)
    }

    /// A scanner of the same text at another place, where a value begins.
    package func moved(to place: Int) -> JSONScanner {
        var other = self
        other.depth = 0
        other.position = min(max(place, 0), text.count)
        return other
    }

    /// The kind of the value that begins at the position.
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

    /// Takes a byte, with the space before it, if it is next.
    @inlinable @inline(__always)
    package mutating func take(_ wanted: UInt8) -> Bool {
        skipSpace()
        guard position < text.count, text[position] == wanted else { return false }
        position &+= 1
        return true
    }

    // MARK: Errors

    /// The text is not JSON: what was expected at the position.
    package func malformed(_ expected: String) -> JSONError { malformed(expected, at: position) }

    /// A place in the text as people count.
    func place(_ place: Int) -> String {
        let line = text[..<place].count { $0 == 0x0A } + 1
        return "line \(line), column \(column(place))"
    }

    /// The column of a place in its line, from 1 on.
    func column(_ place: Int) -> Int { place - (text[..<place].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1 }

    /// The words before the place of a mistake.
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

    /// The kind of the next value; moves to its first byte.
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

    /// Calls `member` for each member of an object, with its name; `member` reads its value.
    package mutating func object(
        _ member: (String, inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        try enter(UInt8(ascii: "{"), "an object")
        if take(UInt8(ascii: "}")) { return leave() }
        var names: Set<String> = []
        repeat {
            skipSpace()
            guard byte == UInt8(ascii: "\"") else { throw malformed("a member's name in quotes") }
            guard names.count < Self.mostMembers else {
                throw .syntax("an object in \(subject) has more than \(Self.mostMembers) members: \(place(position))")
            }
            if names.count & 1023 == 1023 { try checkCancellation() }
            let start = position
            let name = try string()
            // RFC 8259 leaves open which of two members counts: here neither does.
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

    /// Calls `element` for each element of an array, with its index; `element` reads it.
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

    /// Ends the reading where the calling task was cancelled: a text may hold millions of values.
    @usableFromInline
    func checkCancellation() throws(JSONError) { if Task.isCancelled { throw .cancelled } }

    private mutating func enter(_ bracket: UInt8, _ what: String) throws(JSONError) {
        guard take(bracket) else { throw malformed(what) }
        depth += 1
        guard depth <= Self.mostDepth else { throw tooDeep }
    }

    private mutating func leave() { depth -= 1 }

    private var tooDeep: JSONError {
        .syntax("\(subject) is nested too deeply: the limit is \(Self.mostDepth) levels")
    }

    /// `true` or `false`.
    package mutating func bool() throws(JSONError) -> Bool {
        skipSpace()
        if byte == UInt8(ascii: "t") {
            try word("true")
            return true
        }
        try word("false")
        return false
    }

    /// `null`.
    package mutating func null() throws(JSONError) { try word("null") }

    private mutating func word(_ word: StaticString) throws(JSONError) {
        skipSpace()
        let length = word.utf8CodeUnitCount
        guard text.count - position >= length,
            word.withUTF8Buffer({ $0.elementsEqual(text[position..<position + length]) })
        else { throw malformed("\(word)") }
        position += length
    }

    /// Moves past any value.
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

    /// To be called after the last value: only space may follow.
    package mutating func end() throws(JSONError) {
        skipSpace()
        guard position >= text.count else { throw malformed("nothing more") }
    }
}
