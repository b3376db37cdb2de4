import Testing
import Tools

/// The labels of `ocelli classify --labels`.
@Suite struct LocalLabelsTests {
    private static func labels(_ list: String?, _ single: [String] = [], prompt: String? = nil) -> LocalLabels {
        var labels = LocalLabels()
        (labels.list, labels.single, labels.prompt) = (list, single, prompt)
        return labels
    }

    @Test(
        "a mistake in labels or the prompt is named with its flag",
        arguments: [
            ("a,,b", [], nil, "label 2: expected 1 to 256 bytes"), ("a,b", ["a"], nil, "labels 1 and 3 are both \"a\""),
            ("", [], nil, "label 1: expected 1 to 256 bytes"), (nil, ["x\ny"], nil, "label 1 has a control character"),
            ("a,b", [], "a photo", "--prompt: expected"), ("a,b", [], "{} and {}", "--prompt: expected"),
        ] as [(String?, [String], String?, String)])
    func mistakes(_ list: String?, _ single: [String], _ prompt: String?, _ words: String) {
        let mistake = Self.labels(list, single, prompt: prompt).mistake
        #expect(mistake?.contains(words) == true, "\(mistake ?? "none")")
    }

    @Test("a list is divided at commas and not trimmed, and single labels may have commas")
    func good() {
        #expect(Self.labels("a, a").mistake == nil)
        #expect(Self.labels("a,b", ["a,b", "black, white"], prompt: "{}").mistake == nil)
        #expect(Self.labels(nil).isEmpty && !Self.labels(nil, prompt: "{}.").isEmpty && !Self.labels("").isEmpty)
    }
}
