internal import Synchronization
internal import SystemSupport

extension ModelRepository {
    /// Loads every `eager` model that is not loaded; failures are reported as events and states.
    public func loadEager() async {
        for item in allVersions.sorted(by: { $0.name < $1.name })
        where !isOutOfReach(item) && item.policy == .eager && item.isHighest(among: versions(of: item.name)) {
            _ = try? await load(item)
        }
    }

    /// Reloads a model while the old one serves, and switches when the new one is ready; the old one finishes its requests. A model that
    /// was unloaded is loaded again, with all its versions.
    public func reload(_ name: String) async throws(InferenceError) {
        // Not the one that answers: where the highest has failed, it is the one to be tried again.
        let highest = try highest(of: name)
        for item in versions(of: name) { item.release() }
        _ = try await load(highest, again: true, bringsBack: true)
    }

    /// Reloads every version that is loaded, or should be, while the old one serves; see ``reload(_:)``. Versions whose files
    /// and configuration have not changed are not reloaded; versions whose last load failed are loaded again.
    /// Models that were unloaded on request stay unloaded; models whose files cannot be read stay as they are.
    public func reloadAll() async { await reload { _ in true } }

    /// The same for the versions at some places; those that are already loaded are not reported.
    func reload(at paths: Set<String>) async {
        await reload(tellsUnchanged: false) { item in
            paths.contains(item.path) || item.unreadable.map { paths.contains($0.path) } ?? false
        }
    }

    private func reload(tellsUnchanged: Bool = true, where isMeant: (ModelVersion) -> Bool) async {
        for name in names {
            let versions = versions(of: name)
            for item in versions where isMeant(item) {
                if item.isHeldBack {
                    if tellsUnchanged { onEvent(.heldBack(name: name, version: item.version)) }
                    continue
                }
                if isOutOfReach(item) { continue }
                guard item.readyModel != nil || item.policy == .eager && item.isHighest(among: versions) else {
                    item.forgetFailure()
                    continue
                }
                if await item.isCurrent {
                    if tellsUnchanged { onEvent(.unchanged(name: name, version: item.version)) }
                } else {
                    // A failure is an event, and the old model keeps serving.
                    _ = try? await load(item, again: true)
                }
            }
        }
    }

    /// Whether nothing can be loaded or reloaded because the files cannot be read, which is an event.
    private func isOutOfReach(_ item: ModelVersion) -> Bool {
        guard let reason = item.unreadable?.reason else { return false }
        if item.readyModel != nil {
            onEvent(.leftAsItIs(name: item.name, version: item.version, why: reason))
        } else if item.standsForUnreadable, !item.isHeldBack {
            onEvent(.failed(name: item.name, version: item.version, reason: reason, problems: []))
        } else {
            return item.standsForUnreadable
        }
        return true
    }

    /// Unloads all versions of a model: requests that it has accepted are finished, later ones are refused until it is
    /// loaded again.
    public func unload(_ name: String) throws(InferenceError) {
        let versions = items.withLock { $0[name] ?? [] }
        guard !versions.isEmpty else { throw .modelNotFound(name: name, known: names) }
        for item in versions where item.unload(holdsBack: true) {
            onEvent(.unloaded(name: item.name, version: item.version, why: "on request"))
        }
    }

    @discardableResult
    func load(
        _ item: ModelVersion, again: Bool = false, bringsBack: Bool = false, deadline: MonotonicInstant? = nil
    ) async throws(InferenceError) -> Model {
        // The load itself reports how it went, not those who wait for it: all of them may be gone by then.
        let makeRoom: @Sendable (Int) async -> Bool = { await self.unloadIdlest($0, for: item) }
        let outcome = try await item.load(
            again: again, bringsBack: bringsBack, deadline: deadline, makeRoom: makeRoom
        ) {
            self.report($0, of: item)
        }
        switch outcome.result {
        case .success(let model): return model
        case .failure(.modelNotReady(let name, let reason)): throw .modelNotReady(name: name, reason: reason)
        case .failure(let error): throw .modelNotReady(name: item.name, reason: item.shown(error.message))
        }
    }

    private func report(_ outcome: ModelVersion.Outcome, of item: ModelVersion) {
        switch outcome.result {
        case .success(let model):
            let (name, version, onEvent) = (item.name, item.version, onEvent)
            model.lone.whenChanged { onEvent(.loneVariant(name: name, version: version, report: $0)) }
            onEvent(.loaded(name: item.name, version: item.version, report: model.loadReport))
            model.scoreWatch.listen { [onEvent, name = item.name, version = item.version] text in
                onEvent(.advice(name: name, version: version, text: text))
            }
            if outcome.isKept { dropReplaced(by: item) }
            if !outcome.isKept {
                let why = "it was unloaded while it was loading"
                onEvent(.unloaded(name: item.name, version: item.version, why: why))
            }
        case .failure(let error):
            var problems: [BundleProblem] = []
            if case .invalidBundle(_, let all) = error { problems = all }
            onEvent(.failed(name: item.name, version: item.version, reason: error.message, problems: problems))
        }
    }

    /// Unloads the versions that answered until this one was ready.
    private func dropReplaced(by item: ModelVersion) {
        let replaced = items.withLock { items -> [ModelVersion] in
            guard let versions = items[item.name], versions.contains(where: { $0 === item }) else { return [] }
            items[item.name] = versions.filter { !$0.isLeaving }
            return versions.filter(\.isLeaving)
        }
        for old in replaced where old.unload() {
            let why = "\(old.path) is gone; \(item.path) replaces it"
            onEvent(.unloaded(name: old.name, version: old.version, why: why))
        }
    }
}
