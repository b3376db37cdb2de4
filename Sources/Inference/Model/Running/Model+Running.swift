internal import FlowControl
internal import ImagePipeline
internal import Synchronization
internal import SystemSupport

/// The stages of an inference: a slot, the inputs, an infer request, the engine, the outputs.
extension Model {
    /// Runs the model once, for one item.
    /// - Parameters:
    ///   - slot: held by the caller until the outputs are no longer needed.
    ///   - shapes: the shapes of inputs that the model leaves open, by position.
    ///   - value: returns the value of the input at a position; nil if the prediction omits it.
    ///   - read: called while the infer request is held.
    func run<R: Sendable>(
        options: PredictionOptions,
        slot: Slot,
        shapes: [Int: Shape],
        value: (Int, InputPlan) throws(InferenceError) -> FeatureValue?,
        read: (any EngineOutputs, ImageInfo?, StageTimes) throws(InferenceError) -> R
    ) async throws(InferenceError) -> R {
        var item = FilledItem(), record = InferenceRecord(in: slot)
        let sized: SizedItem?
        do throws(InferenceError) {
            // Checked here, because the call itself allocates memory for everything that it might do.
            sized = plan.hasOpenPictures ? try await self.sized(options, value: value) : nil
        } catch {
            counted.withLock { record.count(in: &$0) }
            throw error
        }
        defer { sized?.room?.release() }
        let shapes = shapes.merging(sized?.shapes ?? [:]) { $1 }
        return try await perform(record, options: options, shapes: shapes) {
            (tensors, record) throws(InferenceError) in
            if let sized { record.decoded(before: sized.decoding) }
            item = try await fill(options, sized, tensor: { tensors[$0] }, value: value)
            record.filled(waiting: item.waited)
            record.nonFinite = item.nonFinite
            return nil
        } read: { (request, record) throws(InferenceError) in
            if let sized { learn(sized, from: request, inference: record.times.inference) }
            let result = try read(request, item.image, record.times)
            record.read(record.times, since: record.inferred)
            return result
        }
    }

    /// Runs one inference, stage by stage. The resources of all stages are released after the last one, in reverse
    /// order.
    /// - Parameters:
    ///   - record: the inference at its beginning.
    ///   - fill: writes the values into the tensors; returns an answer if no inference is needed.
    ///   - read: reads the answer while the infer request is held.
    func perform<R>(
        _ record: consuming InferenceRecord, options: PredictionOptions, shapes: [Int: Shape] = [:],
        fill: ([any EngineTensor], inout InferenceRecord) async throws(InferenceError) -> R?,
        read: (any InferRequest, inout InferenceRecord) throws(InferenceError) -> R
    ) async throws(InferenceError) -> R {
        var record = record
        record.waitedForModel(options.loadWait)
        defer {
            lastUse.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
            counted.withLock { record.count(in: &$0) }
        }
        let indexed = byIndex(shapes)
        // Batches have fixed shapes, which both engines have run when the model was loaded.
        let refusal = record.batch == nil ? try await refusal(of: indexed, deadline: options.deadline) : nil
        RunningPredictions.begin()
        defer { RunningPredictions.end() }
        record.isChecked()
        let inputs = try takeTensors(for: record, shapes: shapes)
        // The engine has released the tensors by then: even a cancelled task waits for the inference.
        defer { if record.batch == nil { tensors.giveBack(inputs) } }
        if let answer = try await fill(inputs.tensors, &record) { return answer }
        let pooled = try await infer(&record, on: inputs.tensors, options, shapes: indexed, refusal: refusal)
        defer { pooled.release() }
        record.ends(singleStreamThreads: pooled.singleStreamThreads)
        if record.batch == nil, !record.isOfFallback {
            considerSingleStream(record.times, alone: record.times.occupancy == 1)
        }
        return try read(pooled.request, &record)
    }

    /// Returns the slot for a public call: the caller's own, or the next that is free before the deadline. All inner
    /// functions require a slot.
    /// - Parameter count: the number of items that count as failed if no slot is obtained.
    func admit(
        _ given: Slot?, _ options: PredictionOptions, for count: Int = 1
    ) async throws(InferenceError) -> Slot {
        if let given { return given }
        let arrived = MonotonicInstant.now
        do throws(AdmissionError) {
            return try await limiter.acquire(deadline: options.deadline, claim: options.claim)
        } catch {
            let now = MonotonicInstant.now
            counted.withLock {
                for _ in 0..<count { $0.failed(total: now.nanoseconds(since: arrived), at: now.nanoseconds) }
            }
            throw InferenceError(ofQueue: error)
        }
    }

    /// Releases a slot of ``admit(_:_:for:)``, unless it is the caller's own.
    func leave(_ slot: Slot, given: Slot?) {
        if given == nil { slot.release() }
    }

