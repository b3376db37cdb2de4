internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Settings
internal import SystemSupport

/// Answers `POST /v2/models/{name}/infer`: the engine's own tensors in and out, and encoded pictures where the bundle says
/// how they become tensors.
struct InferHandler: Sendable {
    let repository: ModelRepository
    let settings: Settings
    let metrics: ServiceMetrics

    /// The values that all predictions of one request share.
    private struct Job: Sendable {
        let model: Model
        let name: String
        let answer: InferAnswer
        let options: PredictionOptions
        /// Nanoseconds from the request's first byte to its last.
        let receiving: UInt64
    }

    func respond(to request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> HTTPResponse {
        switch try await answerOne(request, choice) {
        case .one(let response): return response
        case .several(let items, let job): return try await several(items, job)
        }
    }

    /// The outcome of a body: the answer of one prediction, or the inputs of several.
    private enum Outcome {
        case one(HTTPResponse)
        case several([DictionaryFeatureProvider], Job)
    }

    /// Reads the body, and runs a single prediction: in the slot that a long body was read in, or in one of its own.
    private func answerOne(_ request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> Outcome {
        // What the body says of a timeout is read when the model is there that it is for.
        let received = request.bodyReceived
        let model = try await choice.model(in: repository, deadline: received + .seconds(settings.deadline))
        var options = PredictionOptions()
        options.claim = choice.claim
        options.deadline = received + .seconds(settings.deadline)
        // A short text is read at once, as it may say how long the request may wait for its slot. Reading a long one, or decompressing
        // one, takes as long as a prediction does: that is done in a slot.
        let isCompressed = try CompressedBody.isCompressed(request.head)
        let length = try isCompressed ? nil : Self.headerLength(request.head, in: request.body)
        let isLong = isCompressed || length ?? request.body.count > Self.longestUnslotted
        let slot = try await isLong ? RequestSlot(of: model, options: options, metrics: metrics) : nil
        defer { slot?.release() }
        let body = try isCompressed ? CompressedBody.decompress(request.body, most: settings.maxBody) : request.body
        var reader = InferBodyReader(
            model: model.description, body: body, headerLength: try Self.headerLength(request.head, in: body),
            mostPictures: settings.maxBatch)
        let infer = try reader.read()
        let batch = try InferBatch(infer, model: model.description, most: settings.maxBatch)
        let time = min(infer.timeout.map { Double($0) / 1e6 } ?? settings.deadline, settings.maxDeadline)
        options.deadline = received + .nanoseconds(Int64(time * 1e9))
        let answer = try InferAnswer(
            request: infer, model: model.description, name: choice.name, version: model.description.version)
        let job = Job(model: model, name: choice.name, answer: answer, options: options, receiving: request.receiving)
        guard batch.items.count == 1, let item = batch.items.first else { return .several(batch.items, job) }
        let own = try await RequestSlot(
            of: model, options: options, taken: slot, work: model.decodingTime(of: item), metrics: metrics)
        defer { own.release() }
        return .one(try await single(item, job, in: own))
    }

    /// The longest JSON that is read before there is a slot: the worst text of this length (small objects in a member that is passed
    /// over) takes 0.3 ms of a processor. Requests with binary data, as clients send them by default, have a shorter one.
    private static let longestUnslotted = 16 << 10

    /// The number of bytes of the body that are JSON; nil if all of it is.
    private static func headerLength(_ head: RequestHead, in body: HTTPBody) throws(ServiceError) -> Int? {
        let values = head.values(of: "inference-header-content-length")
        guard let text = values.first else { return nil }
        guard values.count == 1, !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let length = Int(text),
            length <= body.count
        else {
            throw .badRequest(
                "Inference-Header-Content-Length: expected the length of the JSON, 0 to \(body.count) (the whole body), "
                    + "found \"\(values.joined(separator: ", ").prefix(40))\"")
        }
        return length
    }

    // MARK: One prediction

    private func single(
        _ item: DictionaryFeatureProvider, _ job: Job, in slot: RequestSlot
    ) async throws(ServiceError) -> HTTPResponse {
        let answer = job.answer
        if answer.isPlainBinary {
            return try await run(item, job, slot) { views in answer.response(views) }
        }
        let copied = try await run(item, job, slot) { views in CopiedOutputs(views) }
        return copied.withViews { answer.response($0) }
    }

    private func run<R: Sendable>(
        _ item: DictionaryFeatureProvider, _ job: Job, _ slot: RequestSlot, read: ([TensorView]) -> R
    ) async throws(ServiceError) -> R {
        do throws(InferenceError) {
            var (result, times) = try await slot.run(metrics: metrics) { (held) throws(InferenceError) in
                try await job.model.tensors(from: item, options: job.options, slot: held) {
                    (views, times) throws(InferenceError) in (read(views), times)
                }
            }
            times.queue &+= slot.waited
            metrics.record(times, recv: job.receiving, encode: 0, model: job.name)
            return result
        } catch {
            throw ServiceError(ofInput: error)
        }
    }

    // MARK: A batch

    /// Runs some of the items in a slot, in one inference: more than one where the bundle asks for it (`runtime.batch`).
    private func run(
        together items: [DictionaryFeatureProvider], _ job: Job, _ slot: RequestSlot
    ) async -> [Result<CopiedOutputs, ServiceError>] {
        let results = await slot.runTogether(metrics: metrics) { held in
            await job.model.tensors(together: items, options: job.options, slot: held) {
                (views, times) throws(InferenceError) in
                var times = times
                times.queue &+= slot.waited
                metrics.record(times, recv: job.receiving, encode: 0, model: job.name)
                return CopiedOutputs(views)
            }
        }
        return results.map { $0.mapError { ServiceError(ofInput: $0) } }
    }

    /// One answer for all: one item's failure is the request's.
    private func several(_ items: [DictionaryFeatureProvider], _ job: Job) async throws(ServiceError) -> HTTPResponse {
        let batch = BatchRun(model: job.model, options: job.options, metrics: metrics)
        let outcomes = await batch.outcomes(
            of: items, stopsAtFailure: true, work: { job.model.decodingTime(of: $0) }
        ) { (item, slot) throws(ServiceError) in
            try await run(item, job, slot) { views in CopiedOutputs(views) }
        } together: { items, slot in
            await run(together: items, job, slot)
        }
        var outputs: [CopiedOutputs] = []
        for outcome in outcomes {
            switch outcome.result {
            case .success(let one): outputs.append(one)
            case .failure(let error): throw error.prefixed("item \(outcome.index + 1) of the batch: ")
            }
        }
        return CopiedOutputs(joining: outputs).withViews { job.answer.response($0) }
    }
}
