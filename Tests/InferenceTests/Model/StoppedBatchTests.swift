import FlowControl
import Foundation
import Inference
import TestSupport
import Testing

/// Batches that are cancelled during inference, with the real engine: later batches succeed.
@Suite(.timeLimit(.minutes(2))) struct StoppedBatchTests {
    /// The digits bundle, with batches of up to four.
    private func load(_ folder: TemporaryFolder) async throws -> Model {
        let bundle = folder.url.appendingPathComponent("digits")
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"), to: bundle)
        let file = bundle.appendingPathComponent("model.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        let end = try #require(text.lastIndex(of: "}"))
        try "\(text[..<end]), \"runtime\": { \"batch\": 4 } }".write(to: file, atomically: true, encoding: .utf8)
        return try await Model.load(contentsOf: bundle.path, configuration: ModelConfiguration())
    }

    /// The engine infers shapes layer by layer, and skips a layer whose input has the shape of its last run: stopped
    /// half-way, it would continue with the shapes of two runs.
    @Test("a batch that follows a cancelled batch of another size succeeds")
    func aBatchOfAnotherSizeAfterOneThatWasStoppedSucceeds() async throws {
        let folder = try TemporaryFolder()
        let model = try await load(folder)
        let input = try #require(model.description.inputs.first)
        let count = 64 * 64
        let item: any FeatureProvider = DictionaryFeatureProvider([
            (
                input.name,
                .multiArray(
                    try MultiArray(shape: [1, 1, 64, 64], floats: [Float](repeating: 0.5, count: count)))
            )
        ])
        let seed = UInt64.random(in: 1 ... .max)
        var random = SplitMix(seed: seed)
        for round in 0..<150 {
            let stopped = Task { [size = 1 + Int(random.next() % 4)] in
                await model.predictions(from: Array(repeating: item, count: size * model.instances))
            }
            // At some point of the inference, which takes about a millisecond.
            try await Task.sleep(for: .microseconds(Int(random.next() % 3000)))
            stopped.cancel()
            for case .failure(let error) in await stopped.value {
                #expect("\(error)".contains("cancelled"), "round \(round), seed \(seed): \(error)")
            }
            let size = 1 + Int(random.next() % 4)
            for result in await model.predictions(from: Array(repeating: item, count: size * model.instances)) {
                if case .failure(let error) = result { Issue.record("round \(round), seed \(seed): \(error.message)") }
            }
        }
        #expect(model.limiter.snapshot.inFlight == 0)
    }
}
