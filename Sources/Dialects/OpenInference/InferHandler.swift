internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import Repository
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Tasks
package import WireFormats

/// Answers `POST /v2/models/{name}/infer`: with the engine's own tensors as inputs and outputs, and encoded pictures if
/// the bundle describes their conversion to tensors.
package struct InferHandler: PredictionHandler {
    package let call: Call
    private var settings: Settings { call.live.settings }
    private var metrics: ServiceMetrics { call.parts.metrics }

    package init(_ call: Call) { self.call = call }

    /// Reads the body and runs its predictions. A single one runs in the slot in which a long body was read.
    package func respond(to request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> HTTPResponse {
        // The body, which may hold a timeout, can be read only once the model is known.
        let received = request.bodyReceived
        var options = PredictionOptions()
        options.claim = choice.claim
        options.deadline = received + .seconds(settings.deadline)
        options.keeps = choice.route?.sample
        let model = try await choice.model(in: call.parts.repository, deadline: options.deadline)
        try model.refusePipeline(choice.name)
        // Read a short text at once, because its timeout limits the wait for the slot. Reading a long text, or
        // decompressing one, takes as long as a prediction, so do it in a slot.
        let isCompressed = try CompressedBody.isCompressed(request.head)
        let length =
            try isCompressed
            ? CompressedBody.longest(request.body, most: settings.maxBody)
            : Self.headerLength(request.head, in: request.body) ?? request.body.count
        let isShort = !isCompressed && length <= WorkQueue.shortText
        let reading = SlotRun(model: model, options: options, metrics: metrics)
        let taken = try await isShort ? nil : reading.slot(work: WorkQueue.readingTime(length))
        defer { taken?.release() }
        let read = try await WorkQueue.reading(length) { (isCancelled) throws(ServiceError) in
            try self.read(request, isCompressed: isCompressed, model.description, isCancelled)
        }
        let infer = read.infer, batch = read.batch
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
            let values = outputs.map(\.value), size = values.reduce(0) { $0 + $1.byteCount }
            var response = try await call.parts.work.read(size, for: choice.claim, until: options.deadline) {
                (_) throws(ServiceError) in
                CopiedOutputs(joining: values).withViews { answer.response($0) }
            }
            if let item = batch.items.first, let first = outputs.first {
                response.note = asked.note(first.times, run.shadow(of: item, first, choice.route, isAlone: false))
            }
            return response
        }
        let slot = try await run.slots.slot(work: model.pictureTime(of: item), taken: taken)
        defer { slot.release() }
        if answer.isPlainBinary, choice.route?.sample == nil {
            // Copy from the engine's memory straight into the answer.
            return try await run.results(of: batch.items, in: slot) { answer.response($0) }[0].get().value
        }
        let outputs = try await run.results(of: batch.items, in: slot, read: CopiedOutputs.init)[0].get()
        let value = outputs.value
        var response = try await WorkQueue.writing(value.byteCount) { () throws(ServiceError) in
            value.withViews { answer.response($0) }
        }
        response.note = asked.note(outputs.times, run.shadow(of: item, outputs, choice.route, isAlone: true))
        return response
    }

    /// A parsed body.
    private struct Read: Sendable {
        let infer: InferBody
        let batch: InferBatch
    }

    private func read(
        _ request: HTTPRequest, isCompressed: Bool, _ model: ModelDescription, _ isCancelled: () -> Bool
    ) throws(ServiceError) -> Read {
        let body =
            try isCompressed
            ? CompressedBody.decompress(request.body, most: settings.maxBody, isCancelled: isCancelled) : request.body
        var reader = InferBodyReader(
            model: model, body: body, headerLength: try Self.headerLength(request.head, in: body),
            mostPictures: settings.maxBatch)
        let infer = try reader.read()
        return Read(infer: infer, batch: try InferBatch(infer, model: model, most: settings.maxBatch))
    }

    /// The number of bytes of JSON in the body; nil if all of it is JSON.
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
