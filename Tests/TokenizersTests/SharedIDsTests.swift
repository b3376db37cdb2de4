import Foundation
import TestSupport
import Testing
import Tokenizers

/// The ids of the shared texts, which the `tokenizers` package gave.
@Suite struct SharedIDsTests {
    private struct Cases: Decodable {
        struct One: Decodable {
            let longest: Int
            let ids: [[UInt32]]
            let truncated: [Int]
        }

        let strings: [String]
        let tokenizers: [String: One]
    }

    @Test(
        "the shared texts have the package's ids with every shared tokenizer",
        .enabled(if: TokenizerFiles.areShared, "\(SharedData.absence)"))
    func sharedTexts_haveIDsOfPackage() throws {
        let cases = try JSONDecoder().decode(
            Cases.self, from: Data(contentsOf: try #require(TokenizerFiles.ids)))
        #expect(cases.strings.count == 300 && cases.tokenizers.count == 12)
        for (name, expected) in cases.tokenizers {
            let tokenizer = try Tokenizer(json: TokenizerFiles.bytes(try #require(TokenizerFiles.shared[name])))
            var truncated: [Int] = []
            for (index, text) in cases.strings.enumerated() {
                let encoding = try tokenizer.encode(
                    text, truncation: Truncation(maximumLength: expected.longest), padding: nil)
                #expect(encoding.ids == expected.ids[index], "\(name), text \(index): \(text.debugDescription)")
                if encoding.isTruncated { truncated.append(index) }
            }
            #expect(truncated == expected.truncated, "\(name)")
        }
    }

    @Test(
        "of ways with sums of scores that are nearly equal, the package's way is taken",
        .enabled(if: TokenizerFiles.areShared, "\(SharedData.absence)"))
    func nearlyEqualSums_givePackagesWay() throws {
        let tokenizer = try Tokenizer(json: TokenizerFiles.bytes(try #require(TokenizerFiles.shared["siglip"])))
        let ids = try tokenizer.encode("\u{9}'Sstraße\n  <s>888a-b_c").ids
        let first = try #require(ids.firstIndex(of: 1_687)), second = try #require(ids.firstIndex(of: 70))
        #expect(first < second)
    }
}
