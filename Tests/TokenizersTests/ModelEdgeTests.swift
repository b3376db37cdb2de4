import Foundation
import Testing
import Tokenizers

/// Models at their limits. The ids are those of the `tokenizers` package 0.23.3.
@Suite struct ModelEdgeTests {
    private func ids(_ json: String, _ text: String) throws -> [UInt32] {
        try Tokenizer(json: Array(json.utf8)).encode(text).ids
    }

    @Test(
        "a word of the maximum number of characters has its tokens, and a longer one is unknown",
        arguments: [("hello", [1]), ("hell", [2]), ("helloo", [0]), ("hello hell", [1, 2])] as [(String, [UInt32])])
    func longestWord_hasTokens(_ text: String, _ expected: [UInt32]) throws {
        let json = """
            {"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordPiece", "unk_token": "[U]",
             "continuing_subword_prefix": "##", "max_input_chars_per_word": 5,
             "vocab": {"[U]": 0, "hello": 1, "hell": 2, "##o": 3}}}
            """
        #expect(try ids(json, text) == expected)
    }

    @Test(
        "of ways with equal sums of scores, the one with the longest last token is taken",
        arguments: [("ab", [3]), ("abc", [6]), ("aab", [1, 3])] as [(String, [UInt32])])
    func equalSums_takeFirstWay(_ text: String, _ expected: [UInt32]) throws {
        let json = """
            {"version": "1.0", "model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0.0], ["a", -1.0], ["b", -1.0],
             ["ab", -2.0], ["c", -4.0], ["bc", -5.0], ["abc", -6.0]]}}
            """
        #expect(try ids(json, text) == expected)
    }
}
