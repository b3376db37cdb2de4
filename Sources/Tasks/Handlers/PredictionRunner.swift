internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Keeping
internal import Repository
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import WireFormats

/// Answers the requests of a task: reads the query and the items of a body (a picture, a form, or the task's own
/// format), finds the model, and runs the items in slots.
package struct PredictionRunner<Job: PredictionTask>: Sendable {
    private let call: Call
    private let query: Job.Query

    /// Reads the query of the call's target.
    /// - Parameter query: a query without parameters.
    package init(_ call: Call, _ query: Job.Query) throws(ServiceError) {
        var query = query
        try query.read(call.head.target, maxDeadline: call.live.settings.maxDeadline)
        try call.checkDeclaredFrame()
        self.call = call
        self.query = query
    }

    /// The prediction that the request asks for.
    package var prediction: PredictionCall {
        PredictionCall(
            call, name: call.path.name, version: call.path.version, unnamed: Job.unnamed(query),
            answersTaughtModels: Job.answersTaughtModels, runsStages: Job.runsStages, readsQuery: true
        ) { (request, choice) async throws(ServiceError) in try await respond(to: request, choice) }
    }

    // Long: the steps of each prediction, in their order.
    private func respond(to request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        var query = query
        let unnamed = Job.unnamed(query)
        var found: ModelChoice.Chosen?
        var form: FormParts?
        if let boundary = try FormParts.boundary(of: request) {
            let deadline = options(of: request, query, choice).deadline
            // Inputs of the model take precedence over parameters of the same name, so find the model first.
            if Job.Inputs.itemKind == .inputs {
                found = try await choice.model(for: call, or: unnamed, until: deadline)
            }
            form = try await FormParts.read(
                request.body, boundary: boundary, maximum: call.live.settings.maxBatch, names: query.names,
                list: query.listName, inputs: found.map { FormParts.Inputs($0.model.description) } ?? .none,
                in: call.parts.work,
                for: choice.claim, until: deadline)
        }
        if let form = form?.parameters, !form.isEmpty {
            try query.read(request.head.target, form: form, maxDeadline: call.live.settings.maxDeadline)
        }
        if let list = form?.list { try query.take(list: list) }
        let requestOptions = options(of: request, query, choice)
        let chosen: ModelChoice.Chosen
        do throws(ServiceError) {
            chosen =
                if let found { found } else {
                    try await choice.model(for: call, or: Job.unnamed(query), until: requestOptions.deadline)
                }
        } catch {
            if Job.answersTaughtModels { keepForPlaceholder(request, form, choice) }
            throw error
        }
        let items = try await self.items(
            request, query, requestOptions, chosen, choice, pictures: form?.pictures.count ?? 1)
        let (run, job) = (items.request, items.job)
        if let count = form?.pictures.count, count > 1, let reason = job.forms.onlyOne {
            throw .badRequest("expected one picture, found \(count): \(reason)")
        }
        if job.inputs.reads(request, form) {
            return try await items.slots.answer(length: request.body.count) { [form] (_, _) throws(ServiceError) in
                try job.inputs.read(request, form)
            } _: { (read, taken) async throws(ServiceError) in
                try await items.answer(read.items, isList: read.isList, taken: taken)
            }
        }
        if let pictures = form?.pictures {
            return try await items.answer(
                try pictures.map { (picture) throws(ServiceError) in
                    try job.inputs.item(
                        run.model.reading(EncodedImage(request.body, picture.range, type: picture.type)),
                        found: "multipart/form-data")
                }, isList: pictures.count > 1)
        }
        let image = run.model.reading(EncodedImage(request))
        let item = try job.inputs.item(image, found: "a body that is not JSON")
        do throws(ServiceError) {
            return try await items.answer([item], isList: false)
        } catch {
            throw BodyAdvice.adding(to: error, of: request, model: run.model, name: run.repositoryName)
        }
    }

    /// Keeps the pictures of a request that no model answers yet.
    private func keepForPlaceholder(_ request: HTTPRequest, _ form: FormParts?, _ choice: ModelChoice) {
        guard let keeper = call.parts.kept, !call.head.hasCacheControl("no-store"),
            let version = call.parts.repository.placeholder(named: choice.name, version: choice.version)
        else { return }
        for image in form?.images(in: request.body) ?? [EncodedImage(request)] {
            keeper.offer(image, model: choice.name, version: version, reasons: [.unknown])
        }
    }

    /// Prepares the task of a request for its items.
    /// - Parameter pictures: the number of pictures, which share the limit of crops.
    private func items(
        _ request: HTTPRequest, _ query: Job.Query, _ options: PredictionOptions, _ chosen: ModelChoice.Chosen,
        _ choice: ModelChoice, pictures: Int
    ) async throws(ServiceError) -> ItemsRunner<Job> {
        var options = options
        options.loadWait = chosen.loadWait
        options.maxCrops = max(1, call.live.settings.maxCrops / max(1, pictures))
        options.maxLines = call.live.settings.maxLines
        let watch = AnswerWatch(call, chosen.model, named: chosen.name)
        options.measures = watch != nil
        var run = ModelRequest(
            request, model: chosen.model, name: chosen.name, options: options,
            taught: chosen.taught, shadow: choice.route.flatMap { $0.name == chosen.name ? $0 : nil })
        run.watch = watch
        if let stages = chosen.stages { run.stages = stages.parts }
        let slots = SlotRunner(model: run.model, options: options, metrics: call.parts.metrics)
        let job: Job
        let begun = try Job(run, query, of: request, live: call.live)
        do throws(InferenceError) {
            job = try await begun.prepared()
        } catch {
            throw slots.failure(error, of: Job.Inputs.itemKind)
        }
        return ItemsRunner(job: job, request: run, slots: slots, explain: query.picture.explain)
    }

    // MARK: Parts

    /// A prediction for items of a body that the caller has read, by a model that the body names.
    /// - Parameters:
    ///   - name: the name of the model; empty for the task's own default.
    ///   - parts: gets the answers of the items, from which the caller writes the answer.
    package func prediction(
        of items: [Job.Inputs.Item], by name: String, into parts: AnswerParts
    ) -> PredictionCall {
        PredictionCall(
            call, name: name, version: nil, unnamed: Job.unnamed(query), answersTaughtModels: Job.answersTaughtModels,
            runsStages: Job.runsStages, readsQuery: true
        ) { (request, choice) async throws(ServiceError) in
            let options = options(of: request, query, choice)
            let chosen = try await choice.model(for: call, or: Job.unnamed(query), until: options.deadline)
            let runner = try await self.items(request, query, options, chosen, choice, pictures: items.count)
            return await runner.answer(items, into: parts)
        }
    }

    private func options(of request: HTTPRequest, _ query: Job.Query, _ choice: ModelChoice) -> PredictionOptions {
        var options = query.picture.options(of: request, deadline: call.live.settings.deadline)
        options.claim = choice.claim
        options.keeps = choice.route?.sample
        options.maxAnswerBytes = call.live.answerBytes
        return options
    }
}
