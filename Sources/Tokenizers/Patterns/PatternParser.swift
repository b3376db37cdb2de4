/// Reads a pattern in the syntax of Oniguruma, which the `tokenizers` package uses: the parts of it that tokenizers
/// have. Other parts are refused by name. A pattern of a file is never run by backtracking.
struct PatternParser {
    /// The maximum number of characters of a pattern, and of groups around a part.
    static let maximumLength = 10_000, maximumDepth = 32
    /// The maximum number of a counted repetition.
    static let maximumCount = 1_000

    private let text: [Unicode.Scalar]
    private var place = 0
    private var depth = 0
    private var ignoresCase = false

    private init(_ pattern: String) { text = Array(pattern.unicodeScalars) }

    static func parse(_ pattern: String) throws(TokenizerProblem) -> PatternNode {
        var parser = PatternParser(pattern)
        guard parser.text.count <= maximumLength else {
            throw .tooLarge("a pattern has \(parser.text.count) characters, the limit is \(maximumLength)")
        }
        let node = try parser.alternatives()
        guard parser.place == parser.text.count else {
            throw parser.unsupported("a closing parenthesis without a group")
        }
        guard !node.canBeEmpty else { throw parser.unsupported("a match of no characters") }
        return node
    }

    private var next: Unicode.Scalar? { place < text.count ? text[place] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == character else { return false }
        place += 1
        return true
    }

    private mutating func take(_ word: String) -> Bool {
        guard text[place...].starts(with: word.unicodeScalars) else { return false }
        place += word.unicodeScalars.count
        return true
    }

    private func unsupported(_ part: String) -> TokenizerProblem {
        var shown = ""
        shown.unicodeScalars.append(contentsOf: text.prefix(80))
        return .unsupported(
            "the pattern \"\(shown)\(text.count > 80 ? "…" : "")\" has \(part) at character \(place + 1); supported are "
                + "characters, sets, \\p{…}, \\s, \\S, \\d, \\D, groups, |, ?, *, +, {n,m}, (?i:…), and (?=…) and (?!…) "
                + "of one character")
    }

    // MARK: Structure

