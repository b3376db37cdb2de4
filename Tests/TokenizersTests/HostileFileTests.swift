import Foundation
import Testing
import Tokenizers

/// Files that a tokenizer must refuse, each with a sentence that names the part.
@Suite struct HostileFileTests {
    /// A small valid file as values.
    private static func content() -> [String: Any] {
        [
            "version": "1.0",
            "model": [
                "type": "BPE", "vocab": ["a": 0, "b": 1, "ab": 2] as [String: Any], "merges": ["a b"],
                "unk_token": NSNull(),
            ] as [String: Any],
        ]
    }

    private static func problem(_ json: [UInt8]) -> TokenizerProblem? {
        do throws(TokenizerProblem) {
            _ = try Tokenizer(json: json)
            return nil
        } catch {
            return error
        }
    }

    private static func problem(_ members: [String: Any]) throws -> TokenizerProblem? {
        problem([UInt8](try JSONSerialization.data(withJSONObject: content().merging(members) { $1 })))
    }

    private static func problem(model: [String: Any]) throws -> TokenizerProblem? {
        try problem(["model": model])
    }

    private static func problem(pattern: String) throws -> TokenizerProblem? {
        try problem([
            "pre_tokenizer": [
                "type": "Split", "pattern": ["Regex": pattern], "behavior": "Isolated", "invert": false,
            ] as [String: Any]
        ])
    }

    @Test("parts that are not implemented are refused by name")
    func unknownParts_areRefusedByName() throws {
        let cases: [([String: Any], String)] = [
            (["normalizer": ["type": "Uppercase"]], "normalizer: the type \"Uppercase\" is not supported; supported"),
            (
                [
                    "normalizer": [
                        "type": "Sequence", "normalizers": [["type": "NFC"], ["type": "X"]],
                    ] as [String: Any]
                ],
                "normalizer.normalizers[1]: the type \"X\" is not supported; supported are \"BertNormalizer\""
            ),
            (["pre_tokenizer": ["type": "UnicodeScripts"]], "pre_tokenizer: the type \"UnicodeScripts\" is not"),
            (["post_processor": ["type": "Y"]], "post_processor: the type \"Y\" is not supported"),
            (["model": ["type": "Z", "vocab": [:] as [String: Any]]], "model: the type \"Z\" is not supported"),
            (["version": "2.0"], "version: expected \"1.0\", found \"2.0\""),
        ]
        for (members, message) in cases {
            let problem = try #require(try Self.problem(members))
            #expect(problem.kind == .unsupported && problem.message.hasPrefix(message), "\(problem.message)")
        }
        #expect(try Self.problem([:]) == nil)
    }

    @Test("patterns with parts that are not implemented, too long or without end are refused")
    func otherPatterns_areRefused() throws {
        let patterns = [
            "(?<=a)b", "(a)\\1", "a++", "(?>a)b", "\\bword", "\\w+", "[[:alpha:]]", "[a&&b]", "\\p{Han}", "\\p{}",
            "(?i:ß)", "(?i:ss)", "a{2,1}", "a{5000}", "(", ")", "[", "[]", "a|", "a*", "(?=ab)a", "(a*)*b", "\\", "\\p",
            "\\u12", "\\x{110000}", "*a", "a**", "(?#c)a", "a{", "[z-a]", "[\\d-z]",
            String(repeating: "(", count: 100) + "a" + String(repeating: ")", count: 100),
            String(repeating: "a", count: 20_000), "((((a{1000}){1000}){1000}){1000}){1000}",
        ]
        for pattern in patterns {
            let problem = try #require(try Self.problem(pattern: pattern), "\(pattern.prefix(40))")
            #expect(problem.kind != .malformed, "\(problem.message)")
            #expect(problem.message.hasPrefix("pre_tokenizer.pattern: "), "\(problem.message)")
        }
    }

    @Test("values of other kinds, sizes and ranges are refused")
    func otherValues_areRefused() throws {
        let added: [String: Any] = [
            "id": 5, "content": "x", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true,
        ]
        let cases: [([String: Any], String)] = [
            (["padding": padding(length: 1 << 40)], "padding.strategy.Fixed: expected an integer of 0 to 1048576"),
            (["padding": padding(multiple: 1 << 40)], "padding.pad_to_multiple_of: expected an integer of 0 to"),
            (["padding": padding(id: -1)], "padding.pad_id: expected an integer of 0 to 2147483647"),
            (["truncation": truncation(2, stride: 2)], "truncation.stride: expected less than 2, found 2"),
            (["truncation": truncation(-1, stride: 0)], "truncation.max_length: expected an integer of 0 to"),
            (["normalizer": "NFC"], "normalizer: expected an object, found \"NFC\""),
            (["normalizer": ["type": "Prepend"]], "normalizer.prepend: expected a string, found no value"),
            (
                ["normalizer": ["type": "Prepend", "prepend": String(repeating: "a", count: 300)]],
                "normalizer.prepend: expected at most 256 characters, found 300"
            ),
            (["added_tokens": [["content": "x"]]], "added_tokens[0].normalized: expected true or false, found no"),
            (
                ["added_tokens": [added.merging(["content": String(repeating: "a", count: 5_000)]) { $1 }]],
                "the token \"aaa"
            ),
            (
                [
                    "normalizer": ["type": "Lowercase"],
                    "added_tokens": [
                        added.merging(["normalized": true]) { $1 },
                        added.merging(["normalized": true, "content": "X"]) { $1 },
                    ],
                ], "added_tokens: the token \"x\" occurs twice"
            ),
            (
                ["post_processor": ["type": "BertProcessing", "sep": ["a", -1], "cls": ["b", 1]] as [String: Any]],
                "post_processor.sep: expected a token and its id"
            ),
        ]
        for (members, message) in cases {
            let problem = try #require(try Self.problem(members), "\(message)")
            #expect(problem.message.hasPrefix(message), "\(problem.message)")
        }
    }

