internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import Repository
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import WireFormats

/// Answers the requests of a task: reads the query and the items of a body (a picture, a form, or the task's own
/// format), finds the model, and runs the items in slots.
package struct PredictionRunner<Job: PredictionTask>: PredictionHandler {
    package let call: Call
    private let query: Job.Query
    private var settings: Settings { call.live.settings }
    private var repository: ModelRepository { call.parts.repository }

    /// Reads the query of the call's target.
    /// - Parameter query: a query without parameters.
    package init(_ call: Call, _ query: Job.Query) throws(ServiceError) {
        var query = query
        try query.read(call.head.target, maxDeadline: call.live.settings.maxDeadline)
        self.call = call
        self.query = query
    }

    package static var answersTaughtModels: Bool { Job.answersTaughtModels }
    package static var readsQuery: Bool { true }
    package func defaultName() throws(ServiceError) -> String { try defaultName(query) }

    private func defaultName(_ query: Job.Query) throws(ServiceError) -> String {
        try Job.defaultName(query, in: repository, settings)
    }

    package func respond(
        to request: HTTPRequest, _ choice: ModelChoice
    ) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        var query = query
        var found: Chosen?
        var form: FormParts?
        if let boundary = try FormParts.boundary(of: request) {
            let deadline = options(of: request, query, choice).deadline
            // Inputs of the model take precedence over parameters of the same name, so find the model first.
            if Job.takesInputs { found = try await model(query, choice, until: deadline) }
            form = try await FormParts.read(
                request.body, boundary: boundary, most: settings.maxBatch, names: query.names,
                inputs: found.map { FormParts.Inputs($0.model.description) } ?? .none, in: call.parts.work,
                for: choice.claim, until: deadline)
        }
        if let form = form?.parameters, !form.isEmpty {
            try query.read(request.head.target, form: form, maxDeadline: settings.maxDeadline)
        }
        var wanted = options(of: request, query, choice)
        let chosen = if let found { found } else { try await model(query, choice, until: wanted.deadline) }
        // All pictures of a request share the limit of crops.
        wanted.maxCrops = max(1, settings.maxCrops / max(1, form?.pictures.count ?? 1))
        let run = RunRequest(
            request, model: chosen.model, name: chosen.name, options: wanted,
            taught: chosen.taught, shadow: choice.route.flatMap { $0.name == chosen.name ? $0 : nil })
        let job = try Job(run, query, of: request, settings: settings)
        let items = ItemsRun(job: job, request: run, metrics: call.parts.metrics, explain: query.picture.explain)
        if let count = form?.pictures.count, !Job.takesLists, count > 1 {
            throw .badRequest("expected one picture, found \(count): this route answers one at a time")
        }
        if let count = form?.pictures.count, job.takesOneOnly, count > 1 {
            throw .badRequest("expected one picture, found \(count): an answer that is a picture is for one (Accept)")
        }
        if let reader = job.reader(of: request, form) {
            // Take a slot before reading: reading millions of numbers takes as long as a prediction, and as much
            // memory.
            let length = request.body.count
            let slot = try await items.slots.slot(work: WorkQueue.readingTime(length))
            defer { slot.release() }
            let read = try await WorkQueue.reading(length) { (_) throws(ServiceError) in
                try reader.read()
            }
            return try await items.answer(read.items, isList: read.isList, taken: slot)
        }
        if let pictures = form?.pictures {
            return try await items.answer(
                try pictures.map { (range) throws(ServiceError) in
                    try job.item(run.model.reading(EncodedImage(request.body, range)), found: "multipart/form-data")
                }, isList: pictures.count > 1)
        }
        let image = run.model.reading(EncodedImage(request.body, 0..<request.body.count))
        let item = try job.item(image, found: "a body that is not JSON")
        do throws(ServiceError) {
            return try await items.answer([item], isList: false)
        } catch {
            throw BodyAdvice.adding(to: error, of: request, model: run.model, name: run.repositoryName)
        }
    }

    private func options(of request: HTTPRequest, _ query: Job.Query, _ choice: ModelChoice) -> PredictionOptions {
        var options = query.picture.options(of: request, deadline: settings.deadline)
        options.claim = choice.claim
        options.keeps = choice.route?.sample
        return options
    }

    /// The model of a request, and the name under which it is served.
    private struct Chosen {
        let model: Model
        let name: String
        /// The taught model with this embedder; nil for other models.
        var taught: TaughtRun?
    }

    private func model(
        _ query: Job.Query, _ choice: ModelChoice, until deadline: MonotonicInstant?
    ) async throws(ServiceError) -> Chosen {
        if let taught = choice.taught {
            let run =
                if let settled = choice.settledOn?.taught { settled } else {
                    try await taught.run(choice.name, version: choice.version, deadline: deadline)
                }
            return Chosen(model: run.embedder, name: run.name, taught: run)
        }
        let (model, name) = try await choice.model(in: repository, deadline: deadline, fits: { Job.fits($0, query) }) {
            () throws(ServiceError) in try defaultName(query)
        }
        return Chosen(model: model, name: name)
    }
}
