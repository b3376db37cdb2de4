import Foundation
import TestSupport
import Testing
import Tokenizers

/// Normal forms of random texts, compared with those of Python's `unicodedata`.
@Suite struct NormalizationTests {
    /// Characters of Unicode 9, which any Python knows, with marks and parts of Hangul as often as letters.
    private static let kinds: [[Unicode.Scalar]] = {
        let known = (UInt32(0)..<0x30000).compactMap(Unicode.Scalar.init).filter { character in
            character.properties.age.map { $0.major <= 9 } ?? false
        }
        let marks = known.filter { $0.properties.canonicalCombiningClass != .notReordered }
        let hangul = known.filter { (0x1100...0x11FF).contains($0.value) || (0xAC00...0xAC70).contains($0.value) }
        let latin = known.filter { $0.value < 0x250 || (0x1E00...0x1EFF).contains($0.value) }
        return [known, marks, marks.filter { $0.value < 0x370 }, hangul, latin, ["a", "e", "o", "s", "\u{5D0}"]]
    }()
    private static let forms: [NormalizationForm] = [.nfc, .nfd, .nfkc, .nfkd]
    private static let program = """
        import json, sys, unicodedata
        json.dump([[list(map(ord, unicodedata.normalize(form, "".join(map(chr, text))))) for form in
            ("NFC", "NFD", "NFKC", "NFKD")] for text in json.load(sys.stdin)], sys.stdout)
        """

    @Test("random texts have Python's normal forms", .enabled(if: Shell.has("python3"), "needs python3"))
    func randomTexts_haveNormalFormsOfPython() throws {
        var random = SplitMix(seed: SplitMix.seed(for: "randomTexts_haveNormalFormsOfPython"))
        let texts = (0..<LongTests.times(5_000, long: 100_000)).map { _ in
            // More than 16 marks are sorted in another way.
            let count = random.chance(5) ? 60 : Int.random(in: 1...8, using: &random)
            let kind = Self.kinds[Int.random(in: 0..<Self.kinds.count, using: &random)]
            return (0..<count).map { _ in
                let other = Self.kinds[Int.random(in: 0..<Self.kinds.count, using: &random)]
                let characters = random.chance(50) ? kind : other
                return characters[Int.random(in: 0..<characters.count, using: &random)]
            }
        }
        let input = try JSONEncoder().encode(texts.map { $0.map(\.value) })
        let run = try Shell.run("python3", ["-c", Self.program], input: input)
        let expected = try JSONDecoder().decode([[[UInt32]]].self, from: run.output)
        try #require(expected.count == texts.count)
        for (text, expected) in zip(texts, expected) {
            for (form, expected) in zip(Self.forms, expected) {
                let found = form.normalized(text, CharacterTable.shared)
                #expect(found.map(\.value) == expected, "\(form) of \(text)")
            }
        }
    }
}
