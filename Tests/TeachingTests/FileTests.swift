import FileFormats
import Foundation
import Teaching
import TestSupport
import Testing

/// Tests of taught models as files.
@Suite struct FileTests {
    private func heads() throws -> [TaughtClassifier] {
        var random = SplitMix(seed: 77)
        let rows = (0..<12).map { _ in (0..<5).map { _ in Float.random(in: -1...1, using: &random) } }
        let set = try #require(
            ExampleSet(
                dimension: 5, labels: ["bolt", "Mutter \"M8\"", "ネジ"], rows: rows,
                classes: (0..<12).map { $0 / 4 }))
        return try TeachingMethod.classifiers.flatMap { method in
            var known = try #require(TaughtClassifier(method, set))
            let unknown = known
            known.threshold = 0.42
            return [unknown, known]
        }
    }

    @Test("a taught model read from its file answers bit for bit like the original")
    func aFileAnswersBitForBitLikeTheTaughtModel() throws {
        for head in try heads() {
            let bytes = TaughtFile.bytes(of: head)
            let read = try TaughtFile.head(bytes)
            #expect(read == head)
            #expect(read.answer([0.1, 0.2, -0.3, 0.4, 1]) == head.answer([0.1, 0.2, -0.3, 0.4, 1]))
            #expect(TaughtFile.bytes(of: read) == bytes)
        }
    }

    @Test("the file of a taught model follows the safetensors format")
    func filesAreReadBySafetensorsRules() throws {
        let bytes = TaughtFile.bytes(of: try heads()[1])
        let length = (0..<8).reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) }
        #expect((8 + length) % 8 == 0)
        let header = try #require(
            try JSONSerialization.jsonObject(with: Data(bytes[8..<8 + length])) as? [String: [String: Any]])
        #expect(header["__metadata__"]?["method"] as? String == "nearest_mean")
        #expect(header["means"]?["shape"] as? [Int] == [3, 5] && header["means"]?["dtype"] as? String == "F32")
        let ends = header.values.compactMap { ($0["data_offsets"] as? [Int])?.last }
        #expect(ends.max() == bytes.count - 8 - length)
    }

    @Test("a file that ends early is refused, and a file with a flipped bit does not trap")
    func damagedFilesHaveAProblemAndDoNotTrap() throws {
        var random = SplitMix(seed: 78)
        for head in try heads() {
            let bytes = TaughtFile.bytes(of: head)
            for length in 0..<bytes.count {
                #expect(throws: FormatError.self) { try TaughtFile.head(Array(bytes[..<length])) }
            }
            for _ in 0..<300 {
                var damaged = bytes
                damaged[Int.random(in: 0..<damaged.count, using: &random)] ^= UInt8(
                    1 << Int.random(in: 0..<8, using: &random))
                if let read = try? TaughtFile.head(damaged) { _ = read.answer([1, 2, 3, 4, 5]) }
            }
        }
    }
}
