package import FlowControl
public import ImagePipeline
public import SystemSupport

/// Options of a prediction.
public struct PredictionOptions: Sendable {
    /// The fitting of pictures, if not the bundle's.
    public var cropAndScale: CropAndScale?
    /// True if the EXIF orientation of a picture is ignored.
    public var ignoresOrientation = false
    /// The page of a TIFF, from 0.
    public var page = 0
    /// The deadline.
    public var deadline: MonotonicInstant?

    /// The client that asks: slots are shared among clients. All requests of an embedding program are one client's.
    package var claim = Claim.usual

    /// True if arrays are the engine's own tensors: without the bundle's `quantize`, `dequantize` and `activation`.
    package var usesTensors = false
    /// Keeps the picture as it is put into the tensor; nil keeps nothing.
    package var keeps: DecodedInput?
    /// A picture that was put into a tensor before: used instead of decoding, where tensors are alike.
    package var decoded: DecodedInput?
    /// The part of a picture that an image is, where it is one: what is found in it is said in pixels of the picture.
    var place: PicturePlace?
    /// The most crops of a pipeline's request.
    package var maxCrops = 64
    /// The thresholds of models that end with a suppression, if not the file's.
    var detectionThresholds = DetectionThresholds()

    /// The defaults.
    public init() {}
}

/// The part of a picture that an image is.
struct PicturePlace: Sendable {
    let window: PictureWindow
    /// The size of the picture as it is displayed.
    let size: ImageSize
}

/// The times of a prediction's stages, in nanoseconds.
public struct StageTimes: Sendable, Hashable {
    /// Waiting for a slot and for an infer request.
    public var queue: UInt64 = 0
    /// Decoding, scaling and filling the input.
    public var decode: UInt64 = 0
    /// In the engine.
    public var inference: UInt64 = 0
    /// Converting the model's tensors to boxes, masks or points; 0 for classes and plain tensors.
    public var postprocess: UInt64 = 0
    /// The engine's threads if it ran on the variant for single-stream predictions; nil otherwise.
    public var singleStreamThreads: Int?
    /// The predictions of all models that were under way when the engine began, with this one.
    package var occupancy = 1

    /// The time of each stage of a pipeline, by its name, from the begin of its first crop to the end of its last;
    /// empty for a model.
    package var stages: [Stage] = []

    /// A stage of a pipeline.
    package struct Stage: Sendable, Hashable {
        package let name: String
        package var nanoseconds: UInt64
    }

    /// Adds the work of a crop.
    package mutating func add(_ other: StageTimes) {
        decode &+= other.decode
        inference &+= other.inference
        postprocess &+= other.postprocess
        for stage in other.stages { add(stage) }
    }

    /// Adds the time of a stage.
    package mutating func add(_ stage: Stage) {
        if let index = stages.firstIndex(where: { $0.name == stage.name }) {
            stages[index].nanoseconds &+= stage.nanoseconds
        } else {
            stages.append(stage)
        }
    }

    /// All of them.
    package var sum: UInt64 { queue &+ decode &+ inference &+ postprocess }

    /// All zero.
    public init() {}
}

/// The result of a prediction.
public struct Prediction: FeatureProvider {
    /// The outputs in the bundle's order.
    public let outputs: DictionaryFeatureProvider
    /// The picture that was decoded, if the model takes one.
    public let image: ImageInfo?
    /// The times of its stages.
    public let times: StageTimes

    /// The names of the outputs, in order.
    public var featureNames: [String] { outputs.featureNames }

    /// The value of an output.
    public func featureValue(for name: String) -> FeatureValue? { outputs.featureValue(for: name) }
}

/// One class with its confidence (Vision's `VNClassificationObservation`).
public struct Classification: Sendable, Hashable {
    /// The class's index in the output.
    public let index: Int
    /// Its label.
    public let label: String
    /// The confidence: the value of the output after `dequantize` and `activation`; see
    /// ``ClassificationResult/areConfidences``.
    public let confidence: Float

    /// A class with its confidence.
    public init(index: Int, label: String, confidence: Float) {
        self.index = index
        self.label = label
        self.confidence = confidence
    }
}

/// The classes of one picture.
public struct ClassificationResult: Sendable {
    /// The classes, most confident first; equal ones in the order of their indices.
    public let classifications: [Classification]
    /// The picture.
    public let image: ImageInfo
    /// The times of its stages.
    public let times: StageTimes
    /// True if the scores are confidences, from 0 to 1. Others are as the model returns them, like logits, and no
    /// threshold applies.
    public let areConfidences: Bool
    /// The distance of the picture from the first class; nil for classes that were not taught.
    public let taught: TaughtMark?

    /// A result.
    public init(
        classifications: [Classification], image: ImageInfo, times: StageTimes, areConfidences: Bool = true,
        taught: TaughtMark? = nil
    ) {
        self.classifications = classifications
        self.image = image
        self.times = times
        self.areConfidences = areConfidences
        self.taught = taught
    }
}

/// The distance of a picture from the most confident class of a taught model.
public struct TaughtMark: Sendable, Hashable {
    /// The cosine distance, from 0 to 2: to the class's nearest example with nearest neighbours, else to its mean.
    public let distance: Float
    /// True if the distance is at most the threshold for strangers; nil if there is none.
    public let isKnown: Bool?

    /// A distance, and its judgement.
    public init(distance: Float, isKnown: Bool?) {
        self.distance = distance
        self.isKnown = isKnown
    }
}
