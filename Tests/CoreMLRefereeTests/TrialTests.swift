import CoreMLReferee
import FileFormats
import Foundation
import TestSupport
import Testing

/// The importer on the referee's rows.
@Suite struct TrialTests {
    /// The classical fixtures, and those of updatable files that have no network.
    static let files: [RefereeFile] =
        RefereeFile.all
        + ["neighbors-pipeline", "neighbors-numbers", "neighbors-empty"].compactMap { name in
            let url = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/updatable/\(name).mlmodel")
            return (try? Data(contentsOf: url)).map { RefereeFile(name: name, bytes: [UInt8]($0)) }
        }

    @Test("the referee accuses no right answer, whatever the seed", arguments: files)
    func noFalseAccusation(_ file: RefereeFile) throws {
        guard let referee = try? file.referee else { return }
        let importer = try ImporterAnswers(file.bytes)
        var random = SplitMix(seed: SplitMix.seed(for: "the referee's rows of \(file.name)"))
        for _ in 0..<3 {
            let seed = random.next()
            let result = TrialResult(referee, seed: seed) { try importer($0) }
            if let difference = result.difference { Issue.record("\(file.name), seed \(seed): \(difference)") }
            #expect(result.largest < 1e-9, "\(file.name), seed \(seed): \(result.largest)")
            #expect(result.judged >= 16, "\(file.name), seed \(seed): \(Set(result.unjudged))")
        }
    }
}
