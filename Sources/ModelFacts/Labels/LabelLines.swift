internal import FileFormats

/// Names in lines that may have numbers beside them.
enum LabelLines {
    /// The names: where every line has WordNet's number first, or its own number first or last, that is not part of the
    /// name.
    static func names(_ lines: [String]) -> [String] {
        let parts = lines.map { $0.split(maxSplits: 1) { $0 == " " || $0 == "\t" || $0 == "," }.map(String.init) }
        if parts.allSatisfy({ $0.count == 2 && isSynset($0[0]) }) { return parts.map { $0[1].trimmed } }
        guard lines.count > 1 else { return lines }
        for start in [0, 1] {
            for read in [afterNumber, beforeNumber] {
                let names = lines.enumerated().compactMap { read($1.trimmed, $0 + start) }
                // "class 0", "class 1" are names.
                if names.count == lines.count, Set(names).count > 1 || names.count == 1 { return names }
            }
        }
        return lines
    }

    /// WordNet's number of a noun: `n01440764`.
    static func isSynset(_ word: String) -> Bool {
        word.utf8.count == 9 && word.hasPrefix("n") && word.utf8.dropFirst().allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    /// `0 cat`, `0: cat`, `0:cat`, `0,cat`, `0. cat`, `0) cat`, `0 - cat`.
    private static func afterNumber(_ line: String, _ number: Int) -> String? {
        let digits = line.prefix { $0.isASCII && $0.isNumber }
        guard Int(digits) == number else { return nil }
        let rest = line.dropFirst(digits.count)
        guard let first = rest.first, " \t:,;.)=|".contains(first) else { return nil }
        // A point belongs to the number unless something stands apart from it.
        if first == ".", !rest.dropFirst().hasPrefix(" ") { return nil }
        var name = first == " " || first == "\t" ? String(rest).trimmed : String(rest.dropFirst()).trimmed
        for mark in ["- ", ": ", "= ", "| "] where name.hasPrefix(mark) { name = String(name.dropFirst(2)).trimmed }
        return name.isEmpty ? nil : name
    }

    /// `cat 0`, `cat: 0`, `cat,0`.
    private static func beforeNumber(_ line: String, _ number: Int) -> String? {
        let digits = line.reversed().prefix { $0.isASCII && $0.isNumber }
        guard Int(String(digits.reversed())) == number else { return nil }
        let rest = line.dropLast(digits.count)
        guard let last = rest.last, " \t:,;=|".contains(last) else { return nil }
        var name = String(rest).trimmed
        while let mark = name.last, ":,;=|".contains(mark) { name = String(name.dropLast()).trimmed }
        return name.isEmpty ? nil : name
    }
}
