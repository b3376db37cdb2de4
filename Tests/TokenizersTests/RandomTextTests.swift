import Foundation
import TestSupport
import Testing
import Tokenizers

/// Random texts, compared with the `tokenizers` package.
@Suite struct RandomTextTests {
    @Test(
        "random texts have the package's ids with every tokenizer",
        .enabled(if: PackagePython.isAvailable, "\(PackagePython.absence)"))
    func randomTexts_haveIDsOfPackage() throws {
        let seed = SplitMix.seed(for: "randomTexts_haveIDsOfPackage")
        let count = LongTests.times(500, long: 20_000)
        let files = TokenizerFiles.shared.merging(TokenizerFiles.further) { $1 }
        for (name, file) in files.sorted(by: { $0.key < $1.key }) {
            let bytes = try TokenizerFiles.bytes(file), tokenizer = try Tokenizer(json: bytes)
            var texts = RandomText(seed: seed, tokens: try Self.tokens(bytes))
            var left = count, failures = 0
            while left > 0, failures < 3 {
                let batch = (0..<min(left, 5_000)).map { _ in texts.next() }
                left -= batch.count
                let expected = try PackagePython.encode(batch, with: [bytes])[0]
                for (text, expected) in zip(batch, expected) {
                    let found = (try? tokenizer.encode(text)).map(PackagePython.Result.init)
                    guard found != expected else { continue }
                    failures += 1
                    Issue.record("\(name), \(text.debugDescription): \(found as Any), expected \(expected as Any)")
                    if failures == 3 { break }
                }
            }
        }
    }

    @Test(
        "random texts have the package's results with every part",
        .enabled(if: PackagePython.isAvailable, "\(PackagePython.absence)"))
    func randomTexts_haveResultsOfPackageWithEveryPart() throws {
        let seed = SplitMix.seed(for: "randomTexts_haveResultsOfPackageWithEveryPart")
        let fixtures = try Fixtures()
        var random = RandomText(
            seed: seed,
            tokens: fixtures.texts + ["[X]", "[Y]", "[Z]", "[W]", "<m>", "a[", "hello", "World", "blank", "ll", "aa"])
        let texts = (0..<LongTests.times(60, long: 3_000)).map { _ in random.next() }
        let expected = try PackagePython.encode(texts, with: fixtures.cases.map(\.json))
        for (one, expected) in zip(fixtures.cases, expected) {
            let tokenizer = try Tokenizer(json: one.json)
            let wrong = zip(texts, expected).first { text, expected in
                (try? tokenizer.encode(text)).map(PackagePython.Result.init) != expected
            }
            guard let (text, expected) = wrong else { continue }
            let found = (try? tokenizer.encode(text)).map(PackagePython.Result.init)
            Issue.record("\(one.name), \(text.debugDescription): \(found as Any), expected \(expected as Any)")
        }
    }

    /// Some tokens of a file.
    private static func tokens(_ bytes: [UInt8]) throws -> [String] {
        let file = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        let vocabulary = (file?["model"] as? [String: Any])?["vocab"]
        let words =
            (vocabulary as? [String: Any])?.keys.sorted() ?? (vocabulary as? [[Any]])?.compactMap { $0[0] as? String }
        let added = (file?["added_tokens"] as? [[String: Any]])?.compactMap { $0["content"] as? String } ?? []
        let step = max((words?.count ?? 0) / 500, 1)
        let some = (words ?? []).enumerated().filter { $0.offset % step == 0 }.map {
            $0.element.replacingOccurrences(of: "Ġ", with: " ").replacingOccurrences(of: "</w>", with: "")
        }
        // Added tokens occur as often as all others.
        let often = added.isEmpty ? [] : (0..<some.count).map { added[$0 % added.count] }
        return some + often
    }
}
