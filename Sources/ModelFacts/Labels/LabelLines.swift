internal import FileFormats

/// Reads names from lines that may also have numbers.
enum LabelLines {
    /// The names. If every line begins with WordNet's number, that is removed; if every line begins or ends with the
    /// class number, the names are sorted by it.
    static func names(_ lines: [String]) throws(FormatError) -> [String] {
        let parts = lines.map { $0.split(maxSplits: 1) { $0 == " " || $0 == "\t" || $0 == "," }.map(String.init) }
        if parts.allSatisfy({ $0.count == 2 && isSynset($0[0]) }) { return parts.map { $0[1].trimmed } }
        let filled = lines.map(\.trimmed).filter { !$0.isEmpty }
        for (read, takesOne) in [(afterNumber, true), (beforeNumber, false)] {
            let pairs = filled.compactMap(read)
            guard pairs.count == filled.count else { continue }
            let numbers = pairs.map(\.number), names = Set(pairs.map(\.name))
            // "class 0", "class 1" are names.
            guard names.count > 1 || takesOne && pairs.count == 1 else { continue }
            if NumberedLabels.areClasses(numbers) { return try NumberedLabels.names(pairs) }
            // "1 dollar", "5 dollars" are names; a long list that skips few numbers has class numbers.
            if pairs.count >= fewest, Set(numbers).count == pairs.count, numbers.max() ?? 0 < 2 * pairs.count {
                _ = try NumberedLabels.names(pairs)
            }
        }
        return lines
    }

    /// The number of numbered lines from which on the numbers are hardly part of the names.
    private static let fewest = 10

    /// True for WordNet's number of a noun: `n01440764`.
    static func isSynset(_ word: String) -> Bool {
        word.utf8.count == 9 && word.hasPrefix("n") && word.utf8.dropFirst().allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    /// `0 cat`, `0: cat`, `0:cat`, `0,cat`, `0. cat`, `0) cat`, `0 - cat`.
    private static func afterNumber(_ line: String) -> (number: Int, name: String)? {
        let digits = line.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits) else { return nil }
        let rest = line.dropFirst(digits.count)
        guard let first = rest.first, " \t:,;.)=|".contains(first) else { return nil }
        // A point is part of the number unless a space follows.
        if first == ".", !rest.dropFirst().hasPrefix(" ") { return nil }
        var name = first == " " || first == "\t" ? String(rest).trimmed : String(rest.dropFirst()).trimmed
        for mark in ["- ", ": ", "= ", "| "] where name.hasPrefix(mark) { name = String(name.dropFirst(2)).trimmed }
        return name.isEmpty ? nil : (number, name)
    }

    /// `cat 0`, `cat: 0`, `cat,0`.
    private static func beforeNumber(_ line: String) -> (number: Int, name: String)? {
        let digits = line.reversed().prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(String(digits.reversed())) else { return nil }
        let rest = line.dropLast(digits.count)
        guard let last = rest.last, " \t:,;=|".contains(last) else { return nil }
        var name = String(rest).trimmed
        while let mark = name.last, ":,;=|".contains(mark) { name = String(name.dropLast()).trimmed }
        return name.isEmpty ? nil : (number, name)
    }
}