    private func padding(length: Int = 1, multiple: Int = 1, id: Int = 0) -> [String: Any] {
        [
            "strategy": ["Fixed": length], "direction": "Right", "pad_to_multiple_of": multiple, "pad_id": id,
            "pad_type_id": 0, "pad_token": "p",
        ]
    }

    private func truncation(_ length: Int, stride: Int) -> [String: Any] {
        ["direction": "Right", "max_length": length, "strategy": "LongestFirst", "stride": stride]
    }

    @Test("models with other values are refused")
    func otherModels_areRefused() throws {
        let pieces: [[Any]] = [["a", -1.0]]
        let cases: [([String: Any], String)] = [
            (["type": "BPE", "vocab": ["a": -1], "merges": []], "model.vocab: \"a\": expected an id, an integer of 0"),
            (["type": "BPE", "vocab": ["a": 1 << 40], "merges": []], "the id of the token \"a\" is 4294967295"),
            (["type": "BPE", "vocab": ["a": 1]], "model.merges: expected an array, found no value"),
            (["type": "BPE", "vocab": ["a": 1], "merges": ["a a"]], "model.merges[0]: expected tokens of the vocab"),
            (["type": "BPE", "vocab": ["a": 1], "merges": ["a"]], "model.merges[0]: expected two tokens with a"),
            (["type": "BPE", "vocab": ["a": 1], "merges": [["a"]]], "the file is not valid JSON"),
            (["type": "BPE", "vocab": ["a": 1], "merges": [], "dropout": 0.5], "model.dropout: random merges"),
            (["type": "BPE", "vocab": pieces, "merges": []], "model.vocab: expected an object for BPE"),
            (["type": "Unigram", "vocab": pieces, "unk_id": 1], "model.unk_id: expected an integer of 0 to 0, found"),
            (["type": "Unigram", "vocab": ["a": 1]], "model.vocab: expected an array for Unigram"),
            (["type": "WordLevel", "vocab": ["a": 1], "unk_token": "b"], "model.unk_token: expected a token of the"),
            (["type": "WordPiece"], "model.vocab: expected a vocabulary, found no value"),
            (
                ["type": "WordLevel", "vocab": [String(repeating: "a", count: 5_000): 1], "unk_token": "b"],
                "the token \"aaa"
            ),
        ]
        for (model, message) in cases {
            let problem = try #require(try Self.problem(model: model), "\(message)")
            #expect(problem.message.hasPrefix(message), "\(problem.message)")
        }
    }

    @Test("damaged maps of characters are refused or change nothing")
    func damagedMaps_areRefused() throws {
        for bytes in [[], [0, 0, 0, 0], [4, 0, 0, 0], [255, 255, 255, 255], [4, 0, 0, 0, 1, 2, 3, 4, 255]] as [[UInt8]]
        {
            let map = Data(bytes).base64EncodedString()
            let problem = try Self.problem(["normalizer": ["type": "Precompiled", "precompiled_charsmap": map]])
            #expect(problem?.message.hasPrefix("normalizer.precompiled_charsmap: expected") == true)
        }
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let words = (0..<64).map { _ in UInt32.random(in: 0...UInt32.max, using: &random) }
            var bytes = Data([0, 1, 0, 0])
            for word in words { withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) } }
            bytes.append(contentsOf: Array("text\0more\0".utf8))
            let json = try JSONSerialization.data(
                withJSONObject: Self.content().merging([
                    "normalizer": ["type": "Precompiled", "precompiled_charsmap": bytes.base64EncodedString()]
                ]) { $1 })
            let tokenizer = try Tokenizer(json: [UInt8](json))
            for value in UInt8(1)...127 { _ = try tokenizer.encode(String(Unicode.Scalar(value))) }
        }
    }

    @Test("files that are cut off, nested deeply or not JSON are refused")
    func otherFiles_areRefused() throws {
        let whole = [UInt8](try JSONSerialization.data(withJSONObject: Self.content()))
        for count in 0..<whole.count { #expect(Self.problem(Array(whole.prefix(count))) != nil) }
        let deep = String(repeating: "{\"normalizer\":", count: 10_000)
        #expect(Self.problem(Array(deep.utf8))?.message.contains("nested too deeply") == true)
        let steps = String(repeating: "{\"type\":\"Sequence\",\"normalizers\":[", count: 40)
        #expect(Self.problem(Array(("{\"normalizer\":" + steps).utf8))?.message.contains("nested too deeply") == true)
        #expect(Self.problem([0xFF, 0xFE]) != nil)
        #expect(Self.problem(Array("{}".utf8))?.message == "model: expected a model, found no value")
    }

    @Test("files with changed bytes are read or refused, and never stop the process")
    func changedFiles_areReadOrRefused() throws {
        let fixtures = try Fixtures()
        var random = SystemRandomNumberGenerator()
        for one in fixtures.cases {
            for _ in 0..<10 {
                var json = one.json
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let place = Int.random(in: 0..<json.count, using: &random)
                    json[place] = UInt8.random(in: 0x20...0x7E, using: &random)
                }
                guard let tokenizer = try? Tokenizer(json: json) else { continue }
                for text in fixtures.texts { _ = try? tokenizer.encode(text) }
            }
        }
    }
}
