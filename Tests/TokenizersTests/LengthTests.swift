import Testing
import Tokenizers

/// Truncation and padding that callers state, and those of configurations.
@Suite struct LengthTests {
    private static let json = """
        {"model": {"type": "WordLevel", "vocab": {"?": 0, "a": 1, "b": 2, "p": 7}, "unk_token": "?"},
         "pre_tokenizer": {"type": "Whitespace"},
         "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
         "added_tokens": [{"id": 3, "content": "[N]", "single_word": false, "lstrip": false, "rstrip": false,
                           "normalized": false, "special": true}],
         "post_processor": {"type": "BertProcessing", "cls": ["c", 8], "sep": ["s", 9]}}
        """

    private func tokenizer() throws -> Tokenizer { try Tokenizer(json: Array(Self.json.utf8)) }

    @Test("a text is cut at the length of the caller, the file's length, or not at all")
    func texts_areCutAtLength() throws {
        let tokenizer = try tokenizer()
        #expect(tokenizer.truncation == Truncation(maximumLength: 4) && tokenizer.padding == nil)
        #expect(try tokenizer.encode("a b a").ids == [8, 1, 2, 9])
        #expect(try tokenizer.encode("a b a").isTruncated && !tokenizer.encode("a b").isTruncated)
        #expect(try tokenizer.encode("a b a", truncation: nil, padding: nil).ids == [8, 1, 2, 1, 9])
        let left = try tokenizer.encode("a b b", truncation: Truncation(maximumLength: 3, isLeft: true), padding: nil)
        #expect(left.ids == [8, 2, 9] && left.isTruncated)
        for length in [-1, 0, 1, 2] {
            let none = try tokenizer.encode("a", truncation: Truncation(maximumLength: length), padding: nil)
            #expect(none.ids == [8, 9] && none.isTruncated)
        }
    }

    @Test("texts of a batch are filled up to the longest one, to a length, or to a multiple")
    func batches_areFilled() throws {
        let tokenizer = try tokenizer(), padding = Padding(length: nil, id: 7, typeID: 1)
        let batch = try tokenizer.encode(batch: ["a", "", "a b"], truncation: nil, padding: padding)
        #expect(batch.map(\.ids) == [[8, 1, 9, 7], [8, 9, 7, 7], [8, 1, 2, 9]])
        #expect(batch.map(\.mask) == [[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
        #expect(batch[0].typeIDs == [0, 0, 0, 1] && batch.map(\.tokenCount) == [3, 2, 4])
        let fixed = Padding(length: 5, multiple: 4, isLeft: true, id: 7)
        #expect(try tokenizer.encode("a", truncation: nil, padding: fixed).ids == [7, 7, 7, 7, 7, 8, 1, 9])
        let endless = Padding(length: Int.max, multiple: 3, id: 7)
        let length = try tokenizer.encode("a", truncation: nil, padding: endless).ids.count
        #expect(length >= Padding.maximumLength && length < Padding.maximumLength + 3)
    }

    @Test("ids of tokens are found, added ones first")
    func tokens_areFound() throws {
        let tokenizer = try tokenizer()
        #expect(tokenizer.id(of: "p") == 7 && tokenizer.id(of: "[N]") == 4 && tokenizer.id(of: "x") == nil)
        #expect(tokenizer.highestID == 9 && tokenizer.addedCount == 2)
    }

    @Test("configurations state the length and the token that fills texts up")
    func configurations_stateLengthAndToken() throws {
        func read(_ json: String) throws -> TokenizerConfiguration {
            try TokenizerConfiguration(json: Array(json.utf8))
        }
        let full = try read(#"{"model_max_length": 77, "pad_token": "<|endoftext|>", "x": [1]}"#)
        #expect(full.maximumLength == 77 && full.paddingToken == "<|endoftext|>")
        let object = try read(#"{"model_max_length": 1000000000000000019884624838656, "pad_token": {"content": "p"}}"#)
        #expect(object.maximumLength == nil && object.paddingToken == "p")
        let empty = try read("{}")
        #expect(empty.maximumLength == nil && empty.paddingToken == nil)
        for wrong in ["[]", "{", #"{"model_max_length": 0}"#, #"{"model_max_length": "7"}"#, #"{"pad_token": 1}"#] {
            #expect(throws: TokenizerProblem.self) { try read(wrong) }
        }
    }
}
