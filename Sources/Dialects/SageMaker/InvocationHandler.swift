package import HTTPServer
internal import HTTPWire
internal import Inference
internal import Repository
internal import ServiceCore
internal import Settings
package import Tasks
package import WireFormats

/// Answers `POST /invocations` of Amazon SageMaker and the predictions of Vertex AI: JSON as in TensorFlow Serving, a
/// picture or a form by the model's task.
package struct InvocationHandler: PredictionHandler {
    package let call: Call
    package let asked: (name: String, version: String?)

    package init(_ call: Call) throws(ServiceError) {
        self.call = call
        let (name, version) = try Self.attributes(call.head)
        asked = (name ?? call.path.name, version ?? call.path.version)
    }

    package static var answersTaughtModels: Bool { ClassifyTask.answersTaughtModels }

    package func respond(to request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> HTTPResponse {
        let type = (request.head.value(of: "content-type") ?? "").lowercased()
        if let other = Self.unread.first(where: { type.hasPrefix($0) }) {
            throw ServiceError(
                .unsupportedMediaType,
                "\(other) is not read: send application/json ({\"instances\": [...]}), a picture (image/jpeg and others) or "
                    + "multipart/form-data")
        }
        // A form begins with dashes, like a negative number.
        if !type.hasPrefix("multipart/"), PredictTask.isJSON(request.body, type: type) {
            if let taught = choice.taught { throw taught.refusal(choice.name) }
            var handler = try PredictHandler(call)
            handler.takesList = true
            return try await handler.respond(to: request, choice)
        }
        if choice.taught != nil { return try await run(ClassifyTask.self, ClassifyQuery(), request, choice) }
        let model = try await choice.model(
            in: call.parts.repository, deadline: call.deadline(of: request))
        if model.isImageClassifier { return try await run(ClassifyTask.self, ClassifyQuery(), request, choice) }
        if let task = model.tasks.first {
            return try await run(ObserveTask.self, ObserveQuery(task: task), request, choice)
        }
        return try await run(PredictTask.self, ClassifyQuery(), request, choice)
    }

    /// Content types that other containers accept and no model here does.
    private static let unread = [
        "application/x-npy", "application/jsonlines", "application/x-jsonlines", "application/x-recordio", "text/csv",
        "text/libsvm", "application/x-parquet",
    ]

    private func run<Job: PredictionTask>(
        _: Job.Type, _ query: Job.Query, _ request: HTTPRequest, _ choice: ModelChoice
    ) async throws(ServiceError) -> HTTPResponse {
        try await PredictionRunner<Job>(call, query).respond(to: request, choice)
    }

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

    /// The model for a request that names none: the one of the settings, the only one, or the default of the first task
    /// that has one.
    package func defaultName() throws(ServiceError) -> String {
        let settings = call.live.settings, repository = call.parts.repository
        guard settings.defaultModel.isEmpty else { return settings.defaultModel }
        let names = repository.names
        if names.count == 1, let name = names.first { return name }
        for purpose in [DefaultModel.Purpose.classification] + ObservationTask.allCases.map({ .task($0) }) {
            if case .model(let name, isAvailable: true) = repository.defaultModel(for: purpose) { return name }
        }
        throw ServiceError(
            .modelNotFound, "no model is the default here: set default_model; /v1/models lists the models")
    }
}