    private mutating func alternatives() throws(TokenizerProblem) -> PatternNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else {
            throw unsupported("more than \(Self.maximumDepth) groups in one another")
        }
        var parts = [try sequence()]
        while take("|") { parts.append(try sequence()) }
        return parts.count == 1 ? parts[0] : .alternatives(parts)
    }

    private mutating func sequence() throws(TokenizerProblem) -> PatternNode {
        var parts: [PatternNode] = []
        while let character = next, character != "|", character != ")" {
            let start = place
            let part = try atom()
            if ignoresCase { try refuseFoldedPairs(start) }
            parts.append(try repeated(part))
        }
        return parts.count == 1 ? parts[0] : .sequence(parts)
    }

    /// Some pairs of letters are equal to one character if case is ignored: ß and ss.
    private func refuseFoldedPairs(_ start: Int) throws(TokenizerProblem) {
        guard start > 0 else { return }
        let pair = String(String.UnicodeScalarView(text[start - 1...start])).lowercased()
        if ["ss", "st", "ff", "fi", "fl"].contains(pair) { throw unsupported("\"\(pair)\" without regard to case") }
    }

    private mutating func repeated(_ part: PatternNode) throws(TokenizerProblem) -> PatternNode {
        var minimum = 0, maximum: Int?
        switch next {
        case "?": maximum = 1
        case "*": break
        case "+": minimum = 1
        case "{":
            guard let counts = try counts() else { return part }
            (minimum, maximum) = counts
            place -= 1
        default: return part
        }
        place += 1
        guard !part.canBeEmpty else { throw unsupported("a repetition of a part that can be empty") }
        let isLazy = take("?")
        if let next, "+*?{".unicodeScalars.contains(next) { throw unsupported("a repetition of a repetition") }
        return .repetition(part, minimum: minimum, maximum: maximum, isLazy: isLazy)
    }

    /// The counts of `{n}`, `{n,}`, `{n,m}` or `{,m}`; nil if the brace is a character.
    private mutating func counts() throws(TokenizerProblem) -> (Int, Int?)? {
        guard let end = text[place...].firstIndex(of: "}") else { throw unsupported("\"{\" without \"}\"") }
        let parts = text[(place + 1)..<end].split(separator: ",", omittingEmptySubsequences: false)
        let numbers = parts.map { Int(String(String.UnicodeScalarView($0))) }
        guard parts.count == 1 || parts.count == 2, let first = parts[0].isEmpty ? 0 : numbers[0],
            let last = parts.count == 1 ? first : numbers[1] ?? (parts[1].isEmpty ? Int.max : nil),
            !(parts[0].isEmpty && (parts.count == 1 || parts[1].isEmpty)), first >= 0, first <= last,
            first <= Self.maximumCount, last <= Self.maximumCount || last == .max
        else { throw unsupported("a count that is not 0 to \(Self.maximumCount)") }
        place = end + 1
        return (first, last == .max ? nil : last)
    }

    private mutating func atom() throws(TokenizerProblem) -> PatternNode {
        guard let character = next else { throw unsupported("an end instead of a character") }
        switch character {
        case "(": return try group()
        case "[":
            if ignoresCase { throw unsupported("a set without regard to case") }
            return .character(try set(depth: 0).sorted())
        case "\\": return .character(try escape(inSet: false))
        case ".":
            place += 1
            var any = CharacterClass("\n")
            any.isNegated = true
            return .character(any)
        case "^":
            place += 1
            return .lineStart
        case "$":
            place += 1
            return .lineEnd
        case "*", "+", "?": throw unsupported("a repetition of nothing")
        default:
            place += 1
            return .character(try folded(character))
        }
    }

    /// A character, with its other cases if they count as equal.
    private func folded(_ character: Unicode.Scalar) throws(TokenizerProblem) -> CharacterClass {
        var result = CharacterClass(character)
        guard ignoresCase else { return result }
        guard character.isASCII else { throw unsupported("a character beyond ASCII without regard to case") }
        for other in [character.properties.lowercaseMapping, character.properties.uppercaseMapping] {
            for scalar in other.unicodeScalars { result.formUnion(CharacterClass(scalar)) }
        }
        // The long s and the Kelvin sign.
        if character == "s" || character == "S" { result.formUnion(CharacterClass("\u{17F}")) }
        if character == "k" || character == "K" { result.formUnion(CharacterClass("\u{212A}")) }
        return result.sorted()
    }

    private mutating func group() throws(TokenizerProblem) -> PatternNode {
        let outer = ignoresCase
        defer { ignoresCase = outer }
        if take("(?:") {
            // Only grouped.
        } else if take("(?i:") {
            ignoresCase = true
        } else if take("(?=") || take("(?!") {
            let isNegative = text[place - 1] == "!"
            guard case .character(let set) = try alternatives(), take(")") else {
                throw unsupported("a lookahead of more than one character")
            }
            return .lookahead(set, isNegative: isNegative)
        } else if text[place...].starts(with: "(?".unicodeScalars) {
            throw unsupported("a group that begins with \"(?\"")
        } else {
            place += 1
        }
        let inner = try alternatives()
        guard take(")") else { throw unsupported("a group without its closing parenthesis") }
        return inner
    }

    // MARK: Sets

    private mutating func set(depth: Int) throws(TokenizerProblem) -> CharacterClass {
        place += 1
        var result = CharacterClass()
        let isNegated = take("^")
        guard next != "]" else { throw unsupported("an empty set") }
        while let character = next, character != "]" {
            if character == "[" { throw unsupported("a set in a set") }
            if text[place...].starts(with: "&&".unicodeScalars) { throw unsupported("an intersection of sets") }
            let first = try member()
            guard next == "-", place + 1 < text.count, text[place + 1] != "]" else {
                result.formUnion(first)
                continue
            }
            place += 1
            let last = try member()
            guard let low = first.only, let high = last.only, low <= high else {
                throw unsupported("a range that is not one of two characters in their order")
            }
            result.ranges.append(low...high)
        }
        guard take("]") else { throw unsupported("a set without its closing bracket") }
        result.isNegated = isNegated
        return result
    }

    private mutating func member() throws(TokenizerProblem) -> CharacterClass {
        guard let character = next else { throw unsupported("a set without its closing bracket") }
        if character == "\\" { return try escape(inSet: true) }
        place += 1
        return CharacterClass(character)
    }

    // MARK: Escapes

    private mutating func escape(inSet: Bool) throws(TokenizerProblem) -> CharacterClass {
        place += 1
        guard let letter = next else { throw unsupported("\"\\\" at its end") }
        place += 1
        switch letter {
        case "s": return CharacterClass(hasWhite: true)
        case "S": return CharacterClass(hasOtherThanWhite: true)
        case "d": return CharacterClass(categories: CharacterCategory.nd.bit)
        case "D": return CharacterClass(categories: ~CharacterCategory.nd.bit)
        case "p", "P": return try property(isNegated: letter == "P")
        case "n": return CharacterClass("\n")
        case "r": return CharacterClass("\r")
        case "t": return CharacterClass("\t")
        case "f": return CharacterClass("\u{C}")
        case "v": return CharacterClass("\u{B}")
        case "u": return CharacterClass(try code(digits: 4...4))
        case "x":
            guard take("{") else { return CharacterClass(try code(digits: 1...2)) }
            let character = try code(digits: 1...8)
            guard take("}") else { throw unsupported("\"\\x{\" without \"}\"") }
            return CharacterClass(character)
        default:
            let isName = letter.properties.isAlphabetic || letter.properties.numericType != nil
            if isName {
                place -= 1
                throw unsupported("\"\\\(letter)\"")
            }
            return inSet ? CharacterClass(letter) : try folded(letter)
        }
    }

    private mutating func property(isNegated: Bool) throws(TokenizerProblem) -> CharacterClass {
        let start = place
        guard take("{"), let end = text[place...].firstIndex(of: "}") else { throw unsupported("\"\\p\" without {…}") }
        let name = String(String.UnicodeScalarView(text[place..<end]))
        guard let categories = CharacterCategory.named(name) else {
            place = start
            throw unsupported("\"\\p{\(name.prefix(40))}\", which is not a general category,")
        }
        place = end + 1
        return CharacterClass(categories: isNegated ? ~categories : categories)
    }

    private mutating func code(digits: ClosedRange<Int>) throws(TokenizerProblem) -> Unicode.Scalar {
        let start = place
        while place - start < digits.upperBound, let next, next.properties.isASCIIHexDigit { place += 1 }
        guard place - start >= digits.lowerBound,
            let value = UInt32(String(String.UnicodeScalarView(text[start..<place])), radix: 16),
            let character = Unicode.Scalar(value)
        else { throw unsupported("a number that is not a character's") }
        return character
    }
}

extension CharacterClass {
    /// The character of a set that has only this one; nil for others.
    fileprivate var only: UInt32? {
        guard ranges.count == 1, categories == 0, !hasWhite, !hasOtherThanWhite, let range = ranges.first,
            range.count == 1
        else { return nil }
        return range.lowerBound
    }
}
