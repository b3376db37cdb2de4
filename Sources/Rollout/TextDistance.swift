/// The difference of two texts: Levenshtein's edit distance of their Unicode scalars (characters), or, for long texts
/// that differ far apart, an upper bound of it by lines.
package struct TextDistance: Sendable {
    private let expected: [Unicode.Scalar], found: [Unicode.Scalar]
    /// The number of characters that both texts begin with, and of those that both end with after these.
    private let start: Int, end: Int

    /// The number of characters, without those that both texts begin and end with, from which texts are compared by
    /// lines (``lineEdits``): the time of an exact comparison grows with the square.
    package static let longest = 20_000

    package init(_ expected: String, _ found: String) {
        let (a, b) = (Array(expected.unicodeScalars), Array(found.unicodeScalars))
        let shorter = min(a.count, b.count)
        var start = 0, end = 0
        while start < shorter, a[start] == b[start] { start += 1 }
        while end < shorter - start, a[a.count - 1 - end] == b[b.count - 1 - end] { end += 1 }
        (self.expected, self.found, self.start, self.end) = (a, b, start, end)
    }

    /// The number of characters of the longer text.
    package var longer: Int { max(expected.count, found.count) }

    /// The edit distance if it is at most `limit`; otherwise nil. Of long texts, ``lineEdits`` stands for it.
    package func edits(within limit: Int) -> Int? {
        let a = expected[start..<expected.count - end], b = found[start..<found.count - end]
        guard abs(a.count - b.count) <= limit else { return nil }
        guard max(a.count, b.count) < Self.longest else {
            let edits = lineEdits
            return edits <= limit ? edits : nil
        }
        return Self.distance(a, b, within: limit)
    }

    /// The dynamic program in two rows, in the band of cells that can be within the limit (Ukkonen 1985).
    private static func distance(
        _ a: ArraySlice<Unicode.Scalar>, _ b: ArraySlice<Unicode.Scalar>, within limit: Int
    ) -> Int? {
        let b = Array(b), far = limit + 1
        var above = (0...b.count).map { min($0, far) }
        var row = [Int](repeating: far, count: b.count + 1)
        for (index, scalar) in a.enumerated() {
            let line = index + 1
            let first = max(1, line - limit), last = min(b.count, line + limit)
            guard first <= last || line <= limit else { return nil }
            row[first - 1] = first == 1 ? min(line, far) : far
            var least = row[first - 1]
            // The last row's band ends one column before this one's.
            if last == line + limit { above[last] = far }
            if first <= last {
                for column in first...last {
                    let kept = above[column - 1] + (b[column - 1] == scalar ? 0 : 1)
                    let value = min(kept, above[column] + 1, row[column - 1] + 1, far)
                    row[column] = value
                    least = min(least, value)
                }
            }
            guard least <= limit else { return nil }
            swap(&above, &row)
        }
        return above[b.count] <= limit ? above[b.count] : nil
    }

    /// The edit distance of the texts as lists of lines, in characters: a line that was added or removed counts with
    /// all its characters and its line feed, a changed one with the longer one's. At least the edit distance. Texts
    /// with too many lines count as wholly different.
    package var lineEdits: Int {
        func lines(_ text: [Unicode.Scalar]) -> [[Unicode.Scalar]] {
            text.split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
        }
        var (a, b) = (lines(expected)[...], lines(found)[...])
        while let one = a.first, one == b.first { (a, b) = (a.dropFirst(), b.dropFirst()) }
        while let one = a.last, one == b.last { (a, b) = (a.dropLast(), b.dropLast()) }
        guard a.count <= Self.mostLines, b.count <= Self.mostLines else { return longer }
        // Lines are compared by number: most of them repeatedly.
        var numbers: [[Unicode.Scalar]: Int] = [:]
        func numbered(_ lines: ArraySlice<[Unicode.Scalar]>) -> [(number: Int, length: Int)] {
            lines.map { line in
                let number = numbers[line] ?? numbers.count
                numbers[line] = number
                return (number, line.count)
            }
        }
        let (before, after) = (numbered(a), numbered(b))
        var above = [0], row = [Int](repeating: 0, count: after.count + 1)
        for line in after { above.append(above[above.count - 1] + line.length + 1) }
        for one in before {
            row[0] = above[0] + one.length + 1
            for (column, other) in after.enumerated() {
                let changed = one.number == other.number ? 0 : max(one.length, other.length)
                row[column + 1] = min(
                    above[column] + changed, above[column + 1] + one.length + 1, row[column] + other.length + 1)
            }
            swap(&above, &row)
        }
        return min(longer, above[after.count])
    }

    /// The maximum number of lines of which ``lineEdits`` compares each with each.
    private static let mostLines = 4_000

    /// The texts from shortly before their first difference.
    /// - Parameter count: the maximum number of characters.
    package func firstDifference(of count: Int) -> (expected: String, found: String) {
        func part(_ text: [Unicode.Scalar]) -> String {
            let from = max(0, min(start, text.count) - count / 2)
            let shown = String(String.UnicodeScalarView(text[from..<min(text.count, from + count)]))
            return (from > 0 ? "…" : "") + shown.map { $0.isNewline ? " " : String($0) }.joined()
                + (from + count < text.count ? "…" : "")
        }
        return (part(expected), part(found))
    }
}
