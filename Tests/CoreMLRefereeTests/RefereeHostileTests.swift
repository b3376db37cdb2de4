import CoreMLReferee
import FileFormats
import Foundation
import TestSupport
import Testing

/// Damaged files: the referee gives a reason or answers, and never traps.
@Suite struct RefereeHostileTests {
    /// One file of each family.
    static let names = [
        "glm_classifier_strings", "decision_tree_classifier_3", "svc_poly_3", "svr_sparse", "knn_distance",
        "pipeline_nested", "one_hot_scikit", "dict_vectorizer", "imputer", "categorical_mapping_strings", "identity",
        "normalizer_l2", "scaler",
    ]

    /// Reads a file and, if it can be judged, evaluates it on its own rows.
    private func use(_ bytes: [UInt8], rows: Int) {
        do throws(ImpossibleJudgment) {
            let referee = try CoreMLReferee(ByteSource(bytes))
            for row in referee.trialRows(seed: 7, maximum: rows) { _ = try? referee.evaluate(row) }
        } catch {
            #expect(!error.reason.isEmpty)
        }
    }

    @Test("a file cut at any byte is read or refused without a crash", arguments: names)
    func cutAtEveryByte(_ name: String) throws {
        let bytes = try RefereeFile(name).bytes
        for length in bytes.indices { use(Array(bytes[..<length]), rows: 1) }
    }

    @Test("a file with a flipped bit is read or refused without a crash", arguments: names)
    func everySeventhBitFlipped(_ name: String) throws {
        var bytes = try RefereeFile(name).bytes
        for bit in stride(from: 0, to: bytes.count * 8, by: 7) {
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            use(bytes, rows: 4)
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        }
    }

    @Test("randomly damaged files are read or refused without a crash")
    func mutations() throws {
        var random = SplitMix(seed: SplitMix.seed(for: "randomly damaged files"))
        let files = try Self.names.map { try RefereeFile($0).bytes }
        for _ in 0..<2_000 {
            var bytes = files[Int.random(in: files.indices, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0 ... .max, using: &random)
                case 1 where bytes.count > 1: bytes.remove(at: place)
                default: bytes.insert(UInt8.random(in: 0 ... .max, using: &random), at: place)
                }
            }
            use(bytes, rows: 8)
        }
    }
}
