internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
internal import Settings
internal import SystemSupport
internal import Teaching
package import WireFormats

/// Answers the routes of taught models, except those that take pictures.
package struct TaughtHandler: CallHandler {
    private let call: Call
    private let taught: TaughtModels
    private var name: String { call.path.name }
    private var settings: Settings { call.live.settings }
    private var claim: Claim { call.claim }
    private var work: WorkQueue { call.parts.work }

    package init(_ call: Call) throws(ServiceError) {
        self.call = call
        taught = try call.taughtModels()
    }

    private func deadline(of request: HTTPRequest) -> MonotonicInstant { request.deadline(usual: settings.deadline) }

    /// The answer with one changed taught model. Not in the work queue, which may refuse it: the change is already
    /// made.
    private func answer(_ model: TaughtModel, _ status: HTTPStatus = .ok) async -> HTTPResponse {
        let condition = await taught.condition(of: model)
        return await LongDecoding.run { _ in
            TaughtWriter.json(status) { TaughtWriter.write(model.name, model.view, condition, to: &$0) }
        }
    }

    // MARK: Reading

    package func list(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        var found: [(TaughtModel, TaughtCondition)] = []
        for model in taught.store.all { found.append((model, await taught.condition(of: model))) }
        let all = found, problems = taught.store.problems.sorted { $0.key < $1.key }
        return try await work.run(for: claim, until: deadline(of: request)) { (_) throws(ServiceError) in
            Self.list(all, problems)
        }
    }

    private static func list(
        _ all: [(TaughtModel, TaughtCondition)], _ problems: [(key: String, value: String)]
    ) -> HTTPResponse {
        TaughtWriter.json(.ok) { writer in
            writer.object { writer in
                writer.key("taught")
                writer.array { writer in
                    for (model, condition) in all {
                        TaughtWriter.write(model.name, model.view, condition, to: &writer)
                    }
                }
                guard !problems.isEmpty else { return }
                writer.key("unreadable")
                writer.array { writer in
                    for (name, reason) in problems {
                        writer.object { writer in
                            writer.member("name", name)
                            writer.member("reason", reason)
                        }
                    }
                }
            }
        }
    }

    package func describe(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let model = try taught.find(name), condition = await taught.condition(of: model)
        return try await work.run(for: claim, until: deadline(of: request)) { (_) throws(ServiceError) in
            TaughtWriter.json(.ok) { TaughtWriter.write(model.name, model.view, condition, to: &$0) }
        }
    }

    package func examples(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let query = try ExamplesQuery(call.head.target)
        let all = try taught.find(name).view.state.examples
        return try await work.run(
            for: claim.working(WorkQueue.writingTime(labels: 10 * query.limit)), until: deadline(of: request)
        ) { (_) throws(ServiceError) in
            let page = all.page(after: query.after, limit: query.limit, label: query.label)
            return TaughtWriter.json(.ok) { TaughtWriter.write(page, to: &$0) }
        }
    }

    /// Answers the classifier that serves as a Core ML file.
    package func export(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let model = try taught.find(name), view = model.view
        let numbers = view.head.map { $0.dimension * ($0.labels.count + $0.exampleClasses.count) } ?? 0
        let bytes = try await work.run(
            for: claim.working(WorkQueue.writingTime(labels: numbers / 10)), until: deadline(of: request)
        ) { (_) throws(ServiceError) in
            do throws(TeachingError) {
                return try CoreMLFile.bytes(of: view.head, view.state, name: model.name)
            } catch {
                throw ServiceError(error)
            }
        }
        return HTTPResponse(
            status: .ok,
            fields: [
                ("Content-Type", "application/octet-stream"),
                ("Content-Disposition", "attachment; filename=\"\(model.name).mlmodel\""),
            ], body: bytes)
    }

    // MARK: Creating and removing

    package func create(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        do throws(TeachingError) { try TaughtNames.check(name: name) } catch { throw ServiceError(error) }
        let body = try await work.read(request.body.count, for: claim, until: deadline(of: request)) {
            (_) throws(ServiceError) in try CreationBody(request)
        }
        if let old = taught.model(name) {
            try body.compare(with: old)
            return await answer(old)
        }
        // Its files cannot be read: 503.
        if taught.owns(name) { _ = try taught.find(name) }
        guard taught.model(body.embedder) == nil else {
            throw .invalidInput("\"\(body.embedder)\" is a taught model: an embedder is a model that answers /embed")
        }
        let embedder = try await embedder(body.embedder, deadline(of: request))
        guard let dimension = embedder.embeddingDimension else {
            throw .invalidInput("model \"\(body.embedder)\" does not give an embedding: \(embedder.abilities)")
        }
        guard let digest = await taught.digests.digest(of: embedder) else {
            throw ServiceError(
                .conflict, "the files of model \"\(body.embedder)\" have changed since it was loaded: reload it first")
        }
        let choice = body.method ?? .auto
        let grid = choice.falseAlarms == nil ? nil : try Self.patchGrid(of: embedder)
        let made = Embedder(model: body.embedder, version: embedder.description.version, digest: digest)
        let repository = taught.repository
        let (model, isNew) = try await taught.changeList(deadline: deadline(of: request), claim: claim) {
            (store) throws(TeachingError) in
            guard repository.reserve(name) else {
                throw .conflict("there is a model \"\(name)\" already: a taught model needs a name of its own")
            }
            do throws(TeachingError) {
                return try store.create(name, made, dimension: dimension, choice, grid: grid)
            } catch {
                // A placeholder that had the name gets it back.
                if store.model(name) == nil, repository.release(name) { try? repository.discover() }
                throw error
            }
        }
        if isNew {
            taught.metrics.add(.taughtChanges)
            taught.log.info("taught \(name): created with the embedder \(made.model) version \(made.version)")
        }
        return await answer(model, isNew ? .created : .ok)
    }

    /// The patches that a model with the method `normal` compares; nil for whole pictures.
    private static func patchGrid(of embedder: Model) throws(ServiceError) -> PatchGrid? {
        do throws(InferenceError) { return try embedder.patchGrid() } catch { throw ServiceError(error) }
    }

    private func embedder(_ name: String, _ deadline: MonotonicInstant) async throws(ServiceError) -> Model {
        do throws(InferenceError) {
            return try await taught.repository.model(named: name, deadline: deadline)
        } catch {
            throw ServiceError(error)
        }
    }

    package func delete(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        guard taught.owns(name) else {
            throw ServiceError(.notFound, "there is no taught model \"\(name.prefix(80))\"")
        }
        let model = taught.model(name)
        let repository = taught.repository, kept = call.parts.kept
        let wasHidden = try await taught.changeList(deadline: deadline(of: request), claim: claim) {
            (store) throws(TeachingError) in
            if let model { try kept?.forget(model) }
            try store.remove(name)
            return repository.release(name)
        }
        taught.removed(name, model)
        taught.metrics.add(.taughtChanges)
        taught.log.info("taught \(name): deleted")
        if wasHidden {
            // Serve the model of the repository that has this name, now that the name is free.
            Task {
                await LoaderThread.run { try? repository.discover() }
                await repository.loadEager()
            }
        }
        await call.parts.drift?.forget(name)
        return HTTPResponse(status: .noContent)
    }

    // MARK: Changing

    package func forgetExample(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let model = try taught.find(name), text = call.path.id ?? ""
        guard let id = ExampleID(text) else {
            throw ServiceError(
                .notFound,
                "\(name) has no example \"\(text.prefix(80))\": an id is the SHA-256 of a picture, 64 hexadecimal digits"
            )
        }
        let kept = call.parts.kept
        return try await change(model, "1 example forgotten", request) { (model) throws(TeachingError) in
            try kept?.forget(id, of: model)
            try model.forget(id)
        }
    }

    package func forgetClass(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        guard let label = try TeachQuery.label(in: call.head.target) else { throw TeachQuery.missing }
        let kept = call.parts.kept
        return try await change(try taught.find(name), "a class forgotten", request) { (model) throws(TeachingError) in
            try kept?.forget(label: label, of: model)
            try model.forget(label: label)
        }
    }

    package func serve(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let model = try taught.find(name), version = call.path.version ?? ""
        guard let number = TaughtModels.number(version) else {
            throw ServiceError(
                .versionNotFound, "\(name) keeps no version \"\(version.prefix(40))\": versions are whole numbers")
        }
        return try await change(model, "chosen to serve", request) { (model) throws(TeachingError) in
            try model.serve(number)
        }
    }

    private func change(
        _ model: TaughtModel, _ what: String, _ request: HTTPRequest,
        _ body: @escaping @Sendable (TaughtModel) throws(TeachingError) -> Void
    ) async throws(ServiceError) -> HTTPResponse {
        try await taught.change(model, what, deadline: deadline(of: request), claim: claim, body)
        return await answer(model)
    }
}
