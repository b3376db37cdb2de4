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
    private var metrics: ServiceMetrics { call.parts.metrics }
    private var claim: Claim { call.claim }
    private var work: WorkQueue { call.parts.work }

    package init(_ call: Call) throws(ServiceError) {
        let taught = try call.taughtModels()
        var query = TeachQuery()
        try query.read(call.head.target, maxDeadline: call.live.settings.maxDeadline)
        try call.checkDeclaredFrame()
        let model = try taught.find(call.path.name)
        if let label = query.label { try Self.check(label, of: model) }
        if let refusal = taught.readyEmbedder(model.view.state.embedder)?.limiter.announce(claim: call.claim) {
            throw ServiceError(refusal)
        }
        self.call = call
        self.taught = taught
        self.query = query
    }

    /// Throws 400 for a label that the taught model's examples cannot have.
    private static func check(_ label: String, of model: TaughtModel) throws(ServiceError) {
        do throws(TeachingError) { try model.view.state.check(label: label) } catch { throw ServiceError(error) }
    }

    /// A picture of the request.
    private struct Picture: Sendable {
        /// The picture's number, from 1.
        let part: Int
        let id: ExampleID
        let image: EncodedImage
        var embedding: [Float]?
        var patches: PatchVectors?
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
        try Self.check(label, of: model)
        let embedder = try await taught.teacher(of: model, deadline: options.deadline)
        let state = model.view.state
        let images = await Self.complete(
            form?.pictures.map { EncodedImage(request.body, $0.range, type: $0.type) } ?? [EncodedImage(request)],
            embedder, options)
        let pictures = try await work.read(request.body.count, for: claim, until: options.deadline) {
            (isCancelled) throws(ServiceError) in
            try images.enumerated().map { (index, image) throws(ServiceError) in
                if isCancelled() { throw ServiceError(InferenceError.cancelled(stage: .queue)) }
                let id = image.withUnsafeBytes { ExampleID(of: $0) }
                let known = state.example(id)
                return Picture(
                    part: index + 1, id: id, image: image, embedding: known?.embedding, patches: known?.patches)
            }
        }
        let (learned, failures) = try await embed(
            pictures, readsPatches: state.grid != nil,
            SlotRunner(model: embedder, options: options, metrics: metrics))
        if learned.isEmpty { throw Self.refusal(failures, isForm: form != nil) }
        let outcomes = try await teach(learned, label, query.name, to: model, by: state.embedder, options)
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

    /// The pictures in a form that can be embedded again without their request, when the embedder has changed: raw
    /// frames and pictures with a stated orientation become PNGs.
    private static func complete(
        _ images: [EncodedImage], _ embedder: Model, _ options: PredictionOptions
    ) async -> [EncodedImage] {
        var complete: [EncodedImage] = []
        for image in images {
            var found: EncodedImage?
            if image.frame != nil || options.orientation != .apply {
                // A picture that fails does so again when it is embedded, and is reported then.
                found = try? await embedder.displayed(image, options: options)
            }
            complete.append(found ?? image)
        }
        return complete
    }

    // MARK: Embedding

    /// Embeds the pictures without a known embedding, each picture once.
    private func embed(
        _ pictures: [Picture], readsPatches: Bool, _ slots: SlotRunner
    ) async throws(ServiceError) -> (learned: [Picture], failures: [TaughtWriter.Failure]) {
        var firsts: [ExampleID: Int] = [:]
        var items: [EncodedImage] = []
        for picture in pictures where picture.embedding == nil && firsts[picture.id] == nil {
            firsts[picture.id] = items.count
            items.append(slots.model.reading(picture.image))
        }
        var request = ObservationRequest(task: .embed)
        request.readsPatches = readsPatches
        let asked = request
        let outcomes = await slots.outcomes(of: items, stopsAtFailure: false, work: \.decodingTime) { images, slot in
            await slots.model.observations(
                of: images, request: asked, options: slots.options, slot: slot
            ).map { result in
                do throws(InferenceError) {
                    let result = try result.get()
                    return .success(result)
                } catch {
                    return .failure(slots.failure(error, of: .picture))
                }
            }
        }
        var learned: [Picture] = [], failures: [TaughtWriter.Failure] = []
        for var picture in pictures {
            guard let place = firsts[picture.id] else {
                learned.append(picture)
                continue
            }
            do throws(ServiceError) {
                let result = try outcomes[place].result.get()
                guard case .embedding(let values) = result.content else { continue }
                picture.embedding = values
                picture.patches = result.patches?.vectors
                learned.append(picture)
            } catch {
                failures.append(TaughtWriter.Failure(part: picture.part, error: error))
            }
        }
        return (learned, failures)
    }

    /// The error of a request without a usable picture.
    private static func refusal(_ failures: [TaughtWriter.Failure], isForm: Bool) -> ServiceError {
        guard let first = failures.first else {
            return ServiceError(.internal, "the embedder gave no embedding")
        }
        // A temporary error is reported as for any prediction.
        if let passing = failures.first(where: { $0.error.status.code >= 500 }) { return passing.error }
        guard isForm else { return first.error }
        let listed = failures.prefix(maximumListed).map { "part \($0.part): \($0.error.message)" }.joined(
            separator: "; ")
        let rest = failures.count > maximumListed ? "; and \(failures.count - maximumListed) more" : ""
        return ServiceError(
            .invalidImage, "no picture of the form could be used: \(listed)\(rest)", label: first.error.label)
    }

    private static let maximumListed = 5

    // MARK: Teaching

    private func teach(
        _ pictures: [Picture], _ label: String, _ name: String?, to model: TaughtModel, by embedder: Embedder,
        _ options: PredictionOptions
    ) async throws(ServiceError) -> [TaughtModel.Outcome] {
        let isKept = settings.taughtKeepPictures
        let examples = pictures.map { picture in
            TaughtModel.NewExample(
                id: picture.id, label: label, embedding: picture.embedding ?? [], patches: picture.patches,
                picture: isKept ? picture.image.withUnsafeBytes { Array($0) } : nil, name: name)
        }
        return try await taught.teach(
            examples, to: model, by: embedder, deadline: options.deadline ?? .now + .seconds(settings.deadline),
            claim: claim
        ).outcomes
    }
}
