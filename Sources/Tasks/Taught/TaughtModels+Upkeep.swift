internal import FlowControl
internal import Glibc
internal import Inference
internal import Repository
internal import ServiceCore
internal import Synchronization
internal import SystemSupport
internal import Teaching
internal import WireFormats

extension TaughtModels {
    /// Seconds since 1970.
    static var now: Int { time(nil) }

    /// Logs the taught models at the start, evaluates those without an evaluation, and checks each embedder.
    package func begin() {
        for (name, problem) in store.problems.sorted(by: { $0.key < $1.key }) {
            log.error("taught \(name): \(problem)")
        }
        for notice in store.notices { log.warning(notice) }
        let all = store.all
        if !all.isEmpty { log.info("\(all.count) taught models: \(all.map(\.name).joined(separator: ", "))") }
        for model in all { upkeep.check(model, of: self) }
    }

    /// Checks the taught models with this embedder after it was loaded: it may have changed.
    package func loaded(_ name: String) {
        for model in store.all where model.view.state.embedder.model == name { upkeep.check(model, of: self) }
    }

    /// Ends the work in the background.
    package func stop() { upkeep.stop() }

    /// Logs the evaluation of the serving version, if it has one.
    func evaluated(_ model: TaughtModel) {
        guard let version = model.view.state.served, let evaluation = version.evaluation else { return }
        metrics.add(.taughtEvaluations)
        if let leftOut = evaluation.leftOut {
            let threshold = leftOut.threshold.map { "an anomaly is beyond a distance of \($0)" }
            log.info(
                "taught \(model.name): version \(version.number): "
                    + (threshold ?? evaluation.advice ?? "no threshold"))
            return
        }
        log.info(
            "taught \(model.name): version \(version.number): \(evaluation.correct) of \(evaluation.examples) examples are right "
                + "when left out (\(evaluation.method.rawValue))")
    }

    // MARK: Another embedder

    /// Embeds the kept pictures of a model again if its embedder has changed. Logs the remedy if that is impossible.
    /// - Returns: true if the model is still stale.
    func rebuildIfStale(_ model: TaughtModel) async -> Bool {
        guard case .stale(let reason) = await condition(of: model) else { return false }
        let state = model.view.state
        let next = try? repository.readyModel(named: state.embedder.model)
        // An embedder that is not loaded yet is checked again after its load.
        if next == nil, (try? repository.location(of: state.embedder.model)) != nil { return true }
        guard keepsPictures.load(ordering: .relaxed), let next, let digest = await digests.digest(of: next),
            let dimension = next.embeddingDimension
        else {
            log.warning("taught \(model.name) is stale: \(reason)")
            return true
        }
        log.info("taught \(model.name): embedding \(state.examples.count) kept pictures again")
        let embedder = Embedder(model: state.embedder.model, version: next.description.version, digest: digest)
        do throws(Unusable) {
            let grid = try Self.patchGrid(of: next, for: state)
            let pictures = try await embeddings(
                of: state.examples.map(\.id), in: model, by: next, readsPatches: grid != nil)
            try await rebuild(model, embedder, dimension, grid, pictures)
        } catch {
            if !upkeep.isOver { log.warning("taught \(model.name) is stale, and not rebuilt: \(error.reason)") }
            return true
        }
        metrics.add(.taughtChanges)
        log.info("taught \(model.name): version \(model.view.state.serving): rebuilt with \(embedder.model)")
        return false
    }

    /// The reason why kept pictures cannot be embedded again.
    private struct Unusable: Error {
        let reason: String
    }

    /// The patches that a model with the method `normal` compares; nil for whole pictures.
    private static func patchGrid(of embedder: Model, for state: TaughtState) throws(Unusable) -> PatchGrid? {
        guard state.choice.falseAlarms != nil else { return nil }
        do throws(InferenceError) { return try embedder.patchGrid() } catch { throw Unusable(reason: error.message) }
    }

    /// The vectors of kept pictures.
    private struct Embedded: Sendable {
        var embeddings: [ExampleID: [Float]] = [:]
        var patches: [ExampleID: PatchVectors] = [:]
    }

    private func embeddings(
        of ids: [ExampleID], in model: TaughtModel, by next: Model, readsPatches: Bool
    ) async throws(Unusable) -> Embedded {
        var embedded = Embedded()
        var request = ObservationRequest(task: .embed)
        request.readsPatches = readsPatches
        for id in ids {
            guard !upkeep.isOver else { throw Unusable(reason: "the daemon ends") }
            let read = await LoaderThread.run { KeptPicture(id, of: model) }
            // The example was forgotten meanwhile.
            guard model.view.state.example(id) != nil else { continue }
            guard let bytes = read.bytes else { throw Unusable(reason: read.reason) }
            do throws(InferenceError) {
                let result = try await next.observations(of: next.reading(EncodedImage(bytes)), request: request)
                guard case .embedding(let values) = result.content else { continue }
                embedded.embeddings[id] = values
                embedded.patches[id] = result.patches?.vectors
            } catch {
                throw Unusable(reason: "the picture \(id) cannot be embedded: \(error.message)")
            }
        }
        return embedded
    }

    private func rebuild(
        _ model: TaughtModel, _ embedder: Embedder, _ dimension: Int, _ grid: PatchGrid?, _ pictures: Embedded
    ) async throws(Unusable) {
        do throws(ServiceError) {
            try await change(model, deadline: .now + .seconds(3600), claim: .usual) { (model) throws(TeachingError) in
                try model.rebuild(
                    embedder, dimension: dimension, grid: grid, embeddings: pictures.embeddings,
                    patches: pictures.patches)
            }
        } catch {
            throw Unusable(reason: error.message)
        }
        changed(model)
    }
}

/// A kept picture's bytes; nil with the reason if they cannot be read.
private struct KeptPicture: Sendable {
    let bytes: [UInt8]?
    let reason: String

    /// Reads the picture: blocks.
    init(_ id: ExampleID, of model: TaughtModel) {
        do throws(TeachingError) {
            bytes = try model.picture(id)
            reason = "the picture \(id) was not kept"
        } catch {
            bytes = nil
            reason = error.message
        }
    }
}
