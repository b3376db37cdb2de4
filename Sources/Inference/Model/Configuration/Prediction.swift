package import Calibration
package import FlowControl
public import ImagePipeline
package import Observations
public import SystemSupport

/// Options of a prediction.
public struct PredictionOptions: Sendable {
    /// The way pictures are fitted; nil uses the bundle's setting.
    public var cropAndScale: CropAndScale?
    /// The size of the picture's tensor, for a model that has a usual size and allows others; nil for the usual one.
    public var size: ImageSize?
    /// The orientation of stored pictures without one of their own (``EncodedImage/orientation``).
    public var orientation = ImageOrientation.apply
    /// The page of a TIFF file, counted from 0.
    public var page = 0
    /// The deadline; nil for no limit.
    public var deadline: MonotonicInstant?

    /// The client of the request: slots are shared fairly among clients. All requests of an embedding program belong to
    /// one client.
    package var claim = Claim.usual

    /// True if arrays are the engine's own tensors: `quantize`, `dequantize` and `activation` of the bundle are not
    /// applied.
    package var usesTensors = false
    /// Receives a copy of the picture's tensor; nil keeps no copy.
    package var keeps: DecodedInput?
    /// A picture that was decoded before: used instead of decoding if the tensors have the same form.
    package var decoded: DecodedInput?
    /// The part of a larger picture that the image is, if any: results are then given in pixels of the larger picture.
    var place: PicturePlace?
    /// True if the caller has reserved the memory for tensors of the picture's size.
    var hasRoom = false
    /// The maximum number of crops of a pipeline's request.
    package var maxCrops = 64
    /// The maximum number of lines that a reader reads in a picture.
    package var maxLines = 1_000
    /// Nanoseconds that the request has waited for the model to be loaded.
    package var loadWait: UInt64 = 0
    /// True if results have measures for later examination: the light of the picture, and the certainty of its
    /// classes.
    package var measures = false
    /// The maximum number of bytes of an answer that is as large as the picture: it is refused before it is made.
    package var maxAnswerBytes = Int.max
    /// The coverage of the sets of labels of a calibrated classifier; nil for no sets.
    package var coverage: Coverage?
    /// The thresholds of models that end with non-maximum suppression; nil values use those of the file.
    var detectionThresholds = DetectionThresholds()

    /// The default options.
    public init() {}
}

/// The part of a larger picture that an image is.
struct PicturePlace: Sendable {
    let window: PictureWindow
    /// The size of the picture as it is displayed.
    let size: ImageSize
}

/// The times of a prediction's stages, in nanoseconds.
public struct StageTimes: Sendable, Hashable {
    /// The wait for the model to be loaded; 0 if it was loaded.
    public var load: UInt64 = 0
    /// The wait for a slot and for an infer request.
    public var queue: UInt64 = 0
    /// Decoding and scaling the picture, and filling the input.
    public var decode: UInt64 = 0
    /// The inference in the engine.
    public var inference: UInt64 = 0
    /// Converting the model's tensors to boxes, masks or points; 0 for classes and plain tensors.
    public var postprocess: UInt64 = 0
    /// The number of the engine's threads if the prediction ran on the single-stream variant; nil otherwise.
    public var singleStreamThreads: Int?
    /// The number of predictions of all models that were under way when the inference began, including this one.
    package var occupancy = 1

    /// The time of each stage of a pipeline, by its name, from the start of its first crop to the end of its last;
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

    /// The sum of all times.
    package var sum: UInt64 { load &+ queue &+ decode &+ inference &+ postprocess }

    /// All times are zero.
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
    /// The index of the class in the output.
    public let index: Int
    /// The label of the class.
    public let label: String
    /// The confidence: the value of the output after `dequantize` and `activation`; see
    /// ``ClassificationResult/areConfidences``.
    public let confidence: Float
    /// The cosine of the picture's vector and that of the label; nil for classes that are no embedded texts.
    public var similarity: Float?
    /// True if the label with its prompt was longer than the model's longest text, so that its end was left out.
    public var isTruncated = false

    /// A class and its confidence.
    public init(index: Int, label: String, confidence: Float) {
        self.index = index
        self.label = label
        self.confidence = confidence
    }
}

