internal import FlowControl
internal import FoundationEssentials
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import ServiceCore
internal import Settings
internal import SystemSupport
internal import Teaching
package import WireFormats

/// Answers `POST /v1/taught/{name}/search`: embeds a picture in a slot of the embedder, or a text if the embedder takes
/// texts, and finds the examples of the version that serves that are nearest to it.
package struct SearchHandler: CallHandler {
    private let call: Call
    private let taught: TaughtModels
    private let query: SearchQuery
    private var settings: Settings { call.live.settings }
    private var work: WorkQueue { call.parts.work }

    package init(_ call: Call) throws(ServiceError) {
        let taught = try call.taughtModels()
        var query = SearchQuery()
        try query.read(call.head.target, maxDeadline: call.live.settings.maxDeadline)
        try call.checkDeclaredFrame()
        if TextBody.isPlain(call.head) { try TextBody.checkCharset(call.head) }
        let model = try taught.find(call.path.name)
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
        var text: String?
        if TextBody.isPlain(request.head) {
            text = try await call.read(request) { [settings] () throws(ServiceError) in
                try TextBody(request, settings).texts.first
            }
        }
        var image = EncodedImage(request)
        if let boundary = try FormParts.boundary(of: request) {
            let form = try await FormParts.read(
                request.body, boundary: boundary, maximum: settings.maxBatch, names: query.names, in: work,
                for: call.claim, until: query.picture.options(of: request, deadline: settings.deadline).deadline)
            if !form.parameters.isEmpty {
                try query.read(call.head.target, form: form.parameters, maxDeadline: settings.maxDeadline)
            }
            guard form.pictures.count == 1, let picture = form.pictures.first else {
                throw .badRequest("expected one picture, found \(form.pictures.count): a search is for one")
            }
            image = EncodedImage(request.body, picture.range, type: picture.type)
        }
        guard query.picture.explain == nil else {
            throw .badRequest(
                "query parameter \"explain\": a search shows no input; ask /v1/models/{embedder}/embed")
        }
        var options = query.picture.options(of: request, deadline: settings.deadline)
        options.claim = call.claim
        let model = try taught.find(call.path.name)
        let before = model.view.state
        guard !before.examples.isEmpty else { return await Self.answer([]) }
        if case .stale(let reason) = await taught.condition(of: model) { throw ServiceError(.modelNotReady, reason) }
        let embedder = try await taught.embedder(of: model.name, before.embedder, deadline: options.deadline)
        let slots = SlotRunner(model: embedder, options: options, metrics: call.parts.metrics)
        let embedding =
            if let text { try await embed(text, slots) } else { try await embed(image, slots) }
        // The examples as they are now: what was forgotten while the picture waited is not found.
        let state = model.view.state
        guard !state.examples.isEmpty else { return await Self.answer([]) }
        guard state.embedder.digest == before.embedder.digest,
            let search = ExampleSearch(embedding, in: state, top: query.top, label: query.label)
        else {
            throw ServiceError(
                .modelNotReady, "the embedder of \(model.name) has changed since: send the picture again")
        }
        return await Self.answer(try await nearest(search, query.top, slots))
    }

    private static func answer(_ found: [ExampleSearch.Found]) async -> HTTPResponse {
        await LongDecoding.run(lowPriority: false) { _ in TaughtWriter.json(.ok) { TaughtWriter.write(found, to: &$0) }
        }
    }

    private func embed(_ text: String, _ slots: SlotRunner) async throws(ServiceError) -> [Float] {
        do throws(InferenceError) {
            let made = try await slots.model.textEmbeddings(of: [text], options: slots.options)
            guard let embedding = made.embeddings.first else {
                throw .modelNotReady(name: slots.model.description.name, reason: "there is no answer")
            }
            return embedding.vector
        } catch {
            throw slots.failure(error, of: .picture)
        }
    }

    private func embed(_ image: EncodedImage, _ slots: SlotRunner) async throws(ServiceError) -> [Float] {
        let item = slots.model.reading(image)
        let outcomes = await slots.outcomes(of: [item], stopsAtFailure: true, work: \.decodingTime) { images, slot in
            await slots.model.observations(
                of: images, request: ObservationRequest(task: .embed), options: slots.options, slot: slot
            ).map { result in
                do throws(InferenceError) {
                    let result = try result.get()
                    return .success(result)
                } catch {
                    return .failure(slots.failure(error, of: .picture))
                }
            }
        }
        guard let outcome = outcomes.first, case .embedding(let values) = try outcome.result.get().content else {
            throw ServiceError(.internal, "the embedder gave no embedding")
        }
        return values
    }

    // MARK: Searching

    /// The number of elements that one thread reads, at least: about 2 ms.
    private static let shareOfWork = 8_000_000
    private static let maximumShares = min(4, ProcessInfo.processInfo.activeProcessorCount)

    /// Searches in the client's turn, a large set in several threads.
    private func nearest(
        _ search: ExampleSearch, _ top: Int, _ slots: SlotRunner
    ) async throws(ServiceError) -> [ExampleSearch.Found] {
        let shares = max(1, min(Self.maximumShares, search.work / Self.shareOfWork))
        guard shares > 1 else { return try await share(0, of: 1, search, slots) }
        let outcomes = await withTaskGroup(of: ItemOutcome<[ExampleSearch.Found]>.self) { group in
            for number in 0..<shares {
                group.addTask { await self.outcome(number, of: shares, search, slots) }
            }
            var outcomes: [ItemOutcome<[ExampleSearch.Found]>] = []
            for await outcome in group {
                outcomes.append(outcome)
                if outcome.isFailure { group.cancelAll() }
            }
            return outcomes
        }
        var found: [[ExampleSearch.Found]] = []
        // In the order in which they ended: the first failure is the reason, those after it were cancelled.
        for outcome in outcomes { found.append(try outcome.result.get()) }
        return ExampleSearch.merged(found, top: top)
    }

    private func outcome(
        _ number: Int, of shares: Int, _ search: ExampleSearch, _ slots: SlotRunner
    ) async -> ItemOutcome<[ExampleSearch.Found]> {
        do throws(ServiceError) {
            let found = try await share(number, of: shares, search, slots)
            return ItemOutcome(index: number, result: .success(found))
        } catch {
            return ItemOutcome(index: number, result: .failure(error))
        }
    }

    private func share(
        _ number: Int, of shares: Int, _ search: ExampleSearch, _ slots: SlotRunner
    ) async throws(ServiceError) -> [ExampleSearch.Found] {
        let deadline = slots.options.deadline
        let found = try await work.run(
            for: call.claim.working(UInt64(search.work / shares) / 3), until: deadline, lowPriority: false
        ) { (isCancelled) throws(ServiceError) in
            search.nearest(inShare: number, of: shares) {
                isCancelled() || (deadline.map { MonotonicInstant.now >= $0 } ?? false)
            }
        }
        guard let found else { throw slots.failure(.stopped(at: .postprocess), of: .picture) }
        return found
    }
}
