internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import ServiceCore
package import Tasks
package import WireFormats

/// Answers `POST /invocations` of Amazon SageMaker and the predictions of Vertex AI: JSON as in TensorFlow Serving, a
/// picture or a form by the model's task.
package enum InvocationHandler {
    package static func prediction(_ call: Call) throws(ServiceError) -> PredictionCall {
        let (name, version) = try attributes(call.head)
        try call.checkDeclaredFrame()
        return PredictionCall(
            call, name: name ?? call.path.name, version: version ?? call.path.version, unnamed: .any,
            answersTaughtModels: ClassifyTask.answersTaughtModels
        ) { (request, choice) async throws(ServiceError) in try await answer(request, call, choice) }
    }

    private static func answer(
        _ request: HTTPRequest, _ call: Call, _ choice: ModelChoice
    ) async throws(ServiceError) -> HTTPResponse {
        let type = (request.head.value(of: "content-type") ?? "").lowercased()
        if let other = unread.first(where: { type.hasPrefix($0) }) {
            throw ServiceError(
                .unsupportedMediaType,
                "\(other) is not read: send application/json ({\"instances\": [...]}), a picture (image/jpeg and others) or "
                    + "multipart/form-data")
        }
        // A form begins with dashes, like a negative number.
        if !type.hasPrefix("multipart/"), NamedInputs.isJSON(request.body, type: type) {
            if let taught = choice.taught { throw taught.refusal(choice.name) }
            return try await PredictHandler.answer(request, call, choice, takesList: true)
        }
        if choice.taught != nil { return try await ClassifyTask.prediction(call).answer(request, choice) }
        let (model, wait) = try await choice.model(in: call.parts.repository, deadline: call.deadline(of: request))
        var choice = choice
        choice.loadWait = wait
        let prediction =
            if model.isImageClassifier { try ClassifyTask.prediction(call) } else if let task = model.tasks.first {
                try ObserveTask.prediction(call, task)
            } else {
                try PredictTask.prediction(call)
            }
        return try await prediction.answer(request, choice)
    }

    /// Content types that other containers accept and no model here does.
    private static let unread = [
        "application/x-npy", "application/jsonlines", "application/x-jsonlines", "application/x-recordio", "text/csv",
        "text/libsvm", "application/x-parquet",
    ]

    // MARK: The model

    /// The model and version that a request names in `X-Amzn-SageMaker-Custom-Attributes`, in the form of SageMaker's
    /// container for TensorFlow Serving: `tfs-model-name=m,tfs-model-version=2,tfs-method=predict`. Other attributes
    /// are the client's own.
    private static func attributes(_ head: RequestHead) throws(ServiceError) -> (name: String?, version: String?) {
        var name: String?, version: String?
        for field in head.values(of: "x-amzn-sagemaker-custom-attributes") {
            for part in field.split(separator: ",") {
                let pair = part.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\t" } }
                guard pair.count == 2 else { continue }
                switch pair[0] {
                case "tfs-model-name": name = String(pair[1])
                case "tfs-model-version": version = String(pair[1])
                case "tfs-method" where pair[1] != "predict":
                    throw .badRequest(
                        "X-Amzn-SageMaker-Custom-Attributes: tfs-method: expected predict, found \"\(pair[1].prefix(60))\""
                    )
                default: break
                }
            }
        }
        return (name, version)
    }
}
