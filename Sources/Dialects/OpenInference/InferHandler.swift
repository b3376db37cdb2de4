internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Tasks
internal import WireFormats

/// Answers `POST /v2/models/{name}/infer`: with the engine's own tensors as inputs and outputs, and encoded pictures if
/// the bundle describes their conversion to tensors.
package enum InferHandler {
    package static func prediction(_ call: Call) -> PredictionCall {
        PredictionCall(call, name: call.path.name, version: call.path.version) {
            (request, choice) async throws(ServiceError) in
            let body = try CompressedBody(of: request, maximum: call.live.settings.maxBody)
            let length = try body.isCompressed ? nil : headerLength(request.head, in: request.body)
            return try await TensorRunner.answer(request, call, choice, length: length ?? body.length) {
                (model, isCancelled) throws(ServiceError) in
                try question(request, try body.decoded(isCancelled: isCancelled), call.live, model, choice.name)
            }
        }
    }

    private static func question(
        _ request: HTTPRequest, _ body: HTTPBody, _ live: LiveSettings, _ model: Model, _ name: String
    ) throws(ServiceError) -> TensorQuestion {
        let maximum = live.settings.maxBatch
        var reader = InferBodyReader(
            model: model.description, body: body, headerLength: try headerLength(request.head, in: body),
            maximumPictures: maximum)
        let infer = try reader.read()
        let batch = try InferBatch(infer, model: model.description, maximum: maximum)
        let answer = try InferAnswer(
            request: infer, model: model.description, name: name, version: model.description.version)
        let usual = live.settings.deadline
        let time = min(infer.timeout.map { Double($0) / 1e6 } ?? usual, live.settings.maxDeadline)
        return TensorQuestion(
            items: batch.items, itemName: "item # of the batch",
            deadline: request.bodyReceived + .nanoseconds(Int64(time * 1e9)),
            copy: answer.isPlainBinary ? answer.response : nil
        ) { (outputs, run, shadow) throws(ServiceError) in
            var response = try CopiedOutputs(joining: outputs.map(\.copied)).withViews { (views) in
                Result { () throws(ServiceError) in try answer.checkedResponse(views) }
            }.get()
            if let first = outputs.first { response.note = run.note(first.times, shadow) }
            return response
        }
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
