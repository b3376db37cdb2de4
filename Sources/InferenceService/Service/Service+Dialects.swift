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
    static let dialects: [RouteTable.Resource] = tensorFlowServing + sageMaker + deepStack + openAI + labelStudio

    // MARK: TensorFlow Serving, KServe version 1

    private static let tensorFlowServing: [RouteTable.Resource] = [
        .init(
            PathTemplate.labelled("/v1/models", ":predict"), dialect: .tensorFlowServing,
            .post(.infer, "tfserving_predict", predicted(PredictHandler.prediction))),
        .init(
            PathTemplate.labelled("/v1/models", "/metadata"), dialect: .tensorFlowServing,
            .get(.read, "tfserving_metadata", answered(SignatureHandler.respond))),
        .init(
            ["/v1/models/{name}/labels/{label}"], dialect: .tensorFlowServing,
            .get(.read, "tfserving_status", computed(ModelsHandler.describe))),
        .init(
            PathTemplate.labelled("/v1/models", ":classify") + PathTemplate.labelled("/v1/models", ":regress"),
            dialect: .tensorFlowServing, .post(.infer, "tfserving_examples", refuseExamples)),
    ]

    /// Refuses requests with a `tf.Example`, which no model here can read; clients of these methods use gRPC.
    private static func refuseExamples(_: Service, _ call: Call) throws(ServiceError) -> BodyAdmission {
        throw ServiceError(
            .notFound,
            "TensorFlow Serving's :classify and :regress, which take tf.Example, are not served: send tensors or pictures to "
                + "/v1/models/\(call.path.name.prefix(100)):predict, or a picture to "
                + "/v1/models/\(call.path.name.prefix(100))/classify")
    }

    // MARK: Amazon SageMaker, Vertex AI

    private static let sageMaker: [RouteTable.Resource] = [
        .init(["/ping"], isProbe: true, dialect: .sageMaker, .get(nil, "sagemaker_ping", readiness)),
        .init(
            ["/invocations"], dialect: .sageMaker,
            .post(.infer, "sagemaker_invocations", predicted(InvocationHandler.prediction))),
    ]

    /// The routes with paths from Vertex AI's variables.
    static let vertexHealth = RouteTable.Resource(
        [], isProbe: true, dialect: .vertex, label: "AIP_HEALTH_ROUTE", .get(nil, "vertex_health", readiness))
    static let vertexPredict = RouteTable.Resource(
        [], dialect: .vertex, label: "AIP_PREDICT_ROUTE",
        .post(.infer, "vertex_predict", predicted(InvocationHandler.prediction)))

    // MARK: DeepStack, CodeProject.AI

    private static let deepStack: [RouteTable.Resource] = [
        .init(
            ["/v1/vision/detection"], dialect: .deepStack,
            .post(.infer, "deepstack_detection", predicted(DeepStackTarget.objects.prediction))),
        .init(
            ["/v1/vision/face"], dialect: .deepStack,
            .post(.infer, "deepstack_face", predicted(DeepStackTarget.faces.prediction))),
        .init(
            ["/v1/vision/face/recognize"], dialect: .deepStack,
            .post(.infer, "deepstack_face_recognize", predicted(FaceRecognition.prediction))),
        .init(
            ["/v1/vision/face/match"], dialect: .deepStack,
            .post(.infer, "deepstack_face_match", answered(FacePicturesHandler.match))),
        .init(
            ["/v1/vision/face/register"], dialect: .deepStack,
            .post(.teach, "deepstack_face_register", answered(FacePicturesHandler.register))),
        .init(
            ["/v1/vision/face/list"], dialect: .deepStack,
            .get(.teach, "deepstack_face_list", answered(FaceNamesHandler.list)),
            .post(.teach, "deepstack_face_list", answered(FaceNamesHandler.list))),
        .init(
            ["/v1/vision/face/delete"], dialect: .deepStack,
            .post(.teach, "deepstack_face_delete", answered(FaceNamesHandler.delete))),
        .init(
            ["/v1/vision/scene"], dialect: .deepStack,
            .post(.infer, "deepstack_scene", predicted(DeepStackTarget.scene.prediction))),
        // Clients use POST, people GET.
        .init(
            ["/v1/vision/custom/list"], dialect: .deepStack, .get(.read, "deepstack_list", detectors),
            .post(.read, "deepstack_list", detectors)),
        .init(
            ["/v1/vision/custom/{name}"], dialect: .deepStack,
            .post(.infer, "deepstack_custom", predicted(DeepStackTarget.objects.prediction))),
        .init(
            ["/v1/status/ping", "/v1/server/status/ping"], dialect: .deepStack,
            .get(.read, "deepstack_ping") { _, call in answer(call, json("{\"success\":true}")) }),
        .init(
            ["/v1/status/updateavailable", "/v1/server/status/updateavailable"], dialect: .deepStack,
            .get(.read, "deepstack_update") { _, call in
                answer(call, json("{\"success\":true,\"updateAvailable\":false,\"message\":\"\"}"))
            }),
    ]

    // MARK: OpenAI

    private static let openAI: [RouteTable.Resource] = [
        .init(
            ["/v1/embeddings"], dialect: .openAI,
            .post(.infer, "openai_embeddings") { service, call in
                service.predict(call, reading: EmbeddingsHandler.prediction)
            })
    ]

    // MARK: Label Studio

    private static let labelStudio: [RouteTable.Resource] = [
        .init(
            [PathTemplate(LabelStudioPaths.health)], isProbe: true, dialect: .labelStudio,
            .get(nil, "labelstudio_health") { _, call in answer(call, json(LabelSetupHandler.health)) }),
        .init(
            [PathTemplate(LabelStudioPaths.setup)], dialect: .labelStudio,
            .post(.teach, "labelstudio_setup", answered(LabelSetupHandler.setup))),
        .init(
            [PathTemplate(LabelStudioPaths.predict)], dialect: .labelStudio,
            .post(.infer, "labelstudio_predict", labelTasks)),
        .init(
            [PathTemplate(LabelStudioPaths.webhook)], dialect: .labelStudio,
            .post(.teach, "labelstudio_webhook", answered(LabelWebhookHandler.respond))),
        .init(
            [PathTemplate(LabelStudioPaths.versions)], dialect: .labelStudio,
            .get(.read, "labelstudio_versions", computed(LabelSetupHandler.versions))),
    ]

    /// Answers tasks by the models that their label config names.
    private static func labelTasks(_ service: Service, _ call: Call) throws(ServiceError) -> BodyAdmission {
        let handler = try LabelPredictHandler(call)
        return service.accept(call) { (request) async throws(ServiceError) in
            try await handler.respond(to: request) { (request, prediction) async throws(ServiceError) in
                try await service.answerPart(request, of: prediction)
            }
        }
    }

    /// Answers the names of the models that detect objects, including lazy models, because their task is known only
    /// after loading.
    private static func detectors(_ service: Service, _ call: Call) -> BodyAdmission {
        service.compute(call) { _ in
            let names = service.repository.records.filter { record in
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
