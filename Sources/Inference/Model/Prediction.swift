internal import FlowControl
public import ImagePipeline
public import SystemSupport

/// What a prediction is to do beside the model's own description.
public struct PredictionOptions: Sendable {
    /// Fits pictures in another way than the bundle says.
    public var cropAndScale: CropAndScale?
    /// Whether a picture's EXIF orientation is left alone.
    public var ignoresOrientation = false
    /// When the answer is worth nothing any more.
    public var deadline: MonotonicInstant?

    /// Whether arrays are the engine's own tensors: without the bundle's `quantize`, `dequantize` and `activation`.
    package var usesTensors = false

    /// The defaults.
    public init() {}
}

/// How long the stages of a prediction took, in nanoseconds.
public struct StageTimes: Sendable, Hashable {
    /// Waiting for a slot and for an infer request.
    public var queue: UInt64 = 0
    /// Decoding, scaling and filling the input.
    public var decode: UInt64 = 0
    /// In the engine.
    public var inference: UInt64 = 0
    /// From the model's tensors to boxes, masks, points; nothing for classes and plain tensors.
    public var postprocess: UInt64 = 0
    /// The engine's threads where it was a lone prediction, on the variant for those; nil on the usual one.
    public var loneThreads: Int?

    /// All of them.
    package var sum: UInt64 { queue &+ decode &+ inference &+ postprocess }

    /// No time at all.
    public init() {}
}

/// What a model gave.
public struct Prediction: FeatureProvider {
    /// The outputs in the bundle's order.
    public let outputs: DictionaryFeatureProvider
    /// The picture that was decoded, if the model takes one.
    public let image: ImageInfo?
    /// How long the stages took.
    public let times: StageTimes

    /// The names of the outputs, in order.
    public var featureNames: [String] { outputs.featureNames }

    /// The value of an output.
    public func featureValue(for name: String) -> FeatureValue? { outputs.featureValue(for: name) }
}

/// One class with its confidence (Vision's `VNClassificationObservation`).
public struct Classification: Sendable, Hashable {
    /// The class's place in the output.
    public let index: Int
    /// Its label.
    public let label: String
    /// How sure the model is: what the output says after `dequantize` and `activation`.
    public let confidence: Float

    /// A class with its confidence.
    public init(index: Int, label: String, confidence: Float) {
        self.index = index
        self.label = label
        self.confidence = confidence
    }
}

/// What a classifier gave for one picture.
public struct ClassificationResult: Sendable {
    /// The classes, most confident first; equals in the order of their indexes.
    public let classifications: [Classification]
    /// The picture.
    public let image: ImageInfo
    /// How long the stages took.
    public let times: StageTimes

    /// A result.
    public init(classifications: [Classification], image: ImageInfo, times: StageTimes) {
        self.classifications = classifications
        self.image = image
        self.times = times
    }
}
