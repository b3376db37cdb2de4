internal import FlowControl
internal import ImagePipeline
internal import Synchronization
internal import SystemSupport

/// The way of one prediction: a slot, the inputs, an infer request, the engine, the outputs.
extension Model {
    /// A slot: the caller's own, or the next that is free before the deadline.
    func admit(_ given: Slot?, _ options: PredictionOptions) async throws(InferenceError) -> Slot {
        if let given { return given }
        do throws(AdmissionError) {
            return try await limiter.acquire(deadline: options.deadline, claim: options.claim)
        } catch {
            throw InferenceError(ofQueue: error)
        }
    }

    /// Releases a slot of ``admit(_:_:)``, unless it is the caller's own.
    func leave(_ slot: Slot, given: Slot?) {
        lastUse.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
        if given == nil { slot.release() }
    }

    func run<R: Sendable>(
        options: PredictionOptions,
        slot given: Slot?,
        shapes: [Int: Shape],
        value: (Int, InputPlan) throws(InferenceError) -> FeatureValue?,
        read: (any EngineOutputs, ImageInfo?, StageTimes) throws(InferenceError) -> R
    ) async throws(InferenceError) -> R {
        var times = StageTimes()
        let arrived = MonotonicInstant.now
        var ended: (times: StageTimes, output: UInt64)?
        defer {
            let now = MonotonicInstant.now
            let total = now.nanoseconds(since: arrived)
            counted.withLock {
                if let ended {
                    $0.succeeded(ended.times, output: ended.output, total: total, at: now.nanoseconds)
                    $0.executed(
                        1, input: ended.times.decode, inference: ended.times.inference, output: ended.output)
                } else {
                    $0.failed(total: total, at: now.nanoseconds)
                }
            }
        }
        let slot = try await admit(given, options)
        defer { leave(slot, given: given) }
        try await check(shapes, deadline: options.deadline)
        PredictionsUnderWay.begin()
        defer { PredictionsUnderWay.end() }
        let admitted = MonotonicInstant.now
        times.queue = admitted.nanoseconds(since: arrived)

        let filled: InputTensors
        do throws(EngineError) {
            filled = try tensors.take(shapes: shapes)
        } catch {
            throw .engine(error)
        }
        // The engine has released them by then: whatever became of the task, the inference was waited for.
        defer { tensors.giveBack(filled) }

        var image: ImageInfo?
        // Nanoseconds that pictures waited for memory to be decoded in.
        var waited: UInt64 = 0
        let deadline = options.deadline
        let filler = InputFiller(options: options) { false }
        for (position, input) in plan.inputs.enumerated() {
            do throws(InferenceError) {
                guard let value = try value(position, input) else {
                    try filler.fillMissing(filled.tensors[position], plan: input)
                    continue
                }
                let room = try await decodeRoom(for: value, plan: input, until: deadline)
                defer { room?.release() }
                waited &+= room?.waited ?? 0
                image =
                    try await fill(filled.tensors[position], with: value, plan: input, options: options) ?? image
            } catch {
                throw error.isStoppedDecoding ? .stopped(at: .decode) : error
            }
        }
        let prepared = MonotonicInstant.now
        times.queue += waited
        times.decode = prepared.nanoseconds(since: admitted) &- waited

        let pooled: RequestPool.PooledRequest
        do throws(AdmissionError) {
            pooled = try await takeRequest(until: options.deadline)
        } catch {
            throw InferenceError(ofQueue: error)
        }
        defer { pooled.release() }
        let isAlone = PredictionsUnderWay.isOne
        let started = MonotonicInstant.now
        times.queue += started.nanoseconds(since: prepared)
        do throws(EngineError) {
            try setInputs(of: pooled.request, to: filled.tensors)
            pooled.request.setDetectionThresholds(options.detectionThresholds)
            try await Self.infer(pooled.request, deadline: deadline)
        } catch {
            throw InferenceError(ofRun: error)
        }
        let inferred = MonotonicInstant.now
        times.inference = inferred.nanoseconds(since: started)
        times.loneThreads = pooled.loneThreads
        considerLone(times, alone: isAlone)
        let result = try read(pooled.request, image, times)
        ended = (times, MonotonicInstant.now.nanoseconds(since: inferred))
        return result
    }

    /// Runs the model, to check that it works: on every infer request that is free, all at once, and compares their answers with those of
    /// one stream; where there are none to compare with, once on zeros. Takes no slot of ``limiter``, so that it also works when the model
    /// is busy; it then waits for an infer request. Does nothing if the shape of an input is open.
    /// - Returns: how the answers of several streams differ from those of one, nil if they do not: the model is to be reloaded, and then runs
    ///   with one stream.
    /// - Throws: where the engine fails, or differs with one stream too.
    @discardableResult
    public func canary() async throws(InferenceError) -> String? {
        guard hasZeros else { return nil }
        var taken: [RequestPool.PooledRequest] = []
        defer { for pooled in taken { pooled.release() } }
        do throws(AdmissionError) { taken.append(try await requests.acquire(deadline: nil)) } catch { return nil }
        do throws(EngineError) {
            guard let reference = reference.withLock({ $0 }) else {
                let filled = try tensors.take()
                defer { tensors.giveBack(filled) }
                for tensor in filled.tensors { tensor.zero() }
                try setInputs(of: taken[0].request, to: filled.tensors)
                try await Self.inferAnything(taken[0].request)
                return nil
            }
            while let pooled = requests.tryAcquire() { taken.append(pooled) }
            let probe = AnswerProbe(plan: plan, compiled: compiled), running = taken.map(\.request)
            let mayLoseStreams = (compiled.execution.streams ?? 2) > 1
            let outcome = await LoaderThread.run(lending: (self, probe, running)) { model, probe, running in
                Result { () throws(EngineError) in
                    let difference = try probe.difference(
                        from: reference.answers, requests: running, patterns: [.picture], rounds: 1)
                    if mayLoseStreams, let difference { model.keep(difference, reference) }
                    return difference
                }
            }
            let difference = try outcome?.get()
            guard let difference, !mayLoseStreams else { return difference }
            throw EngineError(kind: .failure, operation: "repeat its answers", detail: difference)
        } catch {
            throw .engine(error)
        }
    }

