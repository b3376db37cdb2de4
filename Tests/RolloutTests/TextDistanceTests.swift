import Rollout
import TestSupport
import Testing

/// The edit distance of texts, compared with a literal evaluation of Levenshtein's definition.
@Suite struct TextDistanceTests {
    /// The definition, with all cells.
    private static func levenshtein(_ a: String, _ b: String) -> Int {
        let (a, b) = (Array(a.unicodeScalars), Array(b.unicodeScalars))
        var cells = [[Int]](repeating: [Int](repeating: 0, count: b.count + 1), count: a.count + 1)
        for row in 0...a.count {
            for column in 0...b.count {
                if row == 0 || column == 0 {
                    cells[row][column] = row + column
                } else {
                    let changed = cells[row - 1][column - 1] + (a[row - 1] == b[column - 1] ? 0 : 1)
                    cells[row][column] = min(changed, cells[row - 1][column] + 1, cells[row][column - 1] + 1)
                }
            }
        }
        return cells[a.count][b.count]
    }

    @Test(
        "the distance of known pairs is that of the literature",
        arguments: [
            ("kitten", "sitting", 3), ("saturday", "sunday", 3), ("flaw", "lawn", 2), ("", "abc", 3), ("abc", "abc", 0),
            ("intention", "execution", 5),
        ])
    func knownPairs(_ a: String, _ b: String, _ edits: Int) {
        #expect(TextDistance(a, b).edits(within: edits) == edits)
        #expect(TextDistance(b, a).edits(within: edits + 7) == edits)
        if edits > 0 { #expect(TextDistance(a, b).edits(within: edits - 1) == nil) }
    }

    /// Random texts of few letters, so that distances are far below the lengths; each within every limit.
    @Test("the distance is that of the definition, and nil beyond the limit, for random texts and all limits")
    func randomTexts() {
        var random = SplitMix(seed: 58)
        func text(_ longest: Int) -> String {
            String((0..<Int(random.next() % UInt64(longest + 1))).map { _ in Array("ab \nç")[Int(random.next() % 5)] })
        }
        for round in 0..<400 {
            let a = text(24), b = round % 3 == 0 ? String(a.reversed()) : round % 3 == 1 ? text(24) : a + text(3)
            let edits = Self.levenshtein(a, b)
            for limit in 0...30 {
                #expect(
                    TextDistance(a, b).edits(within: limit) == (edits <= limit ? edits : nil), "\(a)|\(b) \(limit)")
            }
            #expect(TextDistance(a, b).lineEdits >= edits, "\(a)|\(b)")
        }
    }

    /// A letter with an accent as one code point, and as two.
    @Test("texts are compared by code points, not by what looks alike")
    func codePoints() {
        #expect(TextDistance("caf\u{E9}", "cafe\u{301}").edits(within: 9) == 2)
        #expect(TextDistance("cafe\u{301}", "cafe").edits(within: 9) == 1)
        #expect(TextDistance("a\r\nb", "a\nb").edits(within: 9) == 1)
    }

    @Test("lines that differ count with all their characters, and a moved line as removed and added")
    func lines() {
        #expect(TextDistance("one\ntwo\nthree", "one\ntwo\nthree").lineEdits == 0)
        #expect(TextDistance("one\ntwo\nthree", "one\ntwx\nthree").lineEdits == 3)
        #expect(TextDistance("one\ntwo\nthree", "one\nthree").lineEdits == 4)
        #expect(TextDistance("one\nthree", "one\nlonger\nthree").lineEdits == 7)
        #expect(TextDistance("ab\ncdefg\nh", "cdefg\nab\nh").lineEdits == 6)
        #expect(TextDistance("a", "b").lineEdits == 1)
    }

    @Test("long texts that differ at both ends are compared by lines, in bounded time")
    func longTexts() {
        let lines = (0..<3_000).map { "line \($0) of a long text" }
        let text = lines.joined(separator: "\n")
        func changed(_ numbers: [Int]) -> String {
            var lines = lines
            for number in numbers { lines[number] += "!" }
            return lines.joined(separator: "\n")
        }
        // Two characters differ; the lines have 22 and 25, with the mark.
        #expect(TextDistance(text, changed([0, 2_999])).edits(within: 2_000) == 22 + 25)
        #expect(TextDistance(text, changed([0, 2_999])).edits(within: 46) == nil)
        // Near each other, they are compared by characters.
        #expect(TextDistance(text, changed([10, 20])).edits(within: 2) == 2)
        // Too many lines: as different as texts can be.
        let many = String(repeating: "a\n", count: 30_000)
        #expect(TextDistance("x" + many + "y", "z" + many + "w").edits(within: 1_200) == nil)
    }

    @Test("the first difference is shown with the text around it, without line feeds")
    func firstDifference() {
        let (expected, found) = TextDistance("ab\ncd", "ab\ncx").firstDifference(of: 40)
        #expect(expected == "ab cd" && found == "ab cx")
        let long = String(repeating: "0123456789", count: 10)
        let words = TextDistance(long + "abc" + long, long + "xbc" + long).firstDifference(of: 10)
        #expect(words.expected == "…56789abc01…" && words.found == "…56789xbc01…")
    }
}
