import Foundation
import Tokenizers

/// Small tokenizers, written by `Tests/FixtureMakers/make-tokenizer-fixtures` with the results of the `tokenizers`
/// package.
struct Fixtures {
    struct Case {
        let name: String
        /// The tokenizer.json.
        let json: [UInt8]
        /// By text the result; nil if the package reports an error.
        let results: [PackagePython.Result?]
    }

    let texts: [String]
    let cases: [Case]

    init() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/tokenizers.json")
        let all = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:]
        texts = all["texts"] as? [String] ?? []
        cases = try (all["cases"] as? [[String: Any]] ?? []).map { one in
            var content: [String: Any] = ["version": "1.0", "model": all["model"] ?? [:]]
            content.merge(one["parts"] as? [String: Any] ?? [:]) { $1 }
            return Case(
                name: one["name"] as? String ?? "", json: [UInt8](try JSONSerialization.data(withJSONObject: content)),
                results: (one["results"] as? [Any] ?? []).map(Self.result))
        }
    }

    /// A result with its mask and types, or ids where these are 1 and 0 throughout.
    private static func result(_ value: Any) -> PackagePython.Result? {
        if let lists = value as? [[Int]], lists.count == 3 {
            return PackagePython.Result(
                ids: lists[0].map { UInt32($0) }, mask: lists[1].map { UInt8($0) }, typeIDs: lists[2].map { UInt32($0) }
            )
        }
        guard let ids = value as? [Int] else { return nil }
        return PackagePython.Result(
            ids: ids.map { UInt32($0) }, mask: ids.map { _ in 1 }, typeIDs: ids.map { _ in 0 })
    }
}
