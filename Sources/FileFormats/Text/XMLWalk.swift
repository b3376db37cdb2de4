/// Iterates over the tags of an XML text in OpenVINO's form: elements and attributes. Refuses entity declarations, so
/// that the text cannot expand.
package struct XMLWalk {
    package enum Event {
        case open(name: String, attributes: [String: String], isEmpty: Bool)
        case close(name: String)
    }

    private let text: [UInt8]
    private var position = 0

    package init(_ text: [UInt8]) { self.text = text }

    /// The current byte offset, for messages.
    package var place: Int { position }

    package mutating func next() throws(FormatError) -> Event? {
        while true {
            guard let start = text[position...].firstIndex(of: UInt8(ascii: "<")) else { return nil }
            position = start
            if starts("<!--") {
                try skip(past: "-->", "a comment")
            } else if starts("<?") {
                try skip(past: "?>", "an instruction")
            } else if starts("<![CDATA[") {
                try skip(past: "]]>", "CDATA")
            } else if starts("<!") {
                throw FormatError("has a document type at byte \(start), which is not supported")
            } else {
                return try tag()
            }
        }
    }

    private func starts(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { text[position...].starts(with: $0) }
    }

    private mutating func skip(past word: StaticString, _ what: String) throws(FormatError) {
        let start = position
        while position < text.count {
            if starts(word) {
                position += word.utf8CodeUnitCount
                return
            }
            position += 1
        }
        throw FormatError("has \(what) that does not end, at byte \(start)")
    }

    private static func isName(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", ":": true
        default: byte >= 0x80
        }
    }

    private mutating func name() -> String {
        let start = position
        while position < text.count, Self.isName(text[position]) { position += 1 }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    private mutating func space() {
        while position < text.count, text[position] <= 0x20 { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func tag() throws(FormatError) -> Event {
        let start = position
        position += 1
        let closes = take("/")
        let name = name()
        guard !name.isEmpty else { throw FormatError("has a tag without a name at byte \(start)") }
        var attributes: [String: String] = [:]
        while true {
            space()
            if take("/") {
                guard take(">") else { throw FormatError("has an unterminated tag at byte \(start)") }
                return .open(name: name, attributes: attributes, isEmpty: true)
            }
            if take(">") {
                return closes ? .close(name: name) : .open(name: name, attributes: attributes, isEmpty: false)
            }
            let key = self.name()
            guard !key.isEmpty, attributes.count < 1_000 else {
                throw FormatError("has an unterminated tag at byte \(start)")
            }
            space()
            guard take("=") else { throw FormatError("has an attribute without a value at byte \(position)") }
            space()
            guard position < text.count, text[position] == UInt8(ascii: "\"") || text[position] == UInt8(ascii: "'")
            else {
                throw FormatError("has an attribute without quotes at byte \(position)")
            }
            let quote = text[position]
            position += 1
            guard let end = text[position...].firstIndex(of: quote) else {
                throw FormatError("has an unterminated attribute at byte \(position)")
            }
            attributes[key] = Self.resolve(text[position..<end])
            position = end + 1
        }
    }

    /// Resolves the five predefined entities of XML, and numeric character references.
    private static func resolve(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var out = ""
        var rest = Substring(text)
        while let and = rest.firstIndex(of: "&") {
            out += rest[..<and]
            rest = rest[and...]
            guard let end = rest.prefix(12).firstIndex(of: ";") else {
                out += "&"
                rest = rest.dropFirst()
                continue
            }
            let name = rest[rest.index(after: and)..<end]
            switch name {
            case "amp": out += "&"
            case "lt": out += "<"
            case "gt": out += ">"
            case "quot": out += "\""
            case "apos": out += "'"
            default:
                let code = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
                out +=
                    name.hasPrefix("#")
                    ? code.flatMap(Unicode.Scalar.init).map { String($0) } ?? "\u{FFFD}" : "&\(name);"
            }
            rest = rest[rest.index(after: end)...]
        }
        return out + rest
    }
}
