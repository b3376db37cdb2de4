import CoreMLImport
import Foundation
import TestSupport
import Testing

/// An updatable file of Tests/Fixtures/updatable, with TensorFlow's results: see make-update-fixtures.
struct UpdateFixture: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let text: Text
    var testDescription: String { name }

    struct Text: Decodable, Sendable {
        var kind: String
        var choices: Choices
        var featureShape: [Int]
        var features: [[Double]]
        var examples: [Example]
        var losses: [Double]
        var weights: [String: Weights]
    }
    struct Choices: Decodable, Sendable { var epochs: Int?, miniBatch: Int?, learningRate: Double? }
    struct Weights: Decodable, Sendable { var weights: [Double], bias: [Double] }
    struct Example: Decodable, Sendable {
        var label: Label?
        var target: [Double]?
    }
    enum Label: Decodable, Sendable {
        case text(String), number(Int64)
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self =
                if let text = try? container.decode(String.self) { .text(text) } else {
                    .number(try container.decode(Int64.self))
                }
        }
    }

    static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/updatable")
    static let names = [
        "dense-classifier", "dense-regressor", "convolution-classifier", "pooling-regressor", "neighbors-empty",
        "neighbors-numbers", "neighbors-pipeline",
    ]

    init(_ name: String) throws {
        self.name = name
        bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent(name + ".mlmodel")))
        text = try JSONDecoder().decode(
            Text.self, from: Data(contentsOf: Self.folder.appendingPathComponent(name + ".json")))
    }

    var choices: UpdateChoices {
        UpdateChoices(
            epochs: text.choices.epochs, learningRate: text.choices.learningRate, miniBatch: text.choices.miniBatch)
    }

    var examples: [UpdatableModel.Example] {
        zip(text.features, text.examples).map { features, example in
            let goal: UpdatableModel.Goal =
                switch example.label {
                case .text(let text)?: .label(.string(text))
                case .number(let number)?: .label(.int64(number))
                case nil: .numbers(example.target ?? [])
                }
            return UpdatableModel.Example(features: features.map { Float($0) }, target: goal)
        }
    }

    /// Updates the model with all examples of the fixture.
    func updated(
        _ choices: UpdateChoices? = nil, bytes: [UInt8]? = nil, isCancelled: () -> Bool = { false }
    ) throws -> UpdatableModel.Outcome {
        let model = try UpdatableModel(Bytes(bytes ?? self.bytes))
        return try model.updated(
            with: examples, shape: text.featureShape, plan: model.plan(choices ?? self.choices),
            isCancelled: isCancelled)
    }
}

/// The weights of a network's layers, and their positions in the file.
struct NetworkWeights {
    var numbers: [String: [[Float]]] = [:]
    var places: [Range<Int>] = []

    init(_ file: [UInt8]) throws {
        let model = try Message(MessageReader(Bytes(file)))
        let network = try [403, 500, 303].compactMap { try model.message($0) }.first ?? .empty
        for layer in try network.messages(1) {
            for (kind, fields) in [(140, [20, 21]), (100, [90, 91])] {
                guard let body = try layer.message(kind) else { continue }
                for field in fields {
                    guard let weights = try body.message(field) else { continue }
                    let packed = try weights.packed(1, width: 4)
                    if packed.isEmpty { continue }
                    numbers[try layer.string(1), default: []].append(packed.elements())
                    places.append(packed.offset..<packed.offset + packed.count)
                }
            }
        }
    }
}
