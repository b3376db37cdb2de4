internal import Bundles
public import EngineAPI
public import Inference
internal import Rollout
internal import Synchronization
internal import SystemSupport

extension ModelRepository {
    /// Loads every `eager` version that ``versionsToLoad(of:)`` returns and that is not loaded; if the version that
    /// should serve fails, the next lower one. Failures are reported as events and states.
    public func loadEager() async {
        let items = names.flatMap { versionsToLoad(of: $0) }.filter { $0.policy == .eager && !cannotBeRead($0) }
        await load(items, again: false)
    }

    /// The versions of a model that are loaded without a request, the one that should serve first; then the candidate,
    /// and the highest version if the rollout names another to serve.
    func versionsToLoad(of name: String) -> [ModelVersion] {
        let descending = versions(of: name).sorted { $0.order > $1.order }
        guard let rollout = rollouts.withLock({ $0[name] })?.view else { return Array(descending.prefix(1)) }
        let machine = rollout.machine
        let isCompared = machine.state == .comparing || machine.state == .failed
        let candidate = isCompared ? machine.plan.candidate?.version : nil
        var versionsToLoad: [ModelVersion] = []
        func add(_ item: ModelVersion?) {
            if let item, !versionsToLoad.contains(where: { $0 === item }) { versionsToLoad.append(item) }
        }
        add(descending.first { rollout.mayServe($0.version, digest: $0.digest) })
        add(descending.first { $0.version == candidate })
        add(descending.first.flatMap { machine.isRolledBack($0.digest) ? nil : $0 })
        return versionsToLoad
    }

    /// Loads versions, several at a time, the cheapest first; if a model does not serve after that, its next lower
    /// version.
    private func load(_ items: [ModelVersion], again: Bool) async {
        let costs = await LoaderThread.run { items.map { ($0, $0.rememberedCost) } }.sorted { $0.1 < $1.1 }
        // Queue all loads before waiting for the first one.
        let begun = costs.map { item, cost in
            let request = request(item, cost, again: again)
            return (item, request, item.begin(request))
        }
        await withTaskGroup { group in
            for (item, request, start) in begun {
                group.addTask {
                    // A failure is reported as an event; the previous model keeps serving.
                    _ = try? await item.load(request, begun: start)
                    await self.loadHighestGood(of: item.name)
                }
            }
        }
        await renewPipelines { _ in true }
    }

    /// Loads the highest version of a model that can be loaded, unless it is loaded already; skips versions that have
    /// just failed.
    private func loadHighestGood(of name: String) async {
        let rollout = rollouts.withLock { $0[name] }?.view
        for item in versions(of: name).sorted(by: { $0.order > $1.order })
        where rollout?.mayServe(item.version, digest: item.digest) ?? true {
            if item.readyModel != nil || item.policy == .lazy || item.isManuallyUnloaded { return }
            if !item.hasFailed, (try? await load(item)) != nil { return }
        }
    }

    /// Reloads a model while the old one serves, and switches when the new one is ready; the old one finishes its
    /// requests. A model that was unloaded is loaded again, with all its versions.
    public func reload(_ name: String) async throws(InferenceError) {
        // Not the version that answers now: if the version that should serve has failed, it must be tried again.
        let versionsToLoad = versionsToLoad(of: name)
        let first = if let first = versionsToLoad.first { first } else { try highest(of: name) }
        for item in versions(of: name) { item.release() }
        defer { for item in versionsToLoad.dropFirst() { begin(item) } }
        // A folder that held a model may now hold a pipeline, which is loaded in another way.
        await LoaderThread.run { first.readFacts() }
        do throws(InferenceError) {
            _ = try await load(first, again: true, bringsBack: true)
        } catch {
            await loadHighestGood(of: name)
            throw error
        }
        await renewPipelines { $0.contains(name) }
    }

    /// Reloads the version that serves a model, while it serves. Does nothing if the model no longer serves.
    public func reload(servedBy model: Model) async throws(InferenceError) {
        for item in names.flatMap({ versions(of: $0) }) where item.readyModel === model {
            _ = try await load(item, again: true)
        }
    }

    /// Takes a model out of service because of wrong answers, and loads its version again; meanwhile a lower version
    /// answers, or requests wait for the load. Does nothing if the model no longer serves.
    /// - Throws: if it cannot be loaded again: the version has failed.
    package func replace(_ model: Model, because reason: String) async throws(InferenceError) {
        for item in names.flatMap({ versions(of: $0) }) where item.fail(model, because: reason) {
            var problem = BundleProblem(path: "", reason: reason)
            problem.isOfGoldens = true
            onEvent(.failed(name: item.name, version: item.version, reason: reason, problems: [problem]))
            // Begin the load first, so that a request for a pipeline waits for it.
            begin(item)
            unloadPipelines(of: item.name, keeping: model, unloadsManually: false, because: "gives wrong answers")
            do throws(InferenceError) {
                _ = try await load(item)
            } catch {
                await loadHighestGood(of: item.name)
                await renewPipelines { $0.contains(item.name) }
                throw error
            }
            await renewPipelines { $0.contains(item.name) }
        }
    }

    /// Reloads every version that is loaded, or should be, while the old one serves; see ``reload(_:)``. Versions
    /// with unchanged files and configuration are not reloaded; failed versions are loaded again. Models that were
    /// unloaded on request stay unloaded; models with unreadable files stay unchanged.
    public func reloadAll() async { await reload { _ in true } }

