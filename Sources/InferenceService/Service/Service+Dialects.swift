internal import Dialects
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
internal import ServicePlanning
internal import Settings
internal import Tasks
internal import WireFormats

/// The routes of other servers' interfaces (`dialects`), as rows of the table of routes.
extension Service {
    static let dialects: [Table.Resource] = tensorFlowServing + sageMaker + deepStack

    // MARK: TensorFlow Serving, KServe version 1

    private static let tensorFlowServing: [Table.Resource] = [
        .init(
            PathTemplate.labelled("/v1/models", ":predict"), dialect: .tensorFlowServing,
            .post(.infer, "tfserving_predict", signaturePredict)),
        .init(
            PathTemplate.labelled("/v1/models", "/metadata"), dialect: .tensorFlowServing,
            .get(.read, "tfserving_metadata", signature)),
        .init(
            ["/v1/models/{name}/labels/{label}"], dialect: .tensorFlowServing,
            .get(.read, "tfserving_status", labelledModel)),
        .init(
            PathTemplate.labelled("/v1/models", ":classify") + PathTemplate.labelled("/v1/models", ":regress"),
            dialect: .tensorFlowServing, .post(.infer, "tfserving_examples", refuseExamples)),
    ]

    /// The version that a request gives by its number or by a label; nil for the serving one.
    private static func version(_ call: Call) throws(ServiceError) -> String? {
        guard let label = call.match.versionLabel else { return call.match.version }
        return try call.service.repository.version(labelled: label, of: call.match.name)
    }

    private static func signaturePredict(_ call: Call) throws(ServiceError) -> BodyAdmission {
        let choice = try choose(call, version: try version(call))
        return call.service.accept(call) { (request) async throws(ServiceError) in
            try await choice.answer(request, sharing(call, readsQuery: false)) {
                (request, choice) async throws(ServiceError) in
                try await predictHandler(call).respond(to: request, choice)
            }
        }
    }

    private static func predictHandler(_ call: Call) -> PredictHandler {
        PredictHandler(
            repository: call.service.repository, settings: call.live.settings, metrics: call.service.metrics,
            work: call.service.work)
    }

    private static func signature(_ call: Call) throws(ServiceError) -> BodyAdmission {
        try refuseTaught(call)
        let version = try version(call)
        let handler = SignatureHandler(repository: call.service.repository, settings: call.live.settings)
        return call.service.accept(call) { (request) async throws(ServiceError) in
            let name = call.match.name, model = try await handler.model(named: name, version: version)
            return try await call.computed(request) { () throws(ServiceError) in handler.answer(model, named: name) }
        }
    }

    private static func labelledModel(_ call: Call) throws(ServiceError) -> BodyAdmission {
        let version = try version(call)
        return call.service.compute(call) { (_) throws(ServiceError) in
            try modelsHandler(call).describe(call.match.name, version: version)
        }
    }

    /// Refuses requests with a `tf.Example`, which no model here can read; clients of these methods use gRPC.
    private static func refuseExamples(_ call: Call) throws(ServiceError) -> BodyAdmission {
        throw ServiceError(
            .notFound,
            "TensorFlow Serving's :classify and :regress, which take tf.Example, are not served: send tensors or pictures to "
                + "/v1/models/\(call.match.name.prefix(100)):predict, or a picture to "
                + "/v1/models/\(call.match.name.prefix(100))/classify")
    }

    // MARK: Amazon SageMaker, Vertex AI

    private static let sageMaker: [Table.Resource] = [
        .init(["/ping"], isProbe: true, dialect: .sageMaker, .get(nil, "sagemaker_ping", readiness)),
        .init(["/invocations"], dialect: .sageMaker, .post(.infer, "sagemaker_invocations", invocation)),
    ]

    /// The routes with paths from Vertex AI's variables.
    static let vertexHealth = Table.Resource(
        [], isProbe: true, dialect: .vertex, label: "AIP_HEALTH_ROUTE", .get(nil, "vertex_health", readiness))
    static let vertexPredict = Table.Resource(
        [], dialect: .vertex, label: "AIP_PREDICT_ROUTE", .post(.infer, "vertex_predict", invocation))

    private static func invocation(_ call: Call) throws(ServiceError) -> BodyAdmission {
        let (name, version) = try InvocationHandler.attributes(call.head)
        let choice = try choose(call, for: ClassifyTask.self, name: name, version: version) {
            (repository) throws(ServiceError) in
            try InvocationHandler.defaultName(repository, call.live.settings)
        }
        return call.service.accept(call) { (request) async throws(ServiceError) in
            try await choice.answer(request, sharing(call, readsQuery: false)) {
                (request, choice) async throws(ServiceError) in
                try await InvocationHandler(
                    repository: call.service.repository, live: call.live, metrics: call.service.metrics,
                    work: call.service.work
                )
                .respond(to: request, choice)
            }
        }
    }

    // MARK: DeepStack, CodeProject.AI

    private static let deepStack: [Table.Resource] = [
        .init(
            ["/v1/vision/detection"], dialect: .deepStack,
            .post(.infer, "deepstack_detection", run(DeepStackDetectTask.self, DeepStackQuery(.objects)))),
        .init(
            ["/v1/vision/face"], dialect: .deepStack,
            .post(.infer, "deepstack_face", run(DeepStackDetectTask.self, DeepStackQuery(.faces)))),
        .init(
            ["/v1/vision/scene"], dialect: .deepStack,
            .post(.infer, "deepstack_scene", run(DeepStackSceneTask.self, DeepStackQuery(.scene)))),
        // Clients use POST, people GET.
        .init(
            ["/v1/vision/custom/list"], dialect: .deepStack, .get(.read, "deepstack_list", detectors),
            .post(.read, "deepstack_list", detectors)),
        .init(
            ["/v1/vision/custom/{name}"], dialect: .deepStack,
            .post(.infer, "deepstack_custom", run(DeepStackDetectTask.self, DeepStackQuery(.objects)))),
        .init(
            ["/v1/status/ping", "/v1/server/status/ping"], dialect: .deepStack,
            .get(.read, "deepstack_ping") { call in answer(call, json("{\"success\":true}")) }),
        .init(
            ["/v1/status/updateavailable", "/v1/server/status/updateavailable"], dialect: .deepStack,
            .get(.read, "deepstack_update") { call in
                answer(call, json("{\"success\":true,\"updateAvailable\":false,\"message\":\"\"}"))
            }),
    ]

    /// Answers the names of the models that detect objects, including lazy models, because their task is known only
    /// after loading.
    private static func detectors(_ call: Call) -> BodyAdmission {
        call.service.compute(call) { _ in
            let names = call.service.repository.records.filter { record in
                record.model.map { $0.tasks.contains(.detect) } ?? (record.policy == .lazy && record.state == .unloaded)
            }
            var writer = JSONWriter(capacity: 256)
            writer.object { writer in
                writer.member("success", true)
                writer.member("models", Set(names.map(\.name)).sorted())
            }
            return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
        }
    }
}
