import Foundation
import Inference
import TestSupport
import Testing

/// Real models and pictures get the same labels as with Pillow and OpenVINO's Python API.
@Suite(.enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), .serialized)
struct ExpectedLabelsTests {
    @Test(
        "real pictures get the labels and confidences that Pillow and OpenVINO's Python API give",
        arguments: Set(ExpectedLabels.rows.map(\.model)).sorted())
    func everyPictureGetsItsLabel(model name: String) async throws {
        let data = try #require(SharedData.folder)
        let model = try await Model.load(
            contentsOf: data.appendingPathComponent("models/\(name)").path, configuration: ModelConfiguration())
        for row in ExpectedLabels.rows where row.model == name {
            let bytes = try Data(contentsOf: data.appendingPathComponent("images/\(row.picture)"))
            let result = try await model.classification(of: EncodedImage([UInt8](bytes)), top: 1)
            let best = try #require(result.classifications.first)
            #expect(best.index == row.index, "\(row): \(best)")
            #expect(best.label == row.label, "\(row): \(best)")
            #expect(abs(Double(best.confidence) - row.confidence) <= row.tolerance, "\(row): \(best)")
        }
    }

    @Test("the table of expected labels has at least 32 rows")
    func theTableIsThere() {
        #expect(ExpectedLabels.all.count >= 32)
    }
}
