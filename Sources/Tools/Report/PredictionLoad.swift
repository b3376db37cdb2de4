internal import FlowControl
internal import Inference
internal import InferenceService
internal import SystemSupport

/// Keeps a model busy with a number of parallel predictions on generated inputs.
struct PredictionLoad: Sendable {
    /// The outcome of a run.
    struct Outcome: Sendable {
        /// Nanoseconds of each prediction.
        var latencies: [UInt64] = []
        /// Nanoseconds of the whole run.
        var time: UInt64 = 0

        var perSecond: Double { time == 0 ? 0 : Double(latencies.count) * 1e9 / Double(time) }
    }

    private let model: Model
    private let features: DictionaryFeatureProvider

    /// A load of the model alone, without the decoding of pictures.
    init(_ model: Model) throws {
        self.model = model
        features = try Self.inputs(of: model)
    }

    /// Inputs of no meaning: tensors that the model takes as they are, all zeros, open axes with the extent 1, and
    /// pictures of their own size with 256 pixels a side, or the nearest that the bundle allows; of strings,
    /// dictionaries and categories one that the model knows.
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
                throw StartupError(
                    "input \"\(input.name)\" takes \(input.elementType.rawValue): such an input cannot be generated")
            }
            // Zeros are what every element type and every model takes.
            let bytes = [UInt8](repeating: 0, count: count * input.elementType.byteCount)
            let array = try MultiArray(elementType: input.elementType, shape: shape, bytes: bytes)
            values.append((input.name, .multiArray(array)))
        }
        return DictionaryFeatureProvider(values)
    }

    /// Predicts for a time, `inFlight` predictions at once; each of them at least three times.
    func run(inFlight: Int, seconds: Double) async throws -> Outcome {
        let start = MonotonicInstant.now
        let end = start + .milliseconds(Int(min(max(seconds, 0.01), 3600) * 1000))
        return try await withThrowingTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<inFlight {
                group.addTask {
                    var latencies: [UInt64] = []
                    while MonotonicInstant.now < end || latencies.count < 3 {
                        let begun = MonotonicInstant.now
                        _ = try await model.prediction(from: features, slot: nil)
                        latencies.append(MonotonicInstant.now.nanoseconds(since: begun))
                    }
                    return latencies
                }
            }
            var outcome = Outcome()
            for try await latencies in group { outcome.latencies += latencies }
            outcome.time = MonotonicInstant.now.nanoseconds(since: start)
            return outcome
        }
    }
}
