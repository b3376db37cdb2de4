/// Finds the known name nearest to an unknown one.
package enum Spelling {
    /// A suffix for messages, ` (did you mean "NAME"?)`; empty if no name is near.
    package static func hint(for word: String, among names: some Sequence<String>) -> String {
        nearest(to: word, among: names).map { " (did you mean \"\($0)\"?)" } ?? ""
    }

    /// The name nearest to `word`, ignoring case; nil if no name is near. An edit distance of 1 is near; a greater one
    /// is near up to a third of the letters (at least 2), and up to half of the longer word. Leading dashes of flags
    /// are ignored.
    package static func nearest(to word: String, among names: some Sequence<String>) -> String? {
        let letters = letters(of: word)
        let ranked = names.map { (name: $0, distance: distance(letters, Self.letters(of: $0))) }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        guard let ranked, ranked.distance <= max(2, word.utf8.count / 3) else { return nil }
        let longer = max(letters.count, Self.letters(of: ranked.name).count)
        return ranked.distance <= 1 || 2 * ranked.distance <= longer ? ranked.name : nil
    }

    private static func letters(of word: String) -> [UInt8] {
        word.utf8.drop { $0 == UInt8(ascii: "-") }.prefix(64).map { (65...90).contains($0) ? $0 + 32 : $0 }
    }

    /// The edit distance (insert, delete, replace, swap two neighbors), computed row by row. Words are truncated to 64
    /// bytes: names are short.
    package static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
        let first = first.prefix(64), second = second.prefix(64)
        var before = Array(0...second.count), row = before
        for (i, a) in first.enumerated() {
            var next = [i + 1]
            for (j, b) in second.enumerated() {
                var minimum = min(row[j] + (a == b ? 0 : 1), next[j] + 1, row[j + 1] + 1)
                if i > 0, j > 0, a == second[j - 1], b == first[i - 1] { minimum = min(minimum, before[j - 1] + 1) }
                next.append(minimum)
            }
            (before, row) = (row, next)
        }
        return row[second.count]
    }
}
