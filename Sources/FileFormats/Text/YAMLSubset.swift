package import JSON

/// Reads the subset of YAML that exporters write: block mappings and sequences, plain and quoted scalars (which may
/// continue on the next line), flow lists and mappings, comments, anchors and aliases of block values. Tags, block
/// scalars (`|`, `>`) and multiple documents are refused with their line. Aliases are bounded, so that the text cannot
/// expand.
package struct YAMLSubset {
    private struct Line {
        let number: Int
        let indent: Int
        let text: String
    }

    private var lines: [Line]
    private var index = 0
    private var anchors: [String: JSONValue] = [:]
    /// The number of values that aliases may still stand for.
    private var aliased = 100_000

    package static let maximumBytes = 16 << 20
    private static let maximumDepth = 16

    package static func read(_ bytes: [UInt8]) throws(FormatError) -> JSONValue {
        guard bytes.count <= maximumBytes else {
            throw FormatError("has \(bytes.count) bytes: the limit is \(maximumBytes)")
        }
        var reader = YAMLSubset(lines: try lines(bytes))
        guard let first = reader.lines.first else { return .object([:]) }
        let value = try reader.block(indent: first.indent, depth: 0)
        if reader.index < reader.lines.count { throw reader.mistake("expected the indentation of the lines before") }
        return value
    }

    private init(lines: [Line]) { self.lines = lines }

    private static func lines(_ bytes: [UInt8]) throws(FormatError) -> [Line] {
        var lines: [Line] = []
        var number = 0
        for raw in bytes.dropFirst(ByteOrderMark.length(in: bytes)).split(
            separator: 0x0A, omittingEmptySubsequences: false)
        {
            number += 1
            let indent = raw.prefix { $0 == 0x20 }.count
            var text = raw.dropFirst(indent)
            while let last = text.last, last == 0x20 || last == 0x0D || last == 0x09 { text = text.dropLast() }
            if text.first == UInt8(ascii: "#") || text.isEmpty { continue }
            if text.first == 0x09 { throw FormatError("line \(number): is indented with a tab") }
            if indent == 0, text.starts(with: "---".utf8) || text.starts(with: "...".utf8) {
                guard text.count == 3, lines.isEmpty || text.first == UInt8(ascii: ".") else {
                    throw FormatError("line \(number): a second document begins: only one is supported")
                }
                continue
            }
            if indent == 0, text.first == UInt8(ascii: "%") {
                throw FormatError("line \(number): directives are not supported")
            }
            lines.append(Line(number: number, indent: indent, text: String(decoding: text, as: UTF8.self)))
        }
        return lines
    }

    private func mistake(_ reason: String) -> FormatError {
        FormatError("line \(lines[min(index, lines.count - 1)].number): \(reason)")
    }

    private var line: Line? { index < lines.count ? lines[index] : nil }

    // By bytes: a space and a combining mark behind it are one character.
    private static func isItem(_ text: String) -> Bool {
        text.utf8.elementsEqual("-".utf8) || text.utf8.starts(with: "- ".utf8)
    }

    private mutating func block(indent: Int, depth: Int) throws(FormatError) -> JSONValue {
        guard depth <= Self.maximumDepth else { throw mistake("is nested more than \(Self.maximumDepth) deep") }
        guard let line else { return .null }
        return Self.isItem(line.text) ? try sequence(indent, depth) : try mapping(indent, depth)
    }

    private mutating func sequence(_ indent: Int, _ depth: Int) throws(FormatError) -> JSONValue {
        var elements: [JSONValue] = []
        while let line, line.indent == indent, Self.isItem(line.text) {
            let rest = String(decoding: line.text.utf8.dropFirst(), as: UTF8.self).trimmed
            let isFlow = rest.utf8.first.map { "{[".utf8.contains($0) } ?? false
            if Self.isItem(rest) || Self.keyEnd(rest) != nil && !isFlow {
                // A mapping or a list begins behind the dash, at the indentation of its further lines.
                let inner = indent + line.text.utf8.count - rest.utf8.count
                lines[index] = Line(number: line.number, indent: inner, text: rest)
                elements.append(try block(indent: inner, depth: depth + 1))
            } else {
                elements.append(try value(rest, indent: indent, depth: depth, inSequence: true))
            }
        }
        return .array(elements)
    }

    private mutating func mapping(_ indent: Int, _ depth: Int) throws(FormatError) -> JSONValue {
        var members: [String: JSONValue] = [:]
        while let line, line.indent == indent {
            if Self.isItem(line.text) { throw mistake("expected \"key: value\", found an item of a list") }
            guard let (key, rest) = Self.keyEnd(line.text) else {
                throw mistake("expected \"key: value\", found \"\(line.text.prefix(40))\"")
            }
            let name = try text(of: key)
            members[name] = try value(rest, indent: indent, depth: depth, inSequence: false)
        }
        return .object(members)
    }

    private func text(of key: String) throws(FormatError) -> String {
        guard let first = key.utf8.first else { throw mistake("a key is empty") }
        if first == UInt8(ascii: "'") || first == UInt8(ascii: "\"") { return try quoted(key) }
        if "&*!?|>@`{[".utf8.contains(first) {
            throw mistake("a key begins with \"\(key.prefix(1))\", which is not supported")
        }
        return key
    }

    /// The key and the rest of a line `key: value` or `key:`.
    private static func keyEnd(_ text: String) -> (key: String, rest: String)? {
        let bytes = Array(text.utf8)
        guard let first = bytes.first else { return nil }
        var place = 0
        if first == UInt8(ascii: "'") || first == UInt8(ascii: "\"") {
            place = 1
            while place < bytes.count, bytes[place] != first {
                place += first == UInt8(ascii: "\"") && bytes[place] == UInt8(ascii: "\\") ? 2 : 1
            }
            place += 1
        }
        while place < bytes.count {
            if bytes[place] == UInt8(ascii: ":"), place + 1 == bytes.count || bytes[place + 1] == 0x20 {
                let key = String(decoding: bytes[..<place], as: UTF8.self).trimmed
                return (key, String(decoding: bytes[(place + 1)...], as: UTF8.self).trimmed)
            }
            place += 1
        }
        return nil
    }

    /// Reads the value after a key or a dash, with the lines that belong to it.
    private mutating func value(
        _ rest: String, indent: Int, depth: Int, inSequence: Bool
    ) throws(FormatError) -> JSONValue {
        guard let first = rest.utf8.first, first != UInt8(ascii: "#") else {
            return try below(indent: indent, depth: depth, inSequence: inSequence)
        }
        switch first {
        case UInt8(ascii: "&"): return try anchored(rest, indent: indent, depth: depth, inSequence: inSequence)
        case UInt8(ascii: "*"): return try alias(rest, depth: depth)
        case UInt8(ascii: "!"): throw mistake("tags are not supported")
        case _ where "|>%@`".utf8.contains(first):
            throw mistake("values that begin with \"\(rest.prefix(1))\" are not supported")
        default: break
        }
        let start = index
        var text = rest
        var pieces = [rest]
        // A scalar or a flow list continues on lines with deeper indentation.
        index += 1
        if var end = Delimiter(first) {
            end.feed(rest)
            var bytes = rest.utf8.count
            while !end.isClosed {
                guard let next = line, next.indent > indent || first == UInt8(ascii: "[") || first == UInt8(ascii: "{")
                else {
                    index = start
                    throw mistake("unterminated value that begins with \(rest.prefix(1))")
                }
                end.feed(next.text)
                pieces.append(next.text)
                bytes += next.text.utf8.count + 1
                index += 1
                guard bytes <= 4 << 20 else { throw mistake("a value has more than 4 MiB") }
            }
            text = pieces.joined(separator: " ")
        } else {
            while let next = line, next.indent > indent {
                if Self.keyEnd(next.text) != nil { throw mistake("a mapping is indented below a value") }
                pieces.append(next.text)
                index += 1
            }
            text = pieces.joined(separator: " ")
        }
        switch first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try quoted(text))
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            do throws(FormatError) {
                return try PythonLiteral.read(Self.withoutComment(text), takesWords: true)
            } catch {
                index = start
                throw mistake(error.reason)
            }
        default:
            let word = Self.withoutComment(text)
            return PlainScalar.value(word) ?? .string(word)
        }
    }

    /// Reads a value that begins on the next line.
    private mutating func below(indent: Int, depth: Int, inSequence: Bool) throws(FormatError) -> JSONValue {
        index += 1
        guard let next = line else { return .null }
        if next.indent > indent { return try block(indent: next.indent, depth: depth + 1) }
        // The list of a mapping may have the indentation of its key.
        if !inSequence, next.indent == indent, Self.isItem(next.text) { return try sequence(indent, depth + 1) }
        return .null
    }

    /// Reads a value with an anchor before it.
    private mutating func anchored(
        _ rest: String, indent: Int, depth: Int, inSequence: Bool
    ) throws(FormatError) -> JSONValue {
        let name = Self.anchorName(rest),
            behind = String(decoding: rest.utf8.dropFirst(1 + name.utf8.count), as: UTF8.self).trimmed
        guard !name.isEmpty, behind.utf8.first != UInt8(ascii: "&") else {
            throw mistake("expected the name of an anchor and its value, found \"\(rest.prefix(40))\"")
        }
        let value = try value(behind, indent: indent, depth: depth, inSequence: inSequence)
        anchors[name] = value
        return value
    }

    /// Reads an alias.
    private mutating func alias(_ rest: String, depth: Int) throws(FormatError) -> JSONValue {
        let name = Self.anchorName(rest)
        guard "*" + name == Self.withoutComment(rest), let value = anchors[name] else {
            throw mistake("expected the name of an anchor above, found \"\(rest.prefix(40))\"")
        }
        try count(value, depth: depth)
        index += 1
        return value
    }

    /// The name of an anchor behind `&` or `*`.
    private static func anchorName(_ text: String) -> String {
        String(text.dropFirst().prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") })
    }

    /// Counts the values that an alias stands for, and checks their depth.
    private mutating func count(_ value: JSONValue, depth: Int) throws(FormatError) {
        aliased -= 1
        guard aliased >= 0 else { throw mistake("aliases stand for too many values") }
        guard depth <= Self.maximumDepth else { throw mistake("is nested more than \(Self.maximumDepth) deep") }
        switch value {
        case .array(let elements): for element in elements { try count(element, depth: depth + 1) }
        case .object(let members): for member in members.values { try count(member, depth: depth + 1) }
        default: break
        }
    }

    private static func withoutComment(_ text: String) -> String {
        guard let place = text.range(of: " #") else { return text }
        return String(text[..<place]).trimmed
    }

    /// The byte offset of the closing quote of a quoted text.
    private static func quoteEnd(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        let quote = bytes[0]
        var place = 1
        while place < bytes.count {
            if quote == UInt8(ascii: "\""), bytes[place] == UInt8(ascii: "\\") {
                place += 2
            } else if bytes[place] == quote {
                if quote == UInt8(ascii: "'"), place + 1 < bytes.count, bytes[place + 1] == quote {
                    place += 2
                } else {
                    return place
                }
            } else {
                place += 1
            }
        }
        return nil
    }

    /// Finds the end of a value in quotes or brackets. Lines are fed one by one, so that each byte is read once.
    private struct Delimiter {
        private(set) var isClosed = false
        private let isFlow: Bool
        private var open = 0
        private var quote: UInt8?

        /// Nil for a value without a delimiter.
        init?(_ first: UInt8) {
            switch first {
            case UInt8(ascii: "["), UInt8(ascii: "{"): isFlow = true
            case UInt8(ascii: "'"), UInt8(ascii: "\""): isFlow = false
            default: return nil
            }
        }

        mutating func feed(_ piece: String) {
            let bytes = Array(piece.utf8)
            var place = 0
            while place < bytes.count, !isClosed {
                let byte = bytes[place]
                place += 1
                if let inside = quote {
                    if inside == UInt8(ascii: "\""), byte == UInt8(ascii: "\\") {
                        place += 1
                    } else if byte == inside {
                        // Two single quotes stand for one in the text.
                        if inside == UInt8(ascii: "'"), place < bytes.count, bytes[place] == inside {
                            place += 1
                            continue
                        }
                        quote = nil
                        isClosed = !isFlow
                    }
                } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                    quote = byte
                } else if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{") {
                    open += 1
                } else if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") {
                    open -= 1
                    isClosed = open <= 0
                }
            }
        }
    }

    private func quoted(_ text: String) throws(FormatError) -> String {
        guard let end = Self.quoteEnd(text) else { throw mistake("unterminated quoted text") }
        let bytes = Array(text.utf8)
        let after = String(decoding: bytes[(end + 1)...], as: UTF8.self).trimmed
        guard after.isEmpty || after.hasPrefix("#") else {
            throw mistake("expected nothing after the quoted text, found \"\(after.prefix(20))\"")
        }
        let body = Array(bytes[1..<end])
        if bytes[0] == UInt8(ascii: "\"") { return try Escapes.resolve(body) }
        var out: [UInt8] = []
        var index = 0
        while index < body.count {
            out.append(body[index])
            index += body[index] == UInt8(ascii: "'") ? 2 : 1
        }
        return String(decoding: out, as: UTF8.self)
    }
}

extension String {
    /// The text without white space at both ends.
    package var trimmed: String {
        // By bytes: a space and a combining mark behind it are one character.
        var view = utf8[...]
        while let first = view.first, first <= 0x20 { view = view.dropFirst() }
        while let last = view.last, last <= 0x20 { view = view.dropLast() }
        return String(Substring(view))
    }

    /// The first occurrence of an ASCII text.
    fileprivate func range(of searchedKey: String) -> String.Index? {
        let needle = Array(searchedKey.utf8)
        var place = utf8.startIndex
        while place != utf8.endIndex {
            if utf8[place...].starts(with: needle) { return place }
            place = utf8.index(after: place)
        }
        return nil
    }
}
