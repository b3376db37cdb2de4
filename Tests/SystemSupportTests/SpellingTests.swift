internal import SystemSupport
internal import Testing

/// Suggestions for misspelled names.
@Suite struct SpellingTests {
    @Test(
        "a misspelt name gets the nearest known name as a suggestion, or none",
        arguments: [
            ("listn", "listen"), ("lsiten", "listen"), ("listen", "listen"), ("que", "queue"), ("qqqq", nil), ("", nil),
            ("modelsx", "models"), ("access-log", "access_log"),
        ] as [(String, String?)])
    func suggestion_misspeltName_isTheNearest(_ word: String, _ expected: String?) {
        #expect(Spelling.nearest(to: word, among: ["listen", "queue", "models", "access_log"]) == expected)
    }

    @Test("of two equally near names the first in alphabetical order is suggested")
    func suggestion_twoAsNear_isTheFirstByName() {
        #expect(Spelling.nearest(to: "cat", among: ["hat", "bat"]) == "bat")
        #expect(Spelling.hint(for: "cat", among: ["bat"]) == " (did you mean \"bat\"?)")
        #expect(Spelling.hint(for: "elephant", among: ["bat"]) == "")
    }

    /// One letter may always differ; otherwise a third of the word, at least two letters, but at most half of the
    /// longer word.
    @Test("a name is suggested only if one letter, or about a third of the word, differs")
    func suggestion_isOfferedWithinAThirdOfTheWord() {
        #expect(Spelling.nearest(to: "abcdefghi", among: ["abcdefxyz"]) == "abcdefxyz")
        #expect(Spelling.nearest(to: "abcdefghi", among: ["abcdewxyz"]) == nil)
        #expect(Spelling.nearest(to: "abcd", among: ["abxy"]) == "abxy")
        #expect(Spelling.nearest(to: "abcd", among: ["axyz"]) == nil)
        #expect(Spelling.nearest(to: "abcdef", among: ["abcxyz"]) == nil)
        #expect(Spelling.nearest(to: "foo", among: ["top", "iou"]) == nil)
        #expect(Spelling.nearest(to: "y", among: ["x"]) == "x")
        #expect(Spelling.nearest(to: String(repeating: "a", count: 1000), among: ["inputs"]) == nil)
    }

    @Test("suggestions ignore capitals and leading dashes")
    func capitalsAndDashesDoNotCount() {
        #expect(Spelling.nearest(to: "TOP", among: ["top"]) == "top")
        #expect(Spelling.nearest(to: "Grey", among: ["GRAY"]) == "GRAY")
        #expect(Spelling.nearest(to: "-models", among: ["--models"]) == "--models")
        #expect(Spelling.nearest(to: "--foo", among: ["--top"]) == nil)
    }
}
