internal import FileFormats
public import FlowControl
internal import ImagePipeline
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
    public let limiter: InFlightLimiter
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
    let ownClasses: ClassificationReader.Classes?
    /// True if it takes one picture and returns classes.
    package let isImageClassifier: Bool
    /// The bundle's folder, or the model file.
    package let path: String
    /// The state of its files when they were read.
    package let stamp: BundleStamp
    let compiled: any CompiledModel
    let plan: ModelPlan
    /// The plans for reading its outputs as observations of a picture, if the bundle describes them.
    let observations: [ObservationPlan]
    let requests: RequestPool
    /// The model compiled for several items in one inference; nil if the bundle does not request it.
    let batch: BatchVariant?
    let tensors: InputTensorPool
    /// The memory that the engine may keep for different input sizes; nil for a pipeline: its models have their own.
    private let shapeMemory: DecodeBudget.Reservation?
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
    /// The checks of the shapes that callers give to open axes.
    let shapeChecks: ShapeChecks
    /// The stages of a pipeline; nil for a model.
    package let pipeline: Pipeline?
    /// The number of pipelines that keep this model: it is not idle while a pipeline does.
    let pipelines = Atomic<Int>(0)

    // Wide: the parts of a loaded model, each under its name, from one place.
    init(
        bundle: ModelBundle, manifest: ModelManifest?, provenance: ModelProvenance? = nil, version: String? = nil,
        plan: ModelPlan, observations: [ObservationPlan] = [], compiled: any CompiledModel,
        batch: BatchVariant? = nil, singleStream: SingleStreamVariant.Recipe? = nil, configuration: ModelConfiguration,
        loadReport: LoadReport
    ) throws(InferenceError) {
        var description = ModelDescription(
            name: manifest?.name ?? bundle.name,
            details: manifest.flatMap { $0.details.isEmpty ? nil : $0.details } ?? plan.about?.details ?? "",
            identifier: manifest?.identifier ?? bundle.name,
            version: version ?? manifest?.version ?? "1",
            author: manifest.flatMap { $0.author.isEmpty ? nil : $0.author } ?? plan.about?.author ?? "",
            license: manifest.flatMap { $0.license.isEmpty ? nil : $0.license } ?? plan.about?.license ?? "",
            backend: (manifest?.backend ?? ModelFormat(path: bundle.source.path)).rawValue,
            inputs: plan.inputs.map { batch == nil ? $0.description : $0.description.openingBatch },
            outputs: plan.outputs.map { batch == nil ? $0.description : $0.description.openingBatch })
        description.embeddingLabels = observations.first(where: \.output.classifies)?.output.labels
        self.description = description
        takesOnePicture = description.imageInput != nil
        classLabels = description.classLabels
        ownClasses = Self.classes(description, plan, observations, provenance, scoreWatch)
        isImageClassifier = takesOnePicture && classLabels != nil
        options = manifest?.options ?? plan.about?.options
        self.provenance = provenance
        pipeline = nil
        path = bundle.path
        stamp = bundle.stamp
        self.plan = plan
        self.observations = observations
        self.compiled = compiled
        self.batch = batch
        self.singleStream = SingleStreamSlot(singleStream, worth: configuration.singleStream.worth)
        self.configuration = configuration
        var loadReport = loadReport
        for (what, features) in [("input", description.inputs), ("output", description.outputs)] {
            loadReport.treatment += features.compactMap { feature in
                feature.treatment.map { "\(what) \"\(feature.name)\": \($0)" }
            }
        }
        load = Mutex(loadReport)
        let instances = configuration.instances ?? compiled.optimalRequestCount
        let slots = configuration.maxInFlight ?? Sizing.slots(requests: instances).value
        limiter = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: slots, queueCapacity: configuration.queueCapacity, maxWait: configuration.maxWait,
                policy: configuration.overloadPolicy, overloadTarget: configuration.overloadTarget))
        do throws(EngineError) {
            // One more than the number of slots, because the canary waits for a request without holding a slot.
            requests = try RequestPool(compiled, count: instances, waiters: slots + 1)
        } catch {
            throw .engine(error)
        }
        tensors = InputTensorPool(compiled: compiled, plans: plan.inputs, capacity: slots)
        shapeMemory = DecodeBudget.shared.reservation(compiled.shapeMemory + (batch?.compiled.shapeMemory ?? 0))
        shapeChecks = ShapeChecks(waiters: slots) { shapes in
            Result { () throws(EngineError) in try compiled.check(shapes) }
        }
    }

    /// Creates a pipeline: its detector under another name, with stages. It shares the detector's slots and infer
    /// requests.
    package init(
        _ pipeline: Pipeline, bundle: ModelBundle, version: String?, configuration: ModelConfiguration,
        loadReport: LoadReport
    ) {
        let detector = pipeline.detector, manifest = bundle.manifest
        description = ModelDescription(
            name: manifest?.name ?? bundle.name, details: manifest?.details ?? "",
            identifier: manifest?.identifier ?? bundle.name, version: version ?? manifest?.version ?? "1",
            author: manifest?.author ?? "", license: manifest?.license ?? "", backend: "pipeline",
            inputs: detector.description.inputs, outputs: detector.description.outputs)
        takesOnePicture = description.imageInput != nil
        classLabels = description.classLabels
        isImageClassifier = false
        options = manifest?.options
        provenance = nil
        self.pipeline = pipeline
        path = bundle.path
        stamp = bundle.stamp
        plan = detector.plan
        observations = detector.observations.filter { $0.output.task == .detect }
        ownClasses = Self.classes(description, plan, observations, nil, scoreWatch)
        compiled = detector.compiled
        // A pipeline has no batches: each picture has its own slot.
        batch = nil
        singleStream = SingleStreamSlot(nil, worth: configuration.singleStream.worth)
        self.configuration = configuration
        load = Mutex(loadReport)
        limiter = detector.limiter
        requests = detector.requests
        tensors = detector.tensors
        shapeMemory = nil
        shapeChecks = detector.shapeChecks
    }

    /// The time for which the model has been idle; zero while it is in use.
    public var idleTime: Duration {
        let state = limiter.snapshot
        guard state.inFlight == 0, state.waiting == 0, pipelines.load(ordering: .relaxed) == 0 else { return .zero }
        return MonotonicInstant.now - MonotonicInstant(nanoseconds: lastUse.load(ordering: .relaxed))
    }

    /// The time when the last prediction ended, or the model was loaded.
    package var lastActivity: MonotonicInstant { MonotonicInstant(nanoseconds: lastUse.load(ordering: .relaxed)) }

    /// Releases the tensors that are kept for the next predictions. Call it when no predictions arrive.
    package func releaseMemory() {
        tensors.releaseAll()
    }

    // MARK: Predictions

    /// Runs the model once.
    ///
    /// Waits for a slot, prepares the inputs, and runs the engine. Cancelling the task stops any of these steps.
    /// - Parameters:
    ///   - features: a value for each input, by name.
    ///   - slot: a slot that the caller already holds; nil takes a slot for the call.
    /// - Throws: ``InferenceError`` for invalid inputs, refusals, cancellation and engine failures.
    public func prediction(
        from features: some FeatureProvider, options: PredictionOptions = PredictionOptions(), slot: Slot? = nil
    ) async throws(InferenceError) -> Prediction {
        try checkNames(features)
        let shapes = try dynamicShapes(features)
        let held = try await admit(slot, options)
        defer { leave(held, given: slot) }
        return try await run(options: options, slot: held, shapes: shapes) { (_, input) throws(InferenceError) in
            try Self.value(of: input, in: features)
        } read: { (outputs, image, times) throws(InferenceError) in
            try self.unfinished(in: outputs, image: image, times: times, options)
        }.finished()
    }

    /// Reads all outputs, as the bundle describes them.
    func prediction(
        in engineOutputs: any EngineOutputs, image: ImageInfo?, times: StageTimes
    ) throws(InferenceError) -> Prediction {
        var values: [(name: String, value: FeatureValue)] = []
        for output in plan.outputs {
            values.append((output.description.name, try Self.value(of: output, in: engineOutputs)))
        }
        return Prediction(outputs: DictionaryFeatureProvider(values), image: image, times: times)
    }

    /// Reads all outputs; pictures that must be scaled back to the size of the picture sent are not encoded yet.
    private func unfinished(
        in engineOutputs: any EngineOutputs, image: ImageInfo?, times: StageTimes, _ options: PredictionOptions
    ) throws(InferenceError) -> UnfinishedPrediction {
        let open = plan.inputs.first { $0.openPicture != nil }
        let sent = open?.openPicture.flatMap { pipeline in
            image.map { PictureReturn($0, pipeline, ImageDecodeOptions(options)) }
        }
        var parts: [(name: String, part: UnfinishedPrediction.Part)] = []
        for output in plan.outputs {
            var picture: MadePicture?
            if let sent, let open, case .image = output.kind {
                picture = try engineOutputs.reading(output.index) { (shape, raw) throws(InferenceError) in
                    try OutputReader.openForm(of: output, shape: shape, count: raw.count).map {
                        MadePicture(input: open.description.name, form: $0, raw: [UInt8](raw), sent: sent)
                    }
                }
            }
            let part: UnfinishedPrediction.Part =
                if let picture { .picture(picture) } else { .value(try Self.value(of: output, in: engineOutputs)) }
            parts.append((output.description.name, part))
        }
        return UnfinishedPrediction(parts: parts, image: image, times: times)
    }

    private static func value(
        of output: OutputPlan, in outputs: any EngineOutputs
    ) throws(InferenceError) -> FeatureValue {
        if case .feature = output.kind, let value = outputs.feature(output.index) { return value }
        return try outputs.reading(output.index) { (shape, raw) throws(InferenceError) in
            try OutputReader.value(of: output, shape: shape, raw: raw)
        }
    }

    /// Runs the model once and passes the outputs in the engine's memory to `read`, in the bundle's order. Arrays are
    /// the engine's own tensors, without the bundle's transforms.
    /// - Parameter read: called while the infer request is held: it should only copy.
    package func tensors<R: Sendable>(
        from features: some FeatureProvider, options: PredictionOptions, slot: Slot,
        read: ([TensorView], StageTimes) throws(InferenceError) -> R
    ) async throws(InferenceError) -> R {
        let plan = plan
        var options = options
        options.usesTensors = true
        try checkNames(features)
        return try await run(options: options, slot: slot, shapes: dynamicShapes(features)) {
            (_, input) throws(InferenceError) in
            try Self.value(of: input, in: features)
        } read: { (request, _, times) throws(InferenceError) -> R in
            try Self.views(plan.outputs[...], of: request, []) { (views) throws(InferenceError) -> R in
                try read(views, times)
            }
        }
    }

    /// Reads the first output, and calls itself for the others while that output's memory is valid.
    static func views<R>(
        _ rest: ArraySlice<OutputPlan>, of request: any EngineOutputs, _ views: [TensorView],
        _ body: ([TensorView]) throws(InferenceError) -> R
    ) throws(InferenceError) -> R {
        guard let next = rest.first else { return try body(views) }
        if let encoded = try FeatureBytes.encoded(next, of: request) {
            return try encoded.bytes.lent { (raw) throws(InferenceError) -> R in
                let view = TensorView(index: rest.startIndex, shape: encoded.shape, bytes: raw)
                return try Self.views(rest.dropFirst(), of: request, views + [view], body)
            }
        }
        return try request.reading(next.index) { (shape, raw) throws(InferenceError) -> R in
            let view = TensorView(index: rest.startIndex, shape: shape, bytes: raw)
            return try Self.views(rest.dropFirst(), of: request, views + [view], body)
        }
    }

    /// Classifies one picture.
    /// - Parameters:
    ///   - image: the encoded picture.
    ///   - top: the number of classes to return, at least 1.
    ///   - threshold: the minimum confidence of a class in the result.
    ///   - slot: a slot that the caller already holds; nil takes a slot for the call.
    public func classification(
        of image: EncodedImage, top: Int, threshold: Float = 0, options: PredictionOptions = PredictionOptions(),
        slot: Slot? = nil
    ) async throws(InferenceError) -> ClassificationResult {
        let reader = try classificationReader(top: top, threshold: threshold)
        return try await classification(of: image, by: reader, options: options, slot: slot)
    }

    func classification(
        of image: EncodedImage, by reader: ClassificationReader, options: PredictionOptions, slot: Slot?
    ) async throws(InferenceError) -> ClassificationResult {
        let held = try await admit(slot, options)
        defer { leave(held, given: slot) }
        return try await run(options: options, slot: held, shapes: [:]) { (_, input) throws(InferenceError) in
            input.isPicture ? .image(image) : nil
        } read: { (outputs, info, times) throws(InferenceError) -> ClassificationResult in
            try reader.result(in: outputs, image: info, times: times)
        }
    }

    /// Runs the model once and blocks the calling thread until the prediction has ended. For command-line programs and
    /// scripts; never call it in a task, because other tasks need its thread.
    public func prediction(
        from features: some FeatureProvider, options: PredictionOptions = PredictionOptions()
    ) throws(InferenceError) -> Prediction {
        let box = BlockingResult<Prediction>()
        Task.detached {
            do throws(InferenceError) {
                box.set(.success(try await self.prediction(from: features, options: options, slot: nil)))
            } catch {
                box.set(.failure(error))
            }
        }
        return try box.wait().get()
    }

    /// Runs the model once for each element, several in parallel. The failure of one element does not affect the
    /// others. Results are in the order of the elements.
    public func predictions(
        from batch: [any FeatureProvider], options: PredictionOptions = PredictionOptions()
    ) async -> [Result<Prediction, InferenceError>] {
        if self.batch != nil, batch.count > 1 { return await predictions(inChunks: batch, options: options) }
        // At most as many at a time as slots exist: a long batch must not fill the queue in which other requests wait.
        let width = Swift.min(batch.count, Swift.max(1, limiter.snapshot.limit))
        return await withTaskGroup(of: IndexedOutcome.self) { group in
            var outcomes: [IndexedOutcome] = []
            outcomes.reserveCapacity(batch.count)
            for index in 0..<width {
                group.addTask { await self.outcome(of: batch[index], at: index, options: options) }
            }
            var next = width
            while let outcome = await group.next() {
                outcomes.append(outcome)
                guard next < batch.count else { continue }
                let index = next
                next += 1
                group.addTask { await self.outcome(of: batch[index], at: index, options: options) }
            }
            return outcomes.sorted { $0.index < $1.index }.map(\.result)
        }
    }
}
