import TestSupport
import Testing
import Tokenizers

/// Long texts of few characters, which must take linear time or n log n: a quadratic step would take hours.
@Suite struct HostileTextTests {
    private static let count = LongTests.times(50_000, long: 1_000_000)

    @Test("long texts of equal characters are encoded in linear time with every part", .timeLimit(.minutes(10)))
    func longTexts_takeLinearTime() throws {
        let texts = ["a", " ", "\u{301}", "\n", "a\u{323}\u{301}", "\u{1112}", "x ", "[X]", "l", "=", "\u{1F1E9}"].map {
            String(repeating: $0, count: Self.count / $0.unicodeScalars.count)
        }
        for one in try Fixtures().cases {
            let tokenizer = try Tokenizer(json: one.json)
            for text in texts { _ = try? tokenizer.encode(text) }
        }
    }

    @Test("a pattern that reads the text to its end again and again is stopped")
    func repeatedReads_areStopped() throws {
        let json = """
            {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a+b|a"}, "behavior": "Isolated", "invert": false},
             "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
            """
        let tokenizer = try Tokenizer(json: Array(json.utf8))
        #expect(try tokenizer.encode("aaa").ids == [0, 0, 0])
        #expect(throws: TokenizerProblem.self) { try tokenizer.encode(String(repeating: "a", count: Self.count)) }
    }

    @Test("a normalizer that makes long texts of short ones is stopped")
    func growingTexts_areStopped() throws {
        let step = """
            {"type": "Replace", "pattern": {"String": "a"}, "content": "\(String(repeating: "a", count: 200))"}
            """
        let json = """
            {"normalizer": {"type": "Sequence", "normalizers": [\(step), \(step), \(step), \(step), \(step)]},
             "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
            """
        let tokenizer = try Tokenizer(json: Array(json.utf8))
        #expect(throws: TokenizerProblem.self) { try tokenizer.encode(String(repeating: "a", count: 10_000)) }
    }

    @Test("steps that make long texts of short ones, too many steps and long texts are refused")
    func otherSteps_areRefused() throws {
        func file(_ steps: Int) -> [UInt8] {
            let step = #"{"type": "ByteLevel", "add_prefix_space": true, "use_regex": false}"#
            let all = Array(repeating: step, count: steps).joined(separator: ", ")
            return Array(
                """
                {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [\(all)]},
                 "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
                """.utf8)
        }
        let tokenizer = try Tokenizer(json: file(40))
        #expect(throws: TokenizerProblem.self) { try tokenizer.encode(String(repeating: "é", count: 10_000)) }
        #expect(throws: TokenizerProblem.self) { try Tokenizer(json: file(100)) }
        #expect(throws: TokenizerProblem.self) { try tokenizer.encode(String(repeating: "a", count: 9 << 20)) }
    }
}
