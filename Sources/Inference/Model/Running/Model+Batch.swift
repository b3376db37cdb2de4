package import FlowControl
internal import ImagePipeline
internal import Synchronization
internal import SystemSupport
package import Teaching

/// Runs several items in one inference of the engine, if the bundle sets `runtime.batch`.
extension Model {
    /// The maximum number of items of one inference; 1 if each item has its own inference.
    public var batchLimit: Int { batch?.limit ?? 1 }

    /// Divides a batch into as many parts as the engine runs in parallel, none larger than the limit.
    package func chunks(of count: Int) -> [Range<Int>] {
        let size = max(1, min(batchLimit, (count + instances - 1) / max(1, instances)))
        return stride(from: 0, to: count, by: size).map { $0..<min($0 + size, count) }
    }

    /// Classifies at most ``batchLimit`` pictures in one inference; only one without the batch variant. The failure of
    /// one picture does not affect the others. All of them share one slot.
    /// - Parameters:
    ///   - head: taught classes that replace the model's own, for a model that computes embeddings.
    ///   - labels: the labels of the request, of ``classes(of:prompts:options:)`` of this model; they replace all
    ///     others.
    package func classifications(
        of images: [EncodedImage], top: Int, threshold: Float, options: PredictionOptions, slot: Slot,
        head: TaughtClassifier? = nil, labels: LabelClasses? = nil
    ) async -> [Result<ClassificationResult, InferenceError>] {
        if let head = patchHead(head) {
            return await classifications(of: images, byPatches: head, options: options, slot: slot)
        }
        return await results(of: images) { (image) throws(InferenceError) in
            let reader = try classificationReader(
                top: top, threshold: threshold, head: head, labels: labels, options: options)
            return try await classification(of: image, by: reader, options: options, slot: slot)
        } together: { () throws(InferenceError) in
            let reader = try classificationReader(
                top: top, threshold: threshold, head: head, labels: labels, options: options)
            return try await runTogether(images.count, options: options, slot: slot) {
                (item, input) throws(InferenceError) in
                input.isPicture ? .image(images[item]) : nil
            } read: { (outputs, info, times) throws(InferenceError) in
                try reader.result(in: outputs, image: info, times: times)
            }
        }
    }

    /// Makes predictions in one inference; see ``classifications(of:top:threshold:options:slot:)``.
    package func predictions(
        of items: [some FeatureProvider], options: PredictionOptions, slot: Slot
    ) async -> [Result<Prediction, InferenceError>] {
        await results(of: items) { (item) throws(InferenceError) in
            try await prediction(from: item, options: options, slot: slot)
        } together: { () throws(InferenceError) in
            try await run(together: items, options: options, slot: slot) {
                (outputs, info, times) throws(InferenceError) in
                try prediction(in: outputs, image: info, times: times, options)
            }
        }
    }

    /// Passes the engine's own tensors for several items in one inference to `read`; see
    /// ``tensors(from:options:slot:read:)`` and ``classifications(of:top:threshold:options:slot:)``.
    /// - Parameter read: called for each item with its part of the outputs, while the infer request is held: it should
    ///   only copy.
    package func tensors<R: Sendable>(
        of items: [some FeatureProvider], options: PredictionOptions, slot: Slot,
        read: ([TensorView], StageTimes) throws(InferenceError) -> R
    ) async -> [Result<R, InferenceError>] {
        await results(of: items) { (item) throws(InferenceError) in
            try await tensors(from: item, options: options, slot: slot, read: read)
        } together: { () throws(InferenceError) in
            var options = options
            options.usesTensors = true
            return try await run(together: items, options: options, slot: slot) {
                (outputs, _, times) throws(InferenceError) in
                try Self.views(plan.outputs[...], of: outputs, []) { (views) throws(InferenceError) -> R in
                    try read(views, times)
                }
            }
        }
    }

    /// The result of a single item, or of several together; an error that affects all of them is the failure of each.
    func results<Item, R: Sendable>(
        of items: [Item], alone: (Item) async throws(InferenceError) -> R,
        together: () async throws(InferenceError) -> [Result<R, InferenceError>]
    ) async -> [Result<R, InferenceError>] {
        do throws(InferenceError) {
            if items.count == 1, let item = items.first { return [.success(try await alone(item))] }
            return try await together()
        } catch {
            return items.map { _ in .failure(error) }
        }
    }

    private func run<R: Sendable>(
        together items: [some FeatureProvider], options: PredictionOptions, slot: Slot,
        read: (any EngineOutputs, ImageInfo?, StageTimes) throws(InferenceError) -> R
    ) async throws(InferenceError) -> [Result<R, InferenceError>] {
        try await runTogether(items.count, options: options, slot: slot) { (item, input) throws(InferenceError) in
            try Self.value(of: input, in: items[item])
        } check: { (item) throws(InferenceError) in
            try checkNames(items[item])
        } read: { (outputs, info, times) throws(InferenceError) in
            try read(outputs, info, times)
        }
    }

