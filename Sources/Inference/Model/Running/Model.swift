package import Calibration
public import FlowControl
public import JSON
package import Synchronization
package import SystemSupport

/// A model that is loaded and ready (Core ML's `MLModel`).
///
/// Not an actor, because an actor would serialize predictions. Any number of tasks may call it at the same time;
/// ``limiter`` limits how many of them hold memory, and the engine's infer requests limit how many run.
///
/// ```swift
/// let model = try await Model.load(contentsOf: "models/digits", configuration: ModelConfiguration())
/// let result = try await model.classification(of: EncodedImage(bytes), top: 3)
/// ```
public final class Model: Sendable {
    /// The model's metadata, inputs and outputs.
    public let description: ModelDescription
    /// A number that is unique among all models of this process, including released ones.
    package let number = Model.numbers.add(1, ordering: .relaxed).newValue
    private static let numbers = Atomic<UInt64>(0)
    /// The configuration that it was loaded with.
    public let configuration: ModelConfiguration
    /// Manages the slots of this model.
    public var limiter: InFlightLimiter { resources.limiter }
    /// The report of its load.
    public var loadReport: LoadReport { load.withLock { $0 } }
    let load: Mutex<LoadReport>
    /// The time when the last prediction ended, in nanoseconds of CLOCK_MONOTONIC.
    let lastUse = Atomic<UInt64>(MonotonicInstant.now.nanoseconds)
    /// Statistics since it was loaded.
    public var statistics: ModelStatistics { counted.withLock { $0 } }
    let counted = Guarded(ModelStatistics())
    /// The device that it runs on.
    package var device: String { compiled.executionDevices }
    /// The number of infer requests, which is the number of predictions that can be in the engine at the same time.
    public var instances: Int { requests.count }
    /// The value of `options` in `model.json`, for clients.
    public let options: JSONValue?
    /// The sources of the model's description; nil if it has a model.json.
    public let provenance: ModelProvenance?

    // Computed once, because each request needs these values.

    /// True if it takes one picture.
    package let takesOnePicture: Bool
    /// The labels that `classify` returns; nil if the model has no labels.
    package let classLabels: [String]?
    /// The classes that `classify` selects from; nil if the model has no classes.
    let builtInClasses: ClassificationReader.Classes?
    /// True if it takes one picture and returns classes.
    package let isImageClassifier: Bool
    /// The bundle's folder, or the model file.
    package let path: String
    /// The state of its files when they were read.
    package let stamp: BundleStamp
    /// True if its pictures are watched for drift, false if not; nil if the bundle does not say (`runtime.drift`).
    package let watchesDrift: Bool?
    /// The resources that its predictions run with; for a pipeline, those of its detector.
    let resources: ModelResources
    /// The plans for reading its outputs as observations of a picture, if the bundle describes them.
    let observations: [ObservationPlan]
    /// The model compiled for several items in one inference; nil if the bundle does not request it.
    let batch: BatchVariant?
    /// The model compiled for predictions that run while no other does.
    package let singleStream: SingleStreamSlot
    /// Reports scores that are not confidences.
    package let scoreWatch = ScoreWatch()
    /// The answers of one stream, for the canary; nil if they were not compared.
    let reference = Mutex<Reference?>(nil)
    /// The difference that the canary found between its streams and one stream; nil if it found none.
    package let laterDifference = Mutex<String?>(nil)
    /// The goldens that agreed at the load, for the canary, in the order of their next use.
    let goldens = Mutex<ArraySlice<GoldenPicture>>([])
    /// The cost of pictures of open size.
    let openCost = Mutex(OpenCost())
    /// The stages of a pipeline; nil for a model.
    package let pipeline: Pipeline?
    /// The networks of a reader of text; nil for other models, and for a recognizer without a detector.
    package let reader: Reader?
    /// The text side of a model that embeds texts; nil for other models.
    package let words: Words?
    /// The calibration of a classifier, which its classes use; nil if it has none.
    package let calibration: ClassifierCalibration?
    /// The number of pipelines that keep this model: it is not idle while a pipeline does.
    let pipelines = Atomic<Int>(0)

    // Wide: what differs between models, and between a model, a pipeline, a reader and a model that embeds texts.
    init(
        _ description: ModelDescription, bundle: ModelBundle, options: JSONValue?, provenance: ModelProvenance? = nil,
        resources: ModelResources, observations: [ObservationPlan], batch: BatchVariant? = nil,
        singleStream: SingleStreamVariant.Recipe? = nil, pipeline: Pipeline? = nil, reader: Reader? = nil,
        words: Words? = nil, calibration: ClassifierCalibration? = nil, configuration: ModelConfiguration,
        loadReport: LoadReport
    ) {
        self.description = description
        self.options = options
        self.provenance = provenance
        self.resources = resources
        self.observations = observations
        self.batch = batch
        self.singleStream = SingleStreamSlot(singleStream, conditions: configuration.singleStream.conditions)
        self.pipeline = pipeline
        self.reader = reader
        self.words = words
        self.calibration = calibration
        self.configuration = configuration
        path = bundle.path
        stamp = bundle.stamp
        watchesDrift = bundle.manifest?.runtime.drift
        load = Mutex(loadReport)
        takesOnePicture = description.imageInput != nil
        classLabels = description.classLabels
        isImageClassifier = pipeline == nil && takesOnePicture && classLabels != nil
        builtInClasses = Self.classes(
            description, resources.plan, observations, provenance, scoreWatch, calibration)
    }

    /// The time for which the model has been idle; zero while it is in use.
    public var idleTime: Duration {
        let state = limiter.snapshot
        guard state.inFlight == 0, state.waiting == 0, pipelines.load(ordering: .relaxed) == 0 else { return .zero }
        if let texts = words?.textModel.limiter.snapshot, texts.inFlight > 0 || texts.waiting > 0 { return .zero }
        return MonotonicInstant.now - MonotonicInstant(nanoseconds: lastUse.load(ordering: .relaxed))
    }

    /// The time when the last prediction ended, or the model was loaded.
    package var lastActivity: MonotonicInstant { MonotonicInstant(nanoseconds: lastUse.load(ordering: .relaxed)) }

    /// Notes that it was used now.
    func used() { lastUse.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed) }

    /// Releases the tensors that are kept for the next predictions. Call it when no predictions arrive.
    package func releaseMemory() {
        tensors.releaseAll()
        for (_, model) in reader?.models ?? [] { model.releaseMemory() }
        words?.textModel.releaseMemory()
    }
}

/// The resources under short names.
extension Model {
    var plan: ModelPlan { resources.plan }
    var compiled: any CompiledModel { resources.compiled }
    var requests: RequestPool { resources.requests }
    var tensors: InputTensorPool { resources.tensors }
}
