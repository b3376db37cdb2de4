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
        let slots: SlotRun
        let name: String
        let answer: InferAnswer
        /// Nanoseconds from the request's first byte to its last.
        let receiving: UInt64
    }

    /// Reads the body and runs its predictions: a single one in the slot that a long body was read in.
    func respond(to request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> HTTPResponse {
        // What the body says of a timeout is read when the model is there that it is for.
        let received = request.bodyReceived
        var options = PredictionOptions()
        options.claim = choice.claim
        options.deadline = received + .seconds(settings.deadline)
        let model = try await choice.model(in: repository, deadline: options.deadline)
        // A short text is read at once, as it may say how long the request may wait for its slot. Reading a long one, or decompressing
        // one, takes as long as a prediction does: that is done in a slot.
        let isCompressed = try CompressedBody.isCompressed(request.head)
        let length = try isCompressed ? nil : Self.headerLength(request.head, in: request.body)
        let isLong = isCompressed || length ?? request.body.count > Self.longestUnslotted
        let taken = try await isLong ? SlotRun(model: model, options: options, metrics: metrics).slot() : nil
        defer { taken?.release() }
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
        let job = Job(
            slots: SlotRun(model: model, options: options, metrics: metrics), name: choice.name, answer: answer,
            receiving: request.bodyReceived.nanoseconds(since: request.headReceived))
        guard batch.items.count == 1, let item = batch.items.first else {
            taken?.release()
            return try await several(batch.items, job)
        }
        let slot = try await job.slots.slot(work: model.pictureTime(of: item), taken: taken)
        defer { slot.release() }
        if answer.isPlainBinary {
            // From the engine's memory straight into the answer.
            return try await run(batch.items, job, slot) { views in answer.response(views) }[0].get()
        }
        return try await run(batch.items, job, slot, read: CopiedOutputs.init)[0].get()
            .withViews { answer.response($0) }
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

    // MARK: Predictions

    /// One prediction's outputs, and its times.
    private struct Outputs<R: Sendable>: Sendable {
        let value: R
        let times: StageTimes
    }

    /// Runs some of the items in a slot, in one inference: more than one where the bundle asks for it (`runtime.batch`).
    private func run<R: Sendable>(
        _ items: [DictionaryFeatureProvider], _ job: Job, _ slot: Slot, read: ([TensorView]) -> R
    ) async -> [Result<R, ServiceError>] {
        let slots = job.slots
        let results = await slots.model.tensors(of: items, options: slots.options, slot: slot) {
            (views, times) throws(InferenceError) in Outputs(value: read(views), times: times)
        }
        return results.map { result in
            result.map { outputs in
                metrics.record(outputs.times, recv: job.receiving, encode: 0, model: job.name)
                return outputs.value
            }.mapError { slots.failure($0, of: .inputs) }
        }
    }

    /// One answer for all: one item's failure is the request's.
    private func several(_ items: [DictionaryFeatureProvider], _ job: Job) async throws(ServiceError) -> HTTPResponse {
        let outcomes = await job.slots.outcomes(
            of: items, stopsAtFailure: true, work: { job.slots.model.pictureTime(of: $0) }
        ) { items, slot in await run(items, job, slot, read: CopiedOutputs.init) }
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