    /// Makes predictions for any number of items, with several inferences at a time.
    func predictions(
        inChunks items: [any FeatureProvider], options: PredictionOptions
    ) async -> [Result<Prediction, InferenceError>] {
        let chunks = chunks(of: items.count)
        return await withTaskGroup(of: ChunkOutcome.self) { group in
            var outcomes: [ChunkOutcome] = []
            var next = 0
            func start() {
                let chunk = chunks[next]
                next += 1
                group.addTask { await self.outcome(of: chunk, of: items, options: options) }
            }
            // At most as many at a time as slots exist: a long batch must not fill the queue in which other requests
            // wait.
            while next < min(chunks.count, max(1, limiter.snapshot.limit)) { start() }
            while let outcome = await group.next() {
                outcomes.append(outcome)
                if next < chunks.count { start() }
            }
            return outcomes.sorted { $0.start < $1.start }.flatMap(\.results)
        }
    }

    private struct ChunkOutcome: Sendable {
        let start: Int
        let results: [Result<Prediction, InferenceError>]
    }

    private func outcome(
        of chunk: Range<Int>, of items: [any FeatureProvider], options: PredictionOptions
    ) async -> ChunkOutcome {
        let features = items[chunk].map { AnyFeatureProvider(base: $0) }
        do throws(InferenceError) {
            let slot = try await admit(nil, options, for: chunk.count)
            defer { slot.release() }
            let results = await predictions(of: features, options: options, slot: slot)
            return ChunkOutcome(start: chunk.lowerBound, results: results)
        } catch {
            return ChunkOutcome(start: chunk.lowerBound, results: chunk.map { _ in .failure(error) })
        }
    }

    // MARK: One inference

    /// Runs the model once for several items: like `run`, with separate failures of the items.
    /// - Throws: an error that affects all items.
    func runTogether<R: Sendable>(
        _ count: Int, options: PredictionOptions, slot: Slot,
        value: (Int, InputPlan) throws(InferenceError) -> FeatureValue?,
        check: (Int) throws(InferenceError) -> Void = { _ in },
        read: (any EngineOutputs, ImageInfo?, StageTimes) throws(InferenceError) -> R
    ) async throws(InferenceError) -> [Result<R, InferenceError>] {
        guard let batch, count <= batch.limit else {
            throw .unsupported(model: description.name, reason: "does not take \(count) items in one inference")
        }
        var items: [Result<BatchItem, InferenceError>] = []
        return try await perform(InferenceRecord(count, on: batch, in: slot), options: options) {
            (wholes, record) throws(InferenceError) in
            for item in 0..<count {
                items.append(
                    try await fill(item, of: count, in: wholes, options) { (input) throws(InferenceError) in
                        try check(item)
                        return try value(item, input)
                    })
            }
            // Each item has its own time for this stage.
            record.filled(waiting: 0)
            let failures = items.compactMap { $0.failure.map { Result<R, InferenceError>.failure($0) } }
            return failures.count == count ? failures : nil
        } read: { (request, record) throws(InferenceError) in
            // Each item gets its share, so that the sum over a batch is the time of the inference.
            let share = record.times.inference / UInt64(max(1, items.count { $0.failure == nil }))
            return items.enumerated().map { index, item in
                Result { () throws(InferenceError) in
                    let item = try item.get()
                    var times = record.times
                    times.queue &+= item.filled.waited
                    times.decode = item.decode
                    times.inference = share
                    let start = MonotonicInstant.now
                    let outputs = BatchItemOutputs(request: request, item: index, count: count)
                    let result = try read(outputs, item.filled.image, times)
                    record.read(times, since: start)
                    return result
                }
            }
        }
    }

    /// Creates tensors for several items, one per input in the plan's order.
    func tensors(of batch: BatchVariant, count: Int) throws(InferenceError) -> [any EngineTensor] {
        do throws(EngineError) {
            var tensors: [any EngineTensor] = []
            for input in plan.inputs {
                let shape = Shape([count] + input.description.shape.dimensions.dropFirst())
                tensors.append(
                    try batch.compiled.makeTensor(elementType: input.description.elementType, shape: shape))
            }
            return tensors
        } catch {
            throw .engine(error)
        }
    }

    /// The result of writing an item into its part of the tensors.
    private struct BatchItem {
        let filled: FilledItem
        /// Nanoseconds for decoding.
        let decode: UInt64
    }

    /// Writes one item into its part of the tensors.
    /// - Throws: an error that affects all items: cancellation, refusal or deadline.
    private func fill(
        _ item: Int, of count: Int, in wholes: [any EngineTensor], _ options: PredictionOptions,
        value: (InputPlan) throws(InferenceError) -> FeatureValue?
    ) async throws(InferenceError) -> Result<BatchItem, InferenceError> {
        let start = MonotonicInstant.now
        do throws(InferenceError) {
            let filled = try await fill(
                options, tensor: { BatchItemTensor(item, of: count, in: wholes[$0]) },
                value: { (_, input) throws(InferenceError) in try value(input) })
            if let error = filled.nonFinite { throw InferenceError(ofRun: error) }
            let time = MonotonicInstant.now.nanoseconds(since: start) &- filled.waited
            return .success(BatchItem(filled: filled, decode: time))
        } catch {
            switch error {
            case .cancelled, .refused, .deadlineExceeded: throw error
            default: break
            }
            // The result is not read, but uninitialized numbers can slow down the arithmetic.
            for whole in wholes { BatchItemTensor(item, of: count, in: whole).zero() }
            return .failure(error)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
