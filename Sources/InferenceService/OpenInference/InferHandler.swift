internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Settings
internal import SystemSupport

/// Answers `POST /v2/models/{name}/infer`: the engine's own tensors in and out, and encoded pictures where the bundle
/// says how they become tensors.
struct InferHandler: Sendable {
    let repository: ModelRepository
    let settings: Settings
    let metrics: ServiceMetrics

    /// Reads the body and runs its predictions: a single one in the slot that a long body was read in.
    func respond(to request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> HTTPResponse {
        // What the body says of a timeout is read when the model is there that it is for.
        let received = request.bodyReceived
        var options = PredictionOptions()
        options.claim = choice.claim
        options.deadline = received + .seconds(settings.deadline)
        options.keeps = choice.route?.sample
        let model = try await choice.model(in: repository, deadline: options.deadline)
        try model.refusePipeline(choice.name)
        // A short text is read at once, as it may say how long the request may wait for its slot. Reading a long one,
        // or decompressing one, takes as long as a prediction does: that is done in a slot.
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
        let run = TensorRun(
            slots: SlotRun(model: model, options: options, metrics: metrics), name: choice.name,
            receiving: request.bodyReceived.nanoseconds(since: request.headReceived))
        let asked = RunRequest(request, model: model, name: choice.name, options: options, shadow: choice.route)
        guard batch.items.count == 1, let item = batch.items.first else {
            taken?.release()
            let outputs = try await run.all(batch.items, kind: "item # of the batch")
            var response = CopiedOutputs(joining: outputs.map(\.value)).withViews { answer.response($0) }
            if let item = batch.items.first, let first = outputs.first {
                response.note = asked.note(first.times, run.shadow(of: item, first, choice.route, isAlone: false))
            }
            return response
        }
        let slot = try await run.slots.slot(work: model.pictureTime(of: item), taken: taken)
        defer { slot.release() }
        if answer.isPlainBinary, choice.route?.sample == nil {
            // From the engine's memory straight into the answer.
            return try await run.results(of: batch.items, in: slot) { answer.response($0) }[0].get().value
        }
        let outputs = try await run.results(of: batch.items, in: slot, read: CopiedOutputs.init)[0].get()
        var response = outputs.value.withViews { answer.response($0) }
        response.note = asked.note(outputs.times, run.shadow(of: item, outputs, choice.route, isAlone: true))
        return response
    }

    /// The longest JSON that is read before there is a slot: the worst text of this length (small objects in a member
    /// that is passed over) takes 0.3 ms of a processor. Requests with binary data, as clients send them by default,
    /// have a shorter one.
    static let longestUnslotted = 16 << 10

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
}
