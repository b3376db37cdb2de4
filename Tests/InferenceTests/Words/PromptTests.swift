import Inference
import Testing

/// The rules of labels and prompts (docs/words.md).
@Suite struct PromptTests {
    @Test("a prompt has exactly one place for the label; the braces of a label stay")
    func places() {
        #expect(Prompt("a photo of a {}.")?.text(for: "cat") == "a photo of a cat.")
        #expect(Prompt("{}")?.text(for: "a {} b") == "a {} b")
        #expect(Prompt("{{}}")?.text(for: "x") == "{x}")
        #expect(Prompt.plain.text(for: "x") == "x")
        for text in ["", "a cat", "{", "{} and {}", "{ }"] { #expect(Prompt(text) == nil, "\(text)") }
        let longest = String(repeating: "a", count: Prompt.maximumBytes - 2) + "{}"
        #expect(Prompt(longest) != nil)
        #expect(Prompt("a" + longest) == nil)
    }

    @Test("a list of labels has 1 to 1,000 different ones of 1 to 256 bytes without control characters")
    func labels() {
        #expect(LabelList.mistake(in: ["cat"]) == nil)
        #expect(LabelList.mistake(in: (0..<1_000).map { "label \($0)" }) == nil)
        // Both forms of an accent are texts of their own.
        #expect(LabelList.mistake(in: ["caf\u{E9}", "cafe\u{301}"]) == nil)
        #expect(LabelList.mistake(in: [])?.contains("found 0") == true)
        #expect(LabelList.mistake(in: (0...1_000).map { "label \($0)" })?.contains("found 1001") == true)
        #expect(LabelList.mistake(in: ["a", ""])?.contains("label 2") == true)
        #expect(LabelList.mistake(in: [String(repeating: "é", count: 128)]) == nil)
        #expect(LabelList.mistake(in: [String(repeating: "é", count: 129)])?.contains("found 258") == true)
        #expect(LabelList.mistake(in: ["a\tb"])?.contains("control") == true)
        #expect(LabelList.mistake(in: ["a", "b", "a"])?.contains("labels 1 and 3") == true)
    }
}