    /// Takes tensors for the inputs: from the pool for one item, new ones for several.
    private func takeTensors(
        for record: borrowing InferenceRecord, shapes: [Int: Shape]
    ) throws(InferenceError) -> InputTensors {
        if let batch = record.batch { return InputTensors(tensors: try tensors(of: batch, count: record.count)) }
        do throws(EngineError) {
            return try tensors.take(shapes: shapes)
        } catch {
            throw .engine(error)
        }
    }

    /// Writes one item into its tensors.
    /// - Parameters:
    ///   - sized: the item's pictures, if their sizes are open.
    ///   - tensor: returns the item's tensor of the input at a position.
    func fill(
        _ options: PredictionOptions, _ sized: SizedItem? = nil, tensor: (Int) -> any EngineTensor,
        value: (Int, InputPlan) throws(InferenceError) -> FeatureValue?
    ) async throws(InferenceError) -> FilledItem {
        var item = FilledItem()
        if let decoded = options.decoded, plan.inputs.count == 1, let image = decoded.fill(tensor(0), of: plan.inputs) {
            item.image = image
            return item
        }
        let filler = InputFiller(options: options) { false }
        for (position, input) in (sized?.inputs ?? plan.inputs).enumerated() {
            do throws(InferenceError) {
                if let picture = sized?.pictures[position] {
                    let image = try await fill(tensor(position), with: picture, plan: input, options: options)
                    item.image = item.image ?? image
                    continue
                }
                guard let value = try value(position, input) else {
                    try filler.fillMissing(tensor(position), plan: input)
                    continue
                }
                let ready = try await ready(value, plan: input, options: options)
                defer { ready.room?.release() }
                item.waited &+= ready.waited
                let image = try await fill(tensor(position), with: ready.value, plan: input, options: options)
                item.image = item.image ?? image
                if image == nil { item.nonFinite = item.nonFinite ?? refusal(of: tensor(position), plan: input) }
            } catch {
                throw error.isStoppedDecoding ? .stopped(at: .decode) : error
            }
        }
        if let keeps = options.keeps, plan.inputs.count == 1 {
            keeps.keep(tensor(0), of: plan.inputs, image: item.image)
        }
        return item
    }

    private func takeRequest(
        for record: borrowing InferenceRecord, until deadline: MonotonicInstant?
    ) async throws(InferenceError) -> RequestPool.PooledRequest {
        if let batch = record.batch { return try await batch.requests.acquire(deadline: deadline) }
        return try await takeRequest(until: deadline)
    }

    /// The maximum number of attempts at one inference while failures of other inferences make its answer doubtful.
    /// With half of the inferences failing, 2 of 1,280 others were still doubtful after four attempts.
    private static let maximumAttempts = 16

    /// Runs the engine, or the runtime of the file's format if the engine refuses the inputs.
    /// - Parameters:
    ///   - shapes: of inputs with open axes, by the index of the input.
    ///   - refusal: the engine's error, if it is known to refuse them.
    /// - Returns: the infer request that holds the answer.
    private func infer(
        _ record: inout InferenceRecord, on tensors: [any EngineTensor], _ options: PredictionOptions,
        shapes: [Int: Shape], refusal: EngineError?
    ) async throws(InferenceError) -> RequestPool.PooledRequest {
        if let error = record.nonFinite, fallback == nil { throw InferenceError(ofRun: error) }
        var attempt = 1, refused = refusal ?? record.nonFinite
        while true {
            if let refused {
                return try await infer(&record, on: tensors, options, shapes: shapes, after: refused)
            }
            let pooled = try await takeRequest(for: record, until: options.deadline)
            record.begins(beside: RunningPredictions.number)
            do throws(EngineError) {
                try setInputs(of: pooled.request, to: tensors)
                pooled.request.setDetectionThresholds(options.detectionThresholds)
                try await pooled.run(deadline: options.deadline)
                return pooled
            } catch {
                pooled.release()
                let fallback = record.batch == nil ? fallback : nil
                if error.kind == .doubtful, attempt < Self.maximumAttempts {
                    attempt += 1
                    // The engine may have refused the same shapes meanwhile.
                    refused = fallback?.refusal(of: shapes)
                    continue
                }
                guard let fallback, fallback.accepts(error, of: shapes) else { throw InferenceError(ofRun: error) }
                refused = error
            }
        }
    }

    /// Sets the input tensors of a request, one for each input in the plan's order.
    func setInputs(of request: any InferRequest, to tensors: [any EngineTensor]) throws(EngineError) {
        for (position, input) in plan.inputs.enumerated() {
            try request.setInput(input.index, to: tensors[position])
        }
    }
}

/// The result of writing an item into its tensors.
struct FilledItem {
    /// The first picture that was decoded.
    var image: ImageInfo?
    /// Nanoseconds of waiting for memory to decode in.
    var waited: UInt64 = 0
    /// The engine's refusal of NaN or infinities in an input; nil if it takes all values.
    var nonFinite: EngineError?
}
