import TestSupport
import Testing
import Tokenizers

/// Every character of Unicode, assigned or not, with every part: the table of characters is that of the package.
@Suite struct EveryCharacterTests {
    /// The text around each character: letters, a mark that moves before others, and marks that compose.
    private static let frames = [("a", "b"), ("a", "\u{301}"), ("e\u{323}", "\u{302} "), ("", "\u{1161}"), ("'", "'S")]

    /// The parts that depend on the properties of characters.
    private static let parts: Set = [
        "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "StripAccents", "bert 2", "bert 3", "bert 5", "precompiled",
        "split llama 3", "split gpt-4o", "BertPreTokenizer", "Whitespace", "each digit", "added, normalized",
    ]

    @Test(
        "every character has the package's ids with every part, between other characters",
        .enabled(if: PackagePython.isAvailable, "\(PackagePython.absence)"))
    func everyCharacter_hasIDsOfPackage() throws {
        let cases = try Fixtures().cases.filter { Self.parts.contains($0.name) }
        #expect(cases.count == Self.parts.count)
        let frames = Self.frames.prefix(LongTests.times(1, long: Self.frames.count))
        let all = (0..<0x110000).compactMap { Unicode.Scalar(UInt32($0)) }
        for (number, one) in cases.enumerated() {
            let tokenizer = try Tokenizer(json: one.json)
            // A short run takes other characters with each part.
            let step = LongTests.times(64, long: 1)
            let some = all.enumerated().filter { $0.offset / 256 % step == number % step }.map(\.element)
            let texts = frames.flatMap { before, after in
                stride(from: 0, to: some.count, by: 128).map { start in
                    some[start..<min(start + 128, some.count)].map { before + String($0) + after }.joined(
                        separator: "\n")
                }
            }
            let found = try texts.map { try tokenizer.encode($0).ids }
            let wrong = try PackagePython.differences(texts, one.json, found: found)
            #expect(wrong.isEmpty, "\(one.name): \(wrong.prefix(3).map { texts[$0].unicodeScalars.prefix(12) })")
        }
    }
}
