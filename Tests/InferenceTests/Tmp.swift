import Foundation
import Inference
import ImagePipeline
import TestSupport
import Testing

@Test func tmp() async throws {
    let data = try #require(SharedData.folder)
    for name in Set(ExpectedLabels.rows.map(\.model)).sorted() {
        let model = try await Model.load(
            contentsOf: data.appendingPathComponent("models/\(name)").path, configuration: ModelConfiguration())
        for row in ExpectedLabels.rows where row.model == name {
            let bytes = try Data(contentsOf: data.appendingPathComponent("images/\(row.picture)"))
            let result = try await model.classification(of: EncodedImage([UInt8](bytes)), top: 1)
            let c = result.classifications[0].confidence
            print("ROW", row, row.confidence, c, String(format: "%.3f", Double(c) - row.confidence), abs(Double(c) - row.confidence) > row.tolerance ? "BAD" : "")
        }
    }
}
