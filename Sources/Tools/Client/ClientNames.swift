/// The languages of clients.
package enum ClientLanguage: String, CaseIterable, Sendable {
    case swift, python
}

/// Identifiers and literals of a language, made of names that anybody may have chosen.
package struct ClientNames: Sendable {
    let language: ClientLanguage

    package init(_ language: ClientLanguage) { self.language = language }

    /// The identifier of a type: the name with `_` for each character that cannot be in one.
    package func type(_ name: String) -> String { distinct(identifier(name), from: reservedTypes) }

    /// The identifiers of members, in order: reserved words and names that occur before get `_` at the end.
    package func members(_ names: [String], besides taken: Set<String> = []) -> [String] {
        var used = reservedMembers.union(taken)
        return names.map { name in
            let result = distinct(identifier(name), from: used)
            used.insert(result)
            return result
        }
    }

    /// The identifiers of an enum's cases, each with its text; nil if a label has no letter or digit, or if there are
    /// too many.
    package func cases(_ labels: [String]) -> [(name: String, text: String)]? {
        guard (1...Self.maximumLabels).contains(labels.count),
            labels.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumLabelBytes
        else { return nil }
        var seen: Set<String> = []
        let texts = labels.filter { seen.insert($0).inserted }
        var bare: [String] = []
        for text in texts {
            // Python gives names with `_` at both ends another meaning.
            let name = identifier(text).drop { $0 == "_" }.reversed().drop { $0 == "_" }.reversed()
            guard !name.isEmpty else { return nil }
            bare.append(String(name))
        }
        return Array(zip(members(bare, besides: reservedCases), texts)).map {
            (name: $0.0, text: $0.1)
        }
    }

    /// The members of every enum, and cases that an optional would hide.
    private var reservedCases: Set<String> {
        language == .python
            ? ["mro", "name", "value"] : ["AllCases", "RawValue", "allCases", "hashValue", "none", "rawValue", "some"]
    }

    private static let maximumLabels = 1_000, maximumLabelBytes = 64 << 10

    private func identifier(_ name: String) -> String {
        var result = String(String.UnicodeScalarView(name.unicodeScalars.map { Self.isPart($0) ? $0 : "_" }))
        if result.isEmpty || result.unicodeScalars.first.map({ ("0"..."9").contains($0) }) == true {
            result = "_" + result
        }
        // Python changes names with two at the start inside of classes.
        while language == .python, result.hasPrefix("__") { result.removeFirst() }
        return result
    }

    private func distinct(_ name: String, from taken: Set<String>) -> String {
        var result = name
        while taken.contains(result) { result += "_" }
        return result
    }

    // MARK: Characters

    /// True for letters and digits that both languages take in identifiers, that have one form in Unicode, and that
    /// cannot be taken for others: of ASCII, and the letters of some scripts.
    private static func isPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_": true
        default: isLetter(scalar)
        }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0xD7, 0xF7: false
        // Latin-1, Greek, Cyrillic, hiragana, katakana, the main block of CJK, Hangul.
        case 0xC0...0xFF, 0x391...0x3A1, 0x3A3...0x3C9, 0x410...0x44F, 0x3041...0x3096, 0x30A1...0x30FA,
            0x4E00...0x9FFF, 0xAC00...0xD7A3:
            true
        default: false
        }
    }

    /// A string literal: characters other than printable ASCII and plain letters are escaped.
    package func literal(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "\"") { result, scalar in
            switch scalar {
            case "\\", "\"": result += "\\\(scalar)"
            case " "..."~": result.unicodeScalars.append(scalar)
            case _ where Self.isLetter(scalar): result.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16)
                switch language {
                case .swift: result += "\\u{\(digits)}"
                case .python:
                    let width = scalar.value > 0xFFFF ? 8 : 4
                    result +=
                        (width == 8 ? "\\U" : "\\u") + String(repeating: "0", count: width - digits.count) + digits
                }
            }
        } + "\""
    }

    /// A text for a comment of one line: at most 400 characters, printable ASCII and plain letters.
    package static func comment(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(400) {
            let isPlain = (" "..."~").contains(scalar) || isLetter(scalar)
            let next: Unicode.Scalar = isPlain ? scalar : scalar.properties.isWhitespace ? " " : "?"
            if next == " ", result.last == " " { continue }
            result.append(next)
        }
        // Neither language ends a line comment within the line; other tools may look for these.
        return String(result).replacing("*/", with: "* /").replacing("/*", with: "/ *")
            .replacing("\"\"\"", with: "\"\" \"")
    }

    // MARK: Reserved words

    private var reservedMembers: Set<String> {
        switch language {
        case .swift: Self.swiftWords.union(Self.swiftTypes)
        case .python: Self.pythonWords.union(Self.pythonTypes)
        }
    }

    private var reservedTypes: Set<String> {
        switch language {
        case .swift: Self.swiftWords.union(Self.swiftTypes)
        case .python: Self.pythonWords.union(Self.pythonTypes).union(Self.pythonModules)
        }
    }

    private static let swiftWords = words(
        """
        _ Any Protocol Self Type as associatedtype await break case catch class continue default defer deinit do else
        enum extension fallthrough false fileprivate for func guard if import in init inout internal is let nil operator
        precedencegroup private protocol public repeat rethrows return self static struct subscript super switch throw
        throws true try typealias var where while
        """)
    private static let swiftTypes = words(
        """
        Array Bool CaseIterable CodingKey Data Decodable Decoder DecodingError Dictionary Double Encodable Encoder
        EncodingError Error Foundation FoundationNetworking HTTPURLResponse Int Int64 JSONDecoder JSONEncoder KeyValuePairs
        NSObject Never Optional Sendable Set String Swift TimeInterval URL URLComponents URLError URLQueryItem
        URLRequest URLResponse URLSession URLSessionConfiguration URLSessionTask URLSessionTaskDelegate UInt8 Void
        """)
    private static let pythonWords = words(
        """
        False None True and as assert async await break class continue def del elif else except finally for from
        global if import in is lambda nonlocal not or pass raise return try while with yield
        """)
    private static let pythonTypes = words("bool bytes dict float int list object property str")
    private static let pythonModules = words(
        """
        ArithmeticError AttributeError BrokenPipeError ConnectionResetError DepthMap Exception IndexError KeyError Tensor
        TypeError UnicodeDecodeError ValueError annotations any isinstance len max min self super tuple
        _Element _base64 _dataclasses _enum _http _json _number _parse _list _t _text _integer _flag _value _picture
        _numbers _rows _tensor
        """)

    private static func words(_ text: String) -> Set<String> {
        Set(text.split(whereSeparator: \.isWhitespace).map(String.init))
    }
}
