internal import HTTPServer
internal import Inference
internal import JSON
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Tasks
package import WireFormats

/// Answers `POST /v1/models/{name}:predict` like TensorFlow Serving and KServe's version 1: with the model's own
/// tensors as inputs and outputs, and encoded pictures if the bundle describes their conversion to tensors.
package enum PredictHandler {
    package static func prediction(_ call: Call) throws(ServiceError) -> PredictionCall {
        PredictionCall(call, name: call.path.name, version: try call.version()) {
            (request, choice) async throws(ServiceError) in try await answer(request, call, choice)
        }
    }

    /// - Parameter takesList: whether a bare list counts as `instances`, as sent by SageMaker's clients.
    static func answer(
        _ request: HTTPRequest, _ call: Call, _ choice: ModelChoice, takesList: Bool = false
    ) async throws(ServiceError) -> HTTPResponse {
        let body = try CompressedBody(of: request, maximum: call.live.settings.maxBody)
        return try await TensorRunner.answer(request, call, choice, length: body.length) {
            (model, isCancelled) throws(ServiceError) in
            let read = try PredictRequest(
                try body.decoded(isCancelled: isCancelled), inputs: model.description.inputs,
                maximum: call.live.settings.maxBatch, takesList: takesList)
            let writer = PredictAnswer(outputs: model.description.outputs, request: read)
            return TensorQuestion(items: read.items, itemName: "instance #") {
                (outputs, run, shadow) throws(ServiceError) in
                let begun = MonotonicInstant.now
                let body = try writer.json(outputs.map(\.copied))
                var sum = StageTimes()
                for one in outputs { sum.add(concurrent: one.times) }
                return run.response(
                    body, type: "application/json", times: sum, encode: MonotonicInstant.now.nanoseconds(since: begun),
                    isBare: true, shadow: shadow)
            }
        }
    }
}

extension PredictRequest {
    fileprivate init(
        _ body: HTTPBody, inputs: [FeatureDescription], maximum: Int, takesList: Bool
    ) throws(ServiceError) {
        let result: Result<PredictRequest, JSONError> = body.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                try PredictRequest(bytes, inputs: inputs, maximum: maximum, takesList: takesList)
            }
        }
        self = try result.mapError { ServiceError($0) }.get()
    }
}
