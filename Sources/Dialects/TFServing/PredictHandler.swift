internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Tasks
package import WireFormats

/// Answers `POST /v1/models/{name}:predict` like TensorFlow Serving and KServe's version 1: with the model's own
/// tensors as inputs and outputs, and encoded pictures if the bundle describes their conversion to tensors.
package struct PredictHandler: PredictionHandler {
    package let call: Call
    private let version: String?
    /// True if a bare list counts as `instances`, as sent by SageMaker's clients.
    var takesList = false
    private var settings: Settings { call.live.settings }

    package init(_ call: Call) throws(ServiceError) {
        self.call = call
        version = try call.version()
    }

    package var asked: (name: String, version: String?) { (call.path.name, version) }

    package func respond(to request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> HTTPResponse {
        var options = PredictionOptions()
        options.claim = choice.claim
        options.deadline = request.deadline(usual: settings.deadline)
        options.keeps = choice.route?.sample
        let model = try await choice.model(in: call.parts.repository, deadline: options.deadline)
        try model.refusePipeline(choice.name)
        let answer = RunRequest(request, model: model, name: choice.name, options: options, shadow: choice.route)
        let run = TensorRun(
            slots: SlotRun(model: model, options: options, metrics: call.parts.metrics), name: choice.name,
            receiving: answer.receiving)
        // Reading a long body takes as long as a prediction, so do it in a slot.
        let isCompressed = try CompressedBody.isCompressed(request.head)
        let length =
            isCompressed ? CompressedBody.longest(request.body, most: settings.maxBody) : request.body.count
        let isShort = !isCompressed && length <= WorkQueue.shortText
        let taken = try await isShort ? nil : run.slots.slot(work: WorkQueue.readingTime(length))
        defer { taken?.release() }
        let settings = settings
        let read = try await WorkQueue.reading(length) { (isCancelled) throws(ServiceError) in
            let body =
                try isCompressed
                ? CompressedBody.decompress(request.body, most: settings.maxBody, isCancelled: isCancelled)
                : request.body
            return try Self.read(body, model.description, most: settings.maxBatch, takesList: takesList)
        }
        let writer = PredictAnswer(outputs: model.description.outputs, request: read)
        guard read.items.count == 1, let item = read.items.first else {
            taken?.release()
            let outputs = try await run.all(read.items, kind: "instance #")
            var shadow: ShadowWork?
            if let item = read.items.first, let first = outputs.first {
                shadow = run.shadow(of: item, first, choice.route, isAlone: false)
            }
            let size = outputs.reduce(0) { $0 + $1.value.byteCount }, ask = shadow
            return try await call.parts.work.read(size, for: choice.claim, until: options.deadline) {
                (_) throws(ServiceError) in
                try Self.response(answer, outputs, writer, ask)
            }
        }
        let slot = try await run.slots.slot(work: model.pictureTime(of: item), taken: taken)
        defer { slot.release() }
        let outputs = try await run.results(of: [item], in: slot, read: CopiedOutputs.init)[0].get()
        let ask = run.shadow(of: item, outputs, choice.route, isAlone: true)
        return try await WorkQueue.writing(outputs.value.byteCount) { () throws(ServiceError) in
            try Self.response(answer, [outputs], writer, ask)
        }
    }

    private static func read(
        _ body: HTTPBody, _ model: ModelDescription, most: Int, takesList: Bool
    ) throws(ServiceError) -> PredictRequest {
        let result: Result<PredictRequest, JSONError> = body.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                try PredictRequest(bytes, inputs: model.inputs, most: most, takesList: takesList)
            }
        }
        return try result.mapError { ServiceError($0) }.get()
    }

    private static func response(
        _ run: RunRequest, _ outputs: [TensorRun.Outputs<CopiedOutputs>], _ writer: PredictAnswer, _ shadow: ShadowWork?
    ) throws(ServiceError) -> HTTPResponse {
        let begun = MonotonicInstant.now
        let body = try writer.json(outputs.map(\.value))
        var sum = StageTimes()
        for output in outputs {
            // Items wait concurrently, so take the longest wait; the other stages are work, so add them up.
            sum.queue = max(sum.queue, output.times.queue)
            sum.decode &+= output.times.decode
            sum.inference &+= output.times.inference
            sum.postprocess &+= output.times.postprocess
        }
        return run.response(
            body, type: "application/json", times: sum, encode: MonotonicInstant.now.nanoseconds(since: begun),
            isBare: true, shadow: shadow)
    }
}