/// The classes of one picture.
public struct ClassificationResult: Sendable {
    /// The classes, most confident first; equally confident ones in the order of their indices.
    public let classifications: [Classification]
    /// The picture.
    public let image: ImageInfo
    /// The times of its stages.
    public let times: StageTimes
    /// True if the scores are confidences, from 0 to 1. Otherwise they are the model's raw values, such as logits, and
    /// no threshold is applied.
    public let areConfidences: Bool
    /// The distance of the picture from the first class; nil if the classes were not taught.
    public let taught: TaughtMark?
    /// The certainty of the classes, whatever `top` and `threshold` say; nil unless the prediction measures it.
    package var certainty: Certainty?
    /// The labels of the set that holds the right one with the requested coverage, most confident first; it may be
    /// empty. Nil if no coverage was requested, or the model is not calibrated.
    public var set: [String]?
    /// True if the set has not exactly one label, so that no single label is sure enough; nil without a set.
    public var abstain: Bool? { self.set.map { $0.count != 1 } }

    /// A result with the given values.
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

/// The certainty of one picture's classes.
package struct Certainty: Sendable, Hashable {
    /// The index of the first class, and its confidence.
    package let index: Int, confidence: Float
    /// The first confidence minus the second, from 0 to 1; the confidence for a single class.
    package let margin: Float
    /// The entropy of the confidences by that of equal ones, from 0 to 1; 0 for a single class.
    package let entropy: Float
    /// The number of classes.
    package let count: Int

    /// A measurement.
    package init(index: Int, confidence: Float, margin: Float, entropy: Float, count: Int) {
        self.index = index
        self.confidence = confidence
        self.margin = margin
        self.entropy = entropy
        self.count = count
    }
}

/// The distance of a picture from the most confident class of a taught model.
public struct TaughtMark: Sendable, Hashable {
    /// The cosine distance, from 0 to 2: for nearest neighbours to the class's nearest example, otherwise to its mean.
    public let distance: Float
    /// True if the distance is at most the threshold for unknown pictures; nil if no threshold is set.
    public let isKnown: Bool?
    /// The verdict of a `normal` model; nil for others.
    public let anomaly: AnomalyMark?

    /// A distance, and whether it is within the threshold.
    public init(distance: Float, isKnown: Bool?, anomaly: AnomalyMark? = nil) {
        self.distance = distance
        self.isKnown = isKnown
        self.anomaly = anomaly
    }
}

/// The distance of a picture from the normal pictures that a model was taught, and the verdict on it.
public struct AnomalyMark: Sendable, Hashable {
    /// The cosine distance to the nearest normal picture, from 0 to 2.
    public let score: Double
    /// The score above which a picture is an anomaly; nil while there are too few normal pictures.
    public let threshold: Double?
    /// The share of normal pictures that are as unusual; nil until the model was evaluated.
    public let p: Double?
    /// True if the score is above the threshold; nil without one.
    public let isAnomaly: Bool?

    /// The distances of the picture's parts; nil for a model that compares whole pictures.
    public let map: AnomalyMap?

    /// A score, and its place among those of normal pictures.
    public init(score: Double, threshold: Double?, p: Double?, isAnomaly: Bool?, map: AnomalyMap? = nil) {
        self.score = score
        self.threshold = threshold
        self.p = p
        self.isAnomaly = isAnomaly
        self.map = map
    }
}

/// A map of anomalies: a grid over the part of a picture that the model sees, with the cosine distance of each patch to
/// the nearest normal one.
public struct AnomalyMap: Sendable, Hashable {
    /// The numbers of rows and columns.
    public let rows: Int, columns: Int
    /// The distances, 0 to 2, row by row from the top of the picture as it is displayed.
    public let distances: [Double]
    /// The part of the displayed picture that the grid covers, in pixels. With a letterbox it goes beyond the picture.
    package let area: PictureMap.Rectangle

    /// A grid of distances, as many as it has patches.
    package init(rows: Int, columns: Int, distances: [Double], area: PictureMap.Rectangle) {
        self.rows = rows
        self.columns = columns
        self.distances = distances
        self.area = area
    }
}
