internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import ServiceCore
internal import ServicePlanning
internal import Settings
internal import Tasks
internal import Teaching
internal import WireFormats

/// The rows of the table of routes for taught models, with the decision of each when a request's head has arrived.
extension Service {
    static let taughtList = Table.Resource(
        ["/v1/taught"],
        .get(
            .read, "taught_models",
            taught { (handler, _, request) throws(ServiceError) in try await handler.list(request) }))

    static let taughtModel = Table.Resource(
        ["/v1/taught/{name}"],
        .get(
            .read, "taught_model",
            taught { (handler, call, request) throws(ServiceError) in
                try await handler.describe(call.match.name, request)
            }),
        .put(
            .teach, "create_taught_model",
            taught { (handler, call, request) throws(ServiceError) in
                try await handler.create(call.match.name, request)
            }),
        .delete(
            .teach, "delete_taught_model",
            taught { (handler, call, request) throws(ServiceError) in
                try await handler.delete(call.match.name, request)
            }))

    static let taughtExamples = Table.Resource(
        ["/v1/taught/{name}/examples"],
        .get(
            .teach, "examples",
            taught { (handler, call, request) throws(ServiceError) in
                try await handler.examples(call.match.name, try ExamplesQuery(call.head.target), request)
            }),
        .post(.teach, "teach", teach))

    static let taughtExample = Table.Resource(
        ["/v1/taught/{name}/examples/{id}"], isSuggested: false,
        .delete(
            .teach, "forget_example",
            taught { (handler, call, request) throws(ServiceError) in
                try await handler.forget(call.match.name, example: call.match.id ?? "", request)
            }))

    static let taughtClasses = Table.Resource(
        ["/v1/taught/{name}/classes"], isSuggested: false,
        .delete(
            .teach, "forget_class",
            taught { (handler, call, request) throws(ServiceError) in
                guard let label = try TeachQuery.label(in: call.head.target) else { throw TeachQuery.missing }
                return try await handler.forget(call.match.name, label: label, request)
            }))

    static let taughtVersion = Table.Resource(
        ["/v1/taught/{name}/versions/{version}/serve"],
        .post(
            .teach, "serve_taught_version",
            taught { (handler, call, request) throws(ServiceError) in
                try await handler.serve(call.match.name, call.match.version ?? "", request)
            }))

    // MARK: Decisions

    private static func taught(
        _ answer: @escaping @Sendable (TaughtHandler, Call, HTTPRequest) async throws(ServiceError) -> HTTPResponse
    ) -> @Sendable (Call) throws(ServiceError) -> BodyAdmission {
        { (call) throws(ServiceError) in
            let handler = TaughtHandler(
                taught: try call.service.taughtModels(), settings: call.live.settings, claim: call.claim,
                work: call.service.work)
            return call.service.accept(call) { (request) async throws(ServiceError) in
                try await answer(handler, call, request)
            }
        }
    }

    private static func teach(_ call: Call) throws(ServiceError) -> BodyAdmission {
        let taught = try call.service.taughtModels()
        let settings = call.live.settings
        var asked = TeachQuery()
        try asked.read(call.head.target, settings: settings)
        let query = asked
        let claim = call.claim
        let model = try taught.find(call.match.name)
        if let refusal = taught.readyEmbedder(model.view.state.embedder)?.limiter.announce(claim: claim) {
            throw ServiceError(refusal)
        }
        return call.service.accept(call) { (request) async throws(ServiceError) in
            try await ExamplesHandler(
                taught: taught, settings: settings, metrics: call.service.metrics, claim: claim,
                work: call.service.work
            ).respond(to: request, call.match.name, query)
        }
    }

    /// The taught models; throws 404 if teaching is turned off.
    func taughtModels() throws(ServiceError) -> TaughtModels {
        guard let taught else {
            throw ServiceError(
                .notFound, "teaching is turned off: set `taught_dir` to a folder to keep taught models in")
        }
        return taught
    }
}
