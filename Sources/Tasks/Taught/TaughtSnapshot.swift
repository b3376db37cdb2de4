internal import FlowControl
package import Inference
internal import SystemSupport
package import Teaching
package import WireFormats

/// The state of a taught model for one request.
package struct TaughtSnapshot: Sendable {
    let name: String
    let version: String
    package let head: TaughtClassifier
    /// The state with the examples that the head was learned from.
    let state: TaughtState
    /// The number of the learned state; unique among all states of all taught models.
    let generation: UInt64
    /// The model that makes the embedding, and the name under which it is served.
    let embedder: Model
    let embedderName: String

    /// Returns nil without examples.
    fileprivate init?(_ name: String, _ view: TaughtView, _ embedder: Model) {
        guard let head = view.head else { return nil }
        self.name = name
        self.head = head
        state = view.state
        self.embedder = embedder
        version = String(view.state.serving)
        generation = view.generation
        embedderName = view.state.embedder.model
    }
}

extension TaughtModels {
    /// Refuses a request as soon as its head has arrived, if that is possible without waiting.
    /// - Returns: the embedder, if it is ready.
    package func check(_ model: TaughtModel, version: String?) throws(ServiceError) -> Model? {
        let view = model.view
        _ = try number(of: version, in: view, model.name)
        guard view.head != nil else { throw Self.empty(model.name) }
        return readyEmbedder(view.state.embedder)
    }

    /// The version that answers a request now.
    func run(_ name: String, version: String?, deadline: MonotonicInstant?) async throws(ServiceError) -> TaughtSnapshot
    {
        // If its files cannot be read, answer 503; if it was deleted after the head arrived, answer 404 as for any
        // unknown model.
        guard let model = store.problems[name] == nil ? store.model(name) : try find(name) else {
            throw ServiceError(.modelNotFound, "there is no model \"\(name.prefix(80))\"; /v1/models lists the models")
        }
        var view = model.view
        if let number = try number(of: version, in: view, name), number != view.state.serving {
            guard let other = await older.view(of: model, version: number) else { throw Self.missing(version, name) }
            view = other
        }
        guard view.head != nil else { throw Self.empty(name) }
        let embedder = try await self.embedder(of: name, view.state.embedder, deadline: deadline)
        guard let run = TaughtSnapshot(name, view, embedder) else { throw Self.empty(name) }
        return run
    }

    /// The serving version, if its embedder is loaded; nil if ``run(_:version:deadline:)`` would wait or throw.
    func readyRun(_ name: String) -> TaughtSnapshot? {
        guard store.problems[name] == nil, let view = store.model(name)?.view,
            let embedder = readyEmbedder(view.state.embedder)
        else { return nil }
        return TaughtSnapshot(name, view, embedder)
    }

    package static func empty(_ name: String) -> ServiceError {
        ServiceError(
            .modelNotReady,
            "the taught model \"\(name)\" has no examples yet: POST some to /v1/taught/\(name)/examples?label=")
    }

    /// The number of a version in a path; nil without one.
    private func number(of version: String?, in view: TaughtView, _ name: String) throws(ServiceError) -> Int? {
        guard let version else { return nil }
        guard let number = Self.number(version), view.state.version(number) != nil else {
            throw Self.missing(version, name)
        }
        return number
    }

    /// The number of a version in the form of answers; nil for another form.
    static func number(_ version: String) -> Int? { Int(version).flatMap { String($0) == version ? $0 : nil } }

    /// Throws 404 for a version that is not kept.
    func checkVersion(_ version: String, of model: TaughtModel) throws(ServiceError) {
        _ = try number(of: version, in: model.view, model.name)
    }

    private static func missing(_ version: String?, _ name: String) -> ServiceError {
        ServiceError(
            .versionNotFound,
            "the taught model \"\(name)\" keeps no version \"\((version ?? "").prefix(40))\"; /v1/taught/\(name) lists them"
        )
    }
}
