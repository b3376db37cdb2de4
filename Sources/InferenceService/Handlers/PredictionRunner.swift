internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Settings

/// Answers the requests of a task: reads the query and the items of a body, which is a picture, a form or what the task reads, finds the
/// model, and runs the items in slots.
struct PredictionRunner<Job: PredictionTask>: Sendable {
    let repository: ModelRepository
    let settings: Settings
    let metrics: ServiceMetrics

    func respond(
        to request: HTTPRequest, _ query: Job.Query, _ choice: ModelChoice
    ) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        let parts = try ImageParts.of(request, most: settings.maxBatch, parameters: query.names)
        var query = query
        if let form = parts?.parameters, !form.isEmpty {
            try query.read(request.head.target, form: form, settings: settings)
        }
        let (run, job) = try await prepare(request, query, choice)
        let items = ItemsRun(job: job, request: run, metrics: metrics, explain: query.picture.explain)
        if let parts {
            return try await items.answer(
                try parts.ranges.map { (range) throws(ServiceError) in
                    try job.item(run.model.reading(EncodedImage(request.body, range)), found: "multipart/form-data")
                }, isList: parts.ranges.count > 1)
        }
        if let reader = job.reader(of: request) {
            // Reading millions of numbers takes as long as a prediction does, and as much memory.
            let slot = try await items.slots.slot()
            defer { slot.release() }
            let read = try reader.read()
            return try await items.answer(read.items, isList: read.isList, taken: slot)
        }
        let image = run.model.reading(EncodedImage(request.body, 0..<request.body.count))
        let item = try job.item(image, found: "a body that is not JSON")
        do throws(ServiceError) {
            return try await items.answer([item], isList: false)
        } catch {
            throw BodyAdvice.adding(to: error, of: request, model: run.model, name: run.repositoryName)
        }
    }

    /// The model of a request, and the task for it.
    private func prepare(
        _ request: HTTPRequest, _ query: Job.Query, _ choice: ModelChoice
    ) async throws(ServiceError) -> (RunRequest, Job) {
        var options = query.picture.options(of: request, settings: settings)
        options.claim = choice.claim
        if let taught = choice.taught {
            let found = try await taught.run(choice.name, version: choice.version, deadline: options.deadline)
            let run = RunRequest(request, taught: found, options: options)
            return (run, try Job(run, query, of: request, settings: settings))
        }
        let (model, name) = try await choice.model(
            in: repository, deadline: options.deadline, fits: { Job.fits($0, query) }
        ) { () throws(ServiceError) in try Job.defaultName(query, in: repository, settings) }
        let run = RunRequest(request, model: model, name: name, options: options)
        return (run, try Job(run, query, of: request, settings: settings))
    }
}
