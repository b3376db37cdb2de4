internal import FlowControl
internal import Inference
internal import LoadGenerator
internal import SystemSupport

/// Keeps a model busy with a number of parallel predictions on generated inputs.
struct PredictionLoad: Sendable {
    private let model: Model
    private let features: DictionaryFeatureProvider

    /// A load that runs only the model, without decoding pictures.
    init(_ model: Model) throws {
        self.model = model
        features = try Self.inputs(of: model)
    }

    /// Generated inputs. Tensors are all zeros, with extent 1 for open axes. Pictures of open size have 256 pixels per
    /// side, or the nearest allowed size. For strings, dictionaries and categories, a value that the model knows.
    static func inputs(of model: Model) throws -> DictionaryFeatureProvider {
        var values: [(name: String, value: FeatureValue)] = []
        for input in model.description.inputs {
            if let sample = input.sample {
                values.append((input.name, sample))
                continue
            }
            let shape =
                input.shape(ofPicture: 256) ?? Shape(input.shape.dimensions.map { $0 == Shape.dynamic ? 1 : $0 })
            guard let count = shape.elementCount, input.elementType.byteCount > 0 else {
                throw CommandError(
                    "input \"\(input.name)\" takes \(input.elementType.rawValue): such an input cannot be generated")
            }
            // Zeros are valid for every element type and every model.
            let bytes = [UInt8](repeating: 0, count: count * input.elementType.byteCount)
            let array = try MultiArray(elementType: input.elementType, shape: shape, bytes: bytes)
            values.append((input.name, .multiArray(array)))
        }
        return DictionaryFeatureProvider(values)
    }

    /// Predicts for a time, with `inFlight` predictions at once; each task predicts at least three times.
    func run(inFlight: Int, seconds: Double) async throws -> CallLoop {
        try await CallLoop.run(tasks: inFlight, seconds: seconds, minimum: 3) { _ in
            _ = try await model.prediction(from: features, slot: nil)
        }
    }
}