    /// Starts the inference and waits for the engine's callback; a cancelled task or a deadline asks the engine to stop,
    /// and still waits: neither the request nor its slot may be used before the engine is done with it.
    static func infer(
        _ request: any InferRequest, deadline: MonotonicInstant? = nil
    ) async throws(EngineError) {
        let timer = deadline.map { DeadlineTimer.shared.schedule(at: $0) { request.cancel() } }
        defer { if let timer { DeadlineTimer.shared.remove(timer) } }
        let failure: EngineError? = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                do throws(EngineError) {
                    try request.start { continuation.resume(returning: nil) }
                } catch {
                    continuation.resume(returning: error)
                    return
                }
                // A cancellation before the start found nothing to stop.
                if Task.isCancelled { request.cancel() }
            }
        } onCancel: {
            request.cancel()
        }
        if let failure { throw failure }
        try request.finish()
    }

    /// Runs the model on made-up values. That it refuses them as no client may send them shows that it works.
    static func inferAnything(_ request: any InferRequest) async throws(EngineError) {
        do throws(EngineError) {
            try await infer(request)
        } catch {
            if error.kind != .invalidInput { throw error }
        }
    }

    static func output<R>(
        _ index: Int, of request: any EngineOutputs,
        _ body: (Shape, UnsafeRawBufferPointer) throws(InferenceError) -> R
    ) throws(InferenceError) -> R {
        let result: Result<R, InferenceError>
        do throws(EngineError) {
            result = try request.withOutput(index) { shape, raw in
                do throws(InferenceError) {
                    return .success(try body(shape, raw))
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw .engine(error)
        }
        return try result.get()
    }

    /// Names that the model does not have are mistakes that would otherwise go unseen.
    func checkNames(_ features: some FeatureProvider) throws(InferenceError) {
        let known = plan.inputs.map(\.description.name)
        for name in features.featureNames where !known.contains(name) {
            throw .invalidInput(name: name, reason: "the model has no input of this name; it has \(known.listed)")
        }
    }

    /// The extents of inputs whose shape the model leaves open.
    func dynamicShapes(_ features: some FeatureProvider) throws(InferenceError) -> [Int: Shape] {
        var shapes: [Int: Shape] = [:]
        for (position, input) in plan.inputs.enumerated() where !input.description.shape.isStatic {
            let shape: Shape
            switch features.featureValue(for: input.description.name) {
            case .multiArray(let array)?: shape = array.shape
            case .lentArray(let array)?: shape = array.shape
            default: continue
            }
            let expected = input.description.shape.dimensions, found = shape.dimensions
            let fits =
                expected.count == found.count
                && zip(expected, found).allSatisfy { $0 == Shape.dynamic || $0 == $1 }
            guard fits else {
                throw .invalidInput(
                    name: input.description.name,
                    reason: "expected shape \(input.description.shape), found \(shape)")
            }
            if let limits = input.description.shapeLimits, !limits.allows(shape) {
                throw .invalidInput(
                    name: input.description.name, reason: "expected \(limits.description), found \(shape)")
            }
            shapes[position] = shape
        }
        return shapes
    }

    /// The value of an input.
    static func value(
        of input: InputPlan, in features: some FeatureProvider
    ) throws(InferenceError) -> FeatureValue? {
        guard let value = features.featureValue(for: input.description.name) else {
            if input.fallback != nil { return nil }
            throw .invalidInput(name: input.description.name, reason: "is missing")
        }
        return value
    }

    /// Hands tensors, one for each input in the plan's order, to a request.
    func setInputs(of request: any InferRequest, to tensors: [any EngineTensor]) throws(EngineError) {
        for (position, input) in plan.inputs.enumerated() {
            try request.setInput(input.index, to: tensors[position])
        }
    }
}

extension InferenceError {
    /// An engine's error during a prediction: the client's mistake, the end of its patience, or the engine's failure.
    init(ofRun error: EngineError) {
        self =
            switch error.kind {
            case .cancelled: .stopped(at: .inference)
            case .invalidInput: .invalidInput(name: error.operation, reason: error.detail)
            default: .engine(error)
            }
    }

    /// Why there was no slot or no infer request.
    init(ofQueue error: AdmissionError) {
        self = if case .cancelled = error { .cancelled(stage: .queue) } else { .refused(error) }
    }

    /// The error of a stage that stopped because `isCancelled` was true: by the task's end, or the deadline.
    package static func stopped(at stage: Stage) -> InferenceError {
        Task.isCancelled ? .cancelled(stage: stage) : .deadlineExceeded(stage: stage)
    }

    /// True if a decoder stopped because it was asked to.
    var isStoppedDecoding: Bool { if case .image(.cancelled, _) = self { true } else { false } }
}
