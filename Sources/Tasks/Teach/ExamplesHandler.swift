internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import ServiceCore
internal import Settings
internal import SystemSupport
internal import Teaching
package import WireFormats

/// Answers `POST /v1/taught/{name}/examples`: embeds pictures in slots of the embedder, and teaches them in one change.
package struct ExamplesHandler: CallHandler {
    private let call: Call
    private let taught: TaughtModels
    private let query: TeachQuery
    private var settings: Settings { call.live.settings }
    private var claim: Claim { call.claim }
    private var work: WorkQueue { call.parts.work }

    package init(_ call: Call) throws(ServiceError) {
        let taught = try call.taughtModels()
        var query = TeachQuery()
        try query.read(call.head.target, maxDeadline: call.live.settings.maxDeadline)
        try call.checkDeclaredFrame()
        let model = try taught.find(call.path.name)
        if let label = query.label { try ExampleTeacher.check(label, of: model) }
        if let refusal = taught.readyEmbedder(model.view.state.embedder)?.limiter.announce(claim: call.claim) {
            throw ServiceError(refusal)
        }
        self.call = call
        self.taught = taught
        self.query = query
    }

    package func respond(to request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        var query = query
        var form: FormParts?
        if let boundary = try FormParts.boundary(of: request) {
            form = try await FormParts.read(
                request.body, boundary: boundary, maximum: settings.maxBatch, names: query.names, in: work, for: claim,
                until: query.picture.options(of: request, deadline: settings.deadline).deadline)
        }
        if let form = form?.parameters, !form.isEmpty {
            try query.read(request.head.target, form: form, maxDeadline: settings.maxDeadline)
        }
        guard query.picture.explain == nil else {
            throw .badRequest("query parameter \"explain\": examples are not shown; ask /v1/models/{embedder}/embed")
        }
        guard let label = query.label else { throw TeachQuery.missing }
        var options = query.picture.options(of: request, deadline: settings.deadline)
        options.claim = claim
        let model = try taught.find(call.path.name)
        let images =
            form?.pictures.map { EncodedImage(request.body, $0.range, type: $0.type) } ?? [EncodedImage(request)]
        let (outcomes, failures) = try await ExampleTeacher(
            call, taught, model, options: options, isForm: form != nil
        ).teach(images, label: label, name: query.name, bytes: request.body.count)
        let isNew = outcomes.contains { $0.isNew || $0.isMoved }
        let condition = await taught.condition(of: model)
        // Not in the work queue, which may refuse it: the examples are already taught.
        return await LongDecoding.run { _ in
            TaughtWriter.json(isNew ? .created : .ok) { writer in
                TaughtWriter.write(
                    model.name, model.view, condition, TaughtWriter.Addition(outcomes: outcomes, failures: failures),
                    to: &writer)
            }
        }
    }
}
