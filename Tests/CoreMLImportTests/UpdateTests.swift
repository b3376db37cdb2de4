import CoreMLImport
import Foundation
import Testing

/// Updates of Core ML files, compared with TensorFlow's training of the same networks.
@Suite struct UpdateTests {
    @Test(
        "weights and losses of an updated model equal TensorFlow's",
        arguments: UpdateFixture.names.filter { !$0.hasPrefix("neighbors") })
    func weightsAndLossesAreTensorFlows(_ name: String) throws {
        let fixture = try UpdateFixture(name)
        let outcome = try fixture.updated()
        #expect(outcome.losses.count == 10)
        for (loss, expected) in zip(outcome.losses, fixture.text.losses) { #expect(abs(loss - expected) < 1e-5) }
        let found = try NetworkWeights(outcome.bytes).numbers, before = try NetworkWeights(fixture.bytes).numbers
        for (layer, expected) in fixture.text.weights {
            let lists = try #require(found[layer])
            #expect(lists.count == (expected.bias.isEmpty ? 1 : 2))
            for (list, wanted) in zip(lists, [expected.weights, expected.bias]) {
                #expect(list.count == wanted.count)
                let worst = zip(list, wanted).map { abs(Double($0) - $1) }.max() ?? .infinity
                #expect(worst < 1e-5, "\(layer)")
            }
            #expect(lists != before[layer], "\(layer) has learned something")
        }
        for layer in found.keys where fixture.text.weights[layer] == nil { #expect(found[layer] == before[layer]) }
    }

    @Test(
        "an update changes only the bytes of trained weights, and the new file can be updated again",
        arguments: UpdateFixture.names.filter { !$0.hasPrefix("neighbors") })
    func allBytesButTheWeightsStay(_ name: String) throws {
        var fixture = try UpdateFixture(name)
        // Unknown fields at the end of the file and of the network.
        let unknown: [UInt8] = [0xFA, 0xFF, 0x7F, 3, 1, 2, 3]
        let file = fixture.bytes + unknown
        let new = try fixture.updated(bytes: file).bytes
        #expect(new.count == file.count)
        #expect(new.suffix(unknown.count) == unknown[...])
        let trained = try NetworkWeights(file)
        let differing = file.indices.filter { file[$0] != new[$0] }
        #expect(!differing.isEmpty)
        #expect(differing.allSatisfy { place in trained.places.contains { $0.contains(place) } })
        // The new file can be updated again, and training continues from it.
        fixture = try UpdateFixture(name)
        let second = try fixture.updated(bytes: new)
        #expect(second.losses[0] < (fixture.text.losses.first ?? 0))
    }

    @Test("an update of a nearest-neighbors model appends the examples to the existing ones")
    func neighborsAreAddedBehindThoseThatAreThere() throws {
        for name in ["neighbors-empty", "neighbors-numbers", "neighbors-pipeline"] {
            let fixture = try UpdateFixture(name)
            let outcome = try fixture.updated()
            #expect(outcome.losses.isEmpty)
            func classifier(_ file: [UInt8]) throws -> Message {
                var model = try Message(MessageReader(Bytes(file)))
                if let pipeline = try model.message(200) {
                    model = try #require(try pipeline.message(1)?.messages(1).last)
                }
                return try #require(try model.message(404))
            }
            func contents(_ file: [UInt8]) throws -> (samples: [[Float]], labels: [String]) {
                let message = try classifier(file)
                let samples = try message.message(1)?.messages(2).map { try $0.floats(1) } ?? []
                let labels =
                    try message.message(100)?.strings(1) ?? message.message(101)?.integers(1).map(String.init) ?? []
                return (samples, labels)
            }
            let before = try contents(fixture.bytes), after = try contents(outcome.bytes)
            let labels = fixture.text.examples.map { example in
                switch example.label {
                case .text(let text)?: text
                case .number(let number)?: String(number)
                case nil: ""
                }
            }
            #expect(after.samples == before.samples + fixture.text.features.map { $0.map { Float($0) } })
            #expect(after.labels == before.labels + labels)
            #expect(try ModelSpecification(Bytes(outcome.bytes)).isUpdatable)
        }
    }

    @Test("an update request may choose only values that the file allows")
    func requestsChooseWithinWhatTheFileAllows() throws {
        let fixture = try UpdateFixture("dense-classifier")
        let model = try UpdatableModel(Bytes(fixture.bytes))
        let plan = try #require(try model.plan(UpdateChoices(epochs: 5, learningRate: 0.5, miniBatch: 8, seed: 3)))
        #expect(plan.epochs == 5 && plan.learningRate == 0.5 && plan.miniBatch == 8 && plan.seed == 3 && plan.shuffles)
        #expect(plan.optimizer == .sgd(momentum: 0.9))
        let defaults = try #require(try model.plan(UpdateChoices()))
        #expect(defaults.epochs == 10 && defaults.learningRate == 0.1 && defaults.miniBatch == 4 && defaults.seed == 7)
        for (choices, expected) in [
            (UpdateChoices(epochs: 2), "epochs 2 is not among the values that the file allows: 1, 5, 10"),
            (UpdateChoices(epochs: 1001), "epochs is 1001: expected 1 to 1000"),
            (UpdateChoices(epochs: 0), "epochs is 0: expected 1 to 1000"),
            (
                UpdateChoices(learningRate: 0.6),
                "learning_rate 0.6 is not in the range that the file allows: 0.001 to 0.5"
            ),
            (UpdateChoices(learningRate: .nan), "learning_rate nan is not a finite number"),
            (UpdateChoices(miniBatch: 5), "mini_batch 5 is not among the values that the file allows: 4, 8"),
        ] {
            let problem = #expect(throws: Problem.self) { _ = try model.plan(choices) }
            #expect(problem?.message == expected)
        }
        #expect(try UpdatableModel(Bytes(UpdateFixture("neighbors-empty").bytes)).plan(UpdateChoices(epochs: 3)) == nil)
    }

    @Test("updates with the same seed give the same file, and another seed gives another file")
    func theSeedDecidesTheOrder() throws {
        let fixture = try UpdateFixture("dense-classifier")
        let one = try fixture.updated(UpdateChoices(epochs: 1, seed: 1)).bytes
        #expect(try fixture.updated(UpdateChoices(epochs: 1, seed: 1)).bytes == one)
        #expect(try fixture.updated(UpdateChoices(epochs: 1, seed: 2)).bytes != one)
    }

    @Test("a cancelled update fails as cancelled, and a diverging update with a reason")
    func updatesAreCancelledAndDivergencesToldApart() throws {
        let fixture = try UpdateFixture("dense-regressor")
        var asked = 0
        let cancelled = #expect(throws: UpdateFailure.self) {
            _ = try fixture.updated {
                asked += 1; return asked > 20
            }
        }
        if case .cancelled? = cancelled {} else { Issue.record("not cancelled: \(String(describing: cancelled))") }
        let model = try UpdatableModel(Bytes(fixture.bytes))
        var examples = fixture.examples
        examples[3].target = .numbers([1e300, 1e300])
        let plan = try model.plan(fixture.choices)
        let failure = #expect(throws: UpdateFailure.self) {
            _ = try model.updated(with: examples, shape: [5], plan: plan, isCancelled: { false })
        }
        guard case .problem(let problem)? = failure else { Issue.record("no problem"); return }
        #expect(problem.message.contains("diverges"))
    }
}
