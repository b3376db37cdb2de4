internal import FlowControl
package import Inference
internal import Repository
internal import Synchronization
package import SystemSupport
package import Teaching
package import WireFormats

extension TaughtModels {
    /// The embedder of a taught model, if it is loaded and known to be unchanged.
    package func readyEmbedder(_ embedder: Embedder) -> Model? {
        let serving = try? repository.readyModel(named: embedder.model)
        if let serving, digests.known(serving) == embedder.digest { return serving }
        return loaded(embedder.model).first { digests.known($0) == embedder.digest }
    }

    private func loaded(_ name: String) -> [Model] {
        ((try? repository.records(of: name)) ?? []).compactMap(\.model)
    }

    /// The embedder of a taught model; loads it first if necessary. Throws 503 if it has changed.
    package func embedder(of taught: String, _ embedder: Embedder, deadline: MonotonicInstant?)
        async throws(ServiceError)
        -> Model
    {
        if let model = readyEmbedder(embedder) { return model }
        for model in loaded(embedder.model) where await digests.digest(of: model) == embedder.digest { return model }
        let model: Model
        do throws(InferenceError) {
            model = try await repository.model(named: embedder.model, deadline: deadline)
        } catch .modelNotFound {
            throw ServiceError(.modelNotReady, Self.absence(taught, embedder))
        } catch {
            throw ServiceError(error)
        }
        guard await digests.digest(of: model) == embedder.digest else {
            throw ServiceError(.modelNotReady, Self.change(taught, embedder, isKept: false))
        }
        return model
    }

    /// The model for embedding new examples: the serving version of the embedder. Throws 409 if it has changed.
    package func teacher(of model: TaughtModel, deadline: MonotonicInstant?) async throws(ServiceError) -> Model {
        let embedder = model.view.state.embedder
        let serving: Model
        do throws(InferenceError) {
            serving = try await repository.model(named: embedder.model, deadline: deadline)
        } catch .modelNotFound {
            throw ServiceError(.conflict, Self.absence(model.name, embedder))
        } catch {
            throw ServiceError(error)
        }
        let digest = await digests.digest(of: serving)
        if digest == embedder.digest { return serving }
        guard model.view.state.examples.isEmpty, let digest, let dimension = serving.embeddingDimension else {
            throw ServiceError(
                .conflict, Self.change(model.name, embedder, isKept: keepsPictures.load(ordering: .relaxed)))
        }
        let grid: PatchGrid?
        do throws(InferenceError) {
            grid = model.view.state.choice.falseAlarms == nil ? nil : try serving.patchGrid()
        } catch {
            throw ServiceError(error)
        }
        // The old embedder has no examples.
        let next = Embedder(model: embedder.model, version: serving.description.version, digest: digest)
        try await change(model, deadline: deadline ?? .now + .seconds(60), claim: .usual) {
            (model) throws(TeachingError) in
            guard model.view.state.examples.isEmpty else { return }
            try model.rebuild(next, dimension: dimension, grid: grid, embeddings: [:])
        }
        return serving
    }

    /// The condition of a taught model. Waits until the digest of its embedder's files is known, loaded or not.
    func condition(of model: TaughtModel) async -> TaughtCondition {
        let name = model.view.state.embedder.model
        if let serving = try? repository.readyModel(named: name) {
            let digest = await digests.digest(of: serving)
            return condition(of: model) { _ in .some(digest) }
        }
        await digests.read(name) { [repository] in repository.readServingDigest(of: name) }
        return knownCondition(of: model)
    }

    /// The condition as far as it is known without waiting.
    func knownCondition(of model: TaughtModel) -> TaughtCondition {
        condition(of: model) { serving in
            if let serving { return digests.outcome(serving) }
            return repository.servingDigest(of: model.view.state.embedder.model).map { "sha256:" + $0 }
        }
    }

    /// - Parameter digest: the digest of the embedder, given nil if that is not loaded. Returns nil if it is not known,
    ///   and an inner nil if the files have changed since the load.
    private func condition(of model: TaughtModel, _ digest: (Model?) -> String??) -> TaughtCondition {
        let state = model.view.state
        guard !state.examples.isEmpty else { return .empty }
        let serving: Model?
        do throws(InferenceError) {
            serving = try repository.readyModel(named: state.embedder.model)
        } catch {
            return .stale(Self.absence(model.name, state.embedder))
        }
        guard let digest = digest(serving) else { return .unknown }
        guard digest != state.embedder.digest else { return .ready }
        return .stale(Self.change(model.name, state.embedder, isKept: keepsPictures.load(ordering: .relaxed)))
    }

    private static func absence(_ name: String, _ embedder: Embedder) -> String {
        "\"\(name)\" is taught with the embedder \"\(embedder.model)\", which is not served any more: bring it back"
    }

    private static func change(_ name: String, _ embedder: Embedder, isKept: Bool) -> String {
        "\"\(name)\" is taught with another \"\(embedder.model)\" (version \(embedder.version)) than the one that is served now: bring the old "
            + "one back, or delete \"\(name)\" and teach it again"
            + (isKept ? "; with the pictures that are kept (taught_keep_pictures) it is rebuilt in the background" : "")
    }
}
