import Foundation
import TestSupport
import Testing

/// `ocelli classify --labels` and `ocelli embed --text`: the expected values are those of ONNX Runtime and NumPy
/// (../shared/data/words/README.md).
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: WordsData.folder != nil, "../shared/data/words is not beside the package: this test needs its models")
)
struct WordsCommandsTests {
    private static func model(_ name: String) -> String { WordsTests.models + "/" + name }

    private func run(_ arguments: [String], input: String = "") throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, arguments, input: Data(input.utf8))
    }

    private func lines(_ result: Shell.Result) -> [[String: Any]] {
        result.text.split(separator: "\n").compactMap {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
        }
    }

    @Test("pictures are classified by labels of the command line, which may have commas, in a prompt")
    func classify() throws {
        let cases = try #require(WordsTests.cases).classify.filter { $0.model == "clip-split" }
        #expect(!cases.isEmpty)
        for one in cases {
            let flags = one.labels.flatMap { ["--label=" + $0] } + ["--prompt=" + one.prompt]
            let result = try run(
                ["classify", "--json", "--model", Self.model(one.model), "--top=\(one.labels.count)"] + flags
                    + [WordsTests.picture(one.picture)])
            let found = lines(result).first?["classifications"] as? [[String: Any]] ?? []
            #expect(found.count == one.labels.count, "\(result.text)\(result.errors)")
            for entry in found {
                let index = try #require(entry["index"] as? Int)
                try #require(one.labels.indices.contains(index))
                #expect(entry["label"] as? String == one.labels[index])
                #expect(abs((entry["similarity"] as? Double ?? .nan) - one.similarity[index]) < 1e-4)
                #expect(abs((entry["confidence"] as? Double ?? .nan) - one.confidence[index]) < 1e-3)
            }
        }
    }

    @Test("a command line with wrong labels, or without labels, is refused")
    func refusals() throws {
        let cases = try #require(WordsTests.cases)
        let picture = WordsTests.picture(try #require(cases.classify.first).picture)
        let clip = ["classify", "--model", Self.model("clip-split"), picture]
        for (arguments, status, words) in [
            (clip + ["--labels", "a,a"], 2, "labels 1 and 2 are both"), (clip + ["--labels", "a,,b"], 2, "label 2"),
            (clip + ["--labels", "a", "--prompt", "no place"], 2, "--prompt: expected"),
            (clip, 1, "--labels A,B"), (clip + ["--prompt", "a {}"], 1, "--labels A,B"),
            (["classify", "--model", Self.model("sentence-mean"), "--labels", "a,b", picture], 1, "texts alone"),
            (["embed", "--model", Self.model("clip-split"), "--text", "a", picture], 2, "take no pictures"),
            (["embed", "--jsonl", "--text", "a"], 2, "--jsonl"),
        ] as [([String], Int32, String)] {
            let result = try run(arguments)
            #expect(result.status == status && result.errors.contains(words), "\(arguments): \(result.errors)")
        }
    }

    @Test("labels and the prompt are settings that --resume compares")
    func resume() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: file) }
        let pictures = try #require(WordsData.folder).appendingPathComponent("pictures").path
        func bulk(_ flags: [String]) throws -> Shell.Result {
            try run(
                ["classify", "--jsonl", "--resume", file.path, "--model", Self.model("clip-split")] + flags + [pictures]
            )
        }
        let first = try bulk(["--labels", "a red barn,two dogs"])
        #expect(first.status == 0, "\(first.errors)")
        let written = try Data(contentsOf: file)
        let answers = String(decoding: written, as: UTF8.self).split(separator: "\n")
        #expect(answers.count >= 3 && answers.allSatisfy { $0.contains("\"similarity\"") }, "\(answers)")
        #expect(try bulk(["--label", "a red barn", "--label", "two dogs"]).status == 0, "the same labels")
        for flags in [
            ["--labels", "two dogs,a red barn"], ["--labels", "a red barn"], ["--label", "a red barn,two dogs"],
            ["--labels", "a red barn,two dogs", "--prompt", "a photo of {}."],
        ] {
            let other = try bulk(flags)
            #expect(other.status == 2, "\(flags): \(other.errors)")
        }
        #expect(try Data(contentsOf: file) == written)
    }

    @Test("texts of flags, of a file and of standard input have the expected vectors, also as an array")
    func embed() throws {
        let all = try #require(WordsTests.cases)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: file) }
        let npy = file.appendingPathComponent("vectors.npy"), texts = file.appendingPathComponent("texts.txt")
        for model in ["clip-split", "sentence-mean"] {
            let own = (all.texts + all.sentences).filter { $0.model == model && $0.text?.contains("\n") == false }
            #expect(own.count > 2)
            let list = own.map { ($0.text ?? "") + "\r\n" }.joined()
            try list.write(to: texts, atomically: true, encoding: .utf8)
            for (flags, input) in [
                (own.map { "--text=" + ($0.text ?? "") }, ""), (["--texts", texts.path], ""), (["--texts", "-"], list),
            ] {
                let result = try run(
                    ["embed", "--json", "--model", Self.model(model), "--npy", npy.path] + flags, input: input)
                let found = lines(result)
                #expect(result.status == 0 && found.count == own.count, "\(result.errors)")
                for (line, one) in zip(found, own) {
                    #expect(WordsTests.distance(line["embedding"], one.vector) < 1e-4, "\(one.text ?? "")")
                    #expect(line["tokens"] as? Int == one.tokens && line["truncated"] as? Bool == one.truncated)
                    #expect(line["text"] as? String == one.text)
                }
                // NumPy's format: a header of a length in its bytes 8 and 9, then the floats.
                let array = [UInt8](try Data(contentsOf: npy))
                let start = 10 + Int(array[8]) + 256 * Int(array[9])
                let numbers = array[start...].withUnsafeBytes { bytes in
                    (0..<bytes.count / 4).map { Double(bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self)) }
                }
                #expect(WordsTests.distance(numbers, own.flatMap(\.vector)) < 1e-4)
            }
        }
        let long = try run([
            "embed", "--json", "--model", Self.model("sentence-mean"), "--max-text=4", "--text=abcd", "--text=abcde",
        ])
        #expect(long.status == 1 && lines(long).map { $0["error"] == nil } == [true, false], "\(long.text)")
    }
}