    /// Reloads the versions at some paths; those that are already loaded and unchanged are not reported.
    func reload(at paths: Set<String>) async {
        await reload(reportsUnchanged: false) { item in
            paths.contains(item.path) || item.unreadable.map { paths.contains($0.path) } ?? false
        }
    }

    private func reload(reportsUnchanged: Bool = true, where isMeant: (ModelVersion) -> Bool) async {
        var changed: [ModelVersion] = []
        for name in names {
            let versionsToLoad = versionsToLoad(of: name)
            for item in versions(of: name) where isMeant(item) {
                if item.isManuallyUnloaded {
                    if reportsUnchanged { onEvent(.manuallyUnloaded(name: name, version: item.version)) }
                    continue
                }
                if cannotBeRead(item) { continue }
                let isWanted = versionsToLoad.contains { $0 === item }
                guard item.readyModel != nil || item.policy == .eager && isWanted else {
                    item.forgetFailure()
                    continue
                }
                switch await item.isCurrent {
                case true?: if reportsUnchanged { onEvent(.unchanged(name: name, version: item.version)) }
                case false?: changed.append(item)
                case nil:
                    let why = "\(item.path) \(BundleFacts.silence)"
                    onEvent(.keptUnreadable(name: name, version: item.version, why: why))
                }
            }
        }
        await load(changed, again: true)
    }

    /// True if nothing can be loaded or reloaded because the files cannot be read. Reports this as an event.
    private func cannotBeRead(_ item: ModelVersion) -> Bool {
        guard let reason = item.unreadable?.reason else { return false }
        if item.readyModel != nil {
            onEvent(.keptUnreadable(name: item.name, version: item.version, why: reason))
        } else if item.isUnreadable, !item.isManuallyUnloaded {
            onEvent(.failed(name: item.name, version: item.version, reason: reason, problems: []))
        } else {
            return item.isUnreadable
        }
        return true
    }

    /// Unloads all versions of a model: accepted requests are finished, later ones are refused until it is loaded
    /// again.
    public func unload(_ name: String) throws(InferenceError) {
        let versions = items.withLock { $0[name] ?? [] }
        guard !versions.isEmpty else { throw .modelNotFound(name: name, known: names) }
        for item in versions where item.unload(unloadsManually: true) {
            onEvent(.unloaded(name: item.name, version: item.version, why: "on request"))
        }
        for item in versions { item.awaitedModel = nil }
        unloadPipelines(of: name, unloadsManually: true, because: "was unloaded on request")
    }

    @discardableResult
    func load(
        _ item: ModelVersion, again: Bool = false, bringsBack: Bool = false, deadline: MonotonicInstant? = nil
    ) async throws(InferenceError) -> Model {
        let request = request(item, item.cost, again: again, bringsBack: bringsBack)
        let outcome = try await item.load(request, deadline: deadline)
        switch outcome.result {
        case .success(let model): return model
        case .failure(.modelNotReady(let name, let reason)): throw .modelNotReady(name: name, reason: reason)
        case .failure(let error): throw .modelNotReady(name: item.name, reason: item.shown(error.message))
        }
    }

    /// Begins a load with the present files and configuration, and does not wait for it.
    func begin(_ item: ModelVersion) { _ = item.begin(request(item, item.cost, again: true)) }

    /// Begins a load of a version if its last load failed at least this time ago, and does not wait for it.
    func retryLoad(_ item: ModelVersion, after time: Duration) {
        item.retryLoad(request(item, item.cost, again: true), after: time)
    }

    /// The load itself reports its outcome, not its waiters: all of them may have gone by then.
    private func request(
        _ item: ModelVersion, _ cost: LoadCost, again: Bool, bringsBack: Bool = false
    ) -> ModelVersion.LoadRequest {
        ModelVersion.LoadRequest(
            cost: cost, again: again, bringsBack: bringsBack, makeRoom: { await self.unloadIdlest($0, for: item) },
            loadPipeline: { await self.loadPipeline($0, $1) },
            onEnd: { self.report($0, of: item) })
    }

    private func report(_ outcome: ModelVersion.Outcome, of item: ModelVersion) {
        defer { reportToRollout(of: item, outcome) }
        switch outcome.result {
        case .success(let model):
            let (name, version, onEvent) = (item.name, item.version, onEvent)
            model.singleStream.whenChanged { onEvent(.singleStreamVariant(name: name, version: version, report: $0)) }
            onEvent(.loaded(name: item.name, version: item.version, report: model.loadReport))
            model.scoreWatch.listen { [onEvent, name = item.name, version = item.version] text in
                onEvent(.advice(name: name, version: version, text: text))
            }
            // A pipeline shares the resources of its detector, which reports for itself.
            if model.pipeline == nil {
                model.fallback?.listen { onEvent(.advice(name: name, version: version, text: $0)) }
            }
            if outcome.isKept {
                dropReplaced(by: item)
                Task.detached { await self.renewPipelines { $0.contains(item.name) } }
            }
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
            items[item.name] = versions.filter { !$0.isRetiring }
            return versions.filter(\.isRetiring)
        }
        for old in replaced where old.unload() {
            let why = "\(old.path) is gone; \(item.path) replaces it"
            onEvent(.unloaded(name: old.name, version: old.version, why: why))
        }
    }
}
