internal import Bundles
internal import EngineAPI
internal import FlowControl
internal import FoundationEssentials
internal import Inference
internal import Synchronization
internal import SystemSupport

/// One version of a model in the repository. ``VersionMachine`` makes its decisions; this class holds the lock, the
/// files and the loads.
final class ModelVersion: Sendable {
    let name: String
    let path: String
    /// The model folder that contains it.
    let folder: String
    /// The version given by a numbered folder; nil if the bundle states it, which may change with a reload.
    let numbered: String?
    /// The folder of the numbered versions that this one belongs to; nil if it is not numbered.
    let place: String?
    private let state: Mutex<State>
    private let gate: LoadGate
    /// Decides whether requests for a name go to a model. It gets that model, or nil if there is no model of the name.
    private let serves: @Sendable (String, Model?) -> Bool

    private struct State {
        var machine: VersionMachine<Model, PendingLoad<Outcome>>
        var configuration: ModelConfiguration
        var defaultPolicy: LoadPolicy
        var facts: BundleFacts
        var unreadable: Unreadable?
        /// True if its files are gone, and it answers until its replacement is ready.
        var isRetiring = false
        /// The digest of its files with the stamp it was computed for; nil until ``readDigest()`` is called.
        var digest: (stamp: BundleStamp, text: String)?
        /// For a pipeline that was unloaded together with one of its models: the name of that model.
        var awaitedModel: String?
        /// The bundle's own value overrides the default.
        var policy: LoadPolicy { facts.load ?? defaultPolicy }
        var idleUnload: Duration { facts.idleUnload ?? configuration.idleUnload }
    }

    /// The reason the last attempt to read the files failed.
    struct Unreadable: Sendable {
        /// The file or folder that could not be read: the model's, or a folder that contains it.
        let path: String
        let failure: FileFailure

        /// The problem, and how to fix it.
        var reason: String {
            failure.isAbsence
                ? "\(path) does not exist" : "\(path) cannot be read: \(failure.reason); reload when it is readable"
        }
    }

    /// A version that a scan found. Reads its bundle: blocks.
    /// - Parameters:
    ///   - gate: limits the parallel loads of all models.
    ///   - serves: whether a model is the one that answers requests for a name; with nil, whether no model has it.
    init(
        found: RepositoryScanner.Found, configuration: ModelConfiguration, defaultPolicy: LoadPolicy, gate: LoadGate,
        serves: @escaping @Sendable (String, Model?) -> Bool
    ) {
        self.gate = gate
        self.serves = serves
        name = found.name
        path = found.path
        folder = found.folder
        numbered = found.version
        place = found.place
        let unreadable = found.failure.map { Unreadable(path: found.path, failure: $0) }
        let reason = unreadable.map { Self.shown($0.reason, name: found.name, path: found.path, folder: found.folder) }
        state = Mutex(
            State(
                machine: VersionMachine(unreadable: reason),
                configuration: configuration, defaultPolicy: defaultPolicy,
                facts: unreadable == nil ? BundleFacts.read(found.path, links: configuration.links) : BundleFacts(),
                unreadable: unreadable))
    }

    /// The time at which it is loaded: at start, or by its first request.
    var policy: LoadPolicy { state.withLock { $0.policy } }

    /// The description in the bundle; empty if the bundle cannot be read.
    var facts: BundleFacts { state.withLock { $0.facts } }

    /// The reason the last attempt to read the files failed; nil if it succeeded.
    var unreadable: Unreadable? {
        get { state.withLock { $0.unreadable } }
        set {
            state.withLock { state in
                state.unreadable = newValue
                state.machine.filesAre(unreadable: newValue.map { shown($0.reason) })
            }
        }
    }

    /// Reads the bundle's description again if its files have changed. Blocks.
    func readFacts() {
        let (facts, links) = state.withLock { ($0.facts, $0.configuration.links) }
        let now = facts.reread(path, links: links)
        state.withLock { $0.facts = now }
    }

    /// The version.
    var version: String { state.withLock { version(in: $0) } }

    private func version(in state: State) -> String {
        numbered ?? state.machine.model?.description.version ?? state.facts.version
    }

    /// True if the model is loaded and has been idle for longer than its limit. Only lazy models are unloaded when
    /// idle, because only those are loaded again by a request.
    var isIdle: Bool {
        let (model, limit) = state.withLock { state in
            (state.policy == .lazy ? state.machine.model : nil, state.idleUnload)
        }
        guard let model, limit > .zero else { return false }
        return model.idleTime > limit
    }

    /// True if the model is unloaded after an idle time.
    var mayUnloadWhenIdle: Bool {
        state.withLock { $0.policy == .lazy && $0.idleUnload > .zero }
    }

    /// Its position in the order of the model's versions.
    var order: VersionOrder { VersionOrder(version) }

    var readyModel: Model? { state.withLock { $0.machine.model } }

    var record: ModelRecord {
        state.withLock { state in
            ModelRecord(
                name: name, version: version(in: state), state: state.machine.state, policy: state.policy,
                model: state.machine.model, staleReason: state.machine.staleReason,
                loadingTime: state.machine.load?.began.map { .now - $0 }, placeholder: state.facts.placeholder)
        }
    }

    /// A reason as clients see it: paths are relative to the model folder. The location of that folder, and other paths
    /// of this machine, are for the log only.
    func shown(_ reason: String) -> String { Self.shown(reason, name: name, path: path, folder: folder) }

    private static func shown(_ reason: String, name: String, path: String, folder: String) -> String {
        // The folder may itself be the bundle.
        let inside = path == folder ? reason.replacing(folder + "/", with: "") : reason
        return inside.replacing(path == folder ? path : folder + "/", with: path == folder ? name : "")
    }

    /// Sets the configuration and the default policy of later loads.
    func use(_ configuration: ModelConfiguration, defaultPolicy: LoadPolicy) {
        state.withLock { state in
            state.configuration = configuration
            state.defaultPolicy = defaultPolicy
        }
    }

    /// The expected cost of a load, as far as this process knows.
    var cost: LoadCost {
        state.withLock { LoadCost(wasLoaded: $0.machine.hasServed, bytes: $0.facts.bytes, name: name) }
    }

    /// ``cost`` with the knowledge of former processes. Reads the list of models that passed the load check: blocks.
    var rememberedCost: LoadCost {
        let (facts, check) = state.withLock { ($0.facts, $0.configuration.loadCheck) }
        var cost = cost
        cost.wasLoaded = cost.wasLoaded || facts.isKnown(to: check, at: path)
        return cost
    }

    /// The properties that decide whether it answers requests without a version.
    /// - Parameter rollout: the model's rollout; nil if it has no rollout.
    func situation(in rollout: ModelRollout.View?) -> VersionSituation {
        state.withLock { state in
            VersionSituation(
                policy: state.policy, isReady: state.machine.model != nil,
                // A version with a model answers before one that has none yet.
                hasFailed: state.machine.failure != nil || state.facts.placeholder != nil,
                isManuallyUnloaded: state.machine.isManuallyUnloaded, isRetiring: state.isRetiring,
                mayServe: rollout?.mayServe(version(in: state), digest: state.digest?.text) ?? true)
        }
    }

    /// The digest of its files as ``readDigest()`` last computed it; nil before.
    var digest: String? { state.withLock { $0.digest?.text } }

    /// Computes the digest of its files if they have changed; nil if they cannot be read. Blocks.
    @discardableResult
    func readDigest() -> String? {
        let stamp = BundleStamp(path: path)
        if let known = state.withLock({ $0.digest }), known.stamp == stamp { return known.text }
        let text = Model.filesDigest(of: path)
        state.withLock { $0.digest = text.map { (stamp, $0) } }
        return text
    }

    /// The result of a load.
    struct Outcome: Sendable {
        let result: Result<Model, InferenceError>
        /// True if the version keeps the model; false if it was unloaded during the load.
        let isKept: Bool
    }

    /// True if requests load this model, and its last load failed at least this time ago, so that the cause may have
    /// passed.
    func isDueAgain(after time: Duration) -> Bool {
        state.withLock { isDueAgain($0, after: time) }
    }

    private func isDueAgain(_ state: State, after time: Duration) -> Bool {
        state.policy == .lazy && !state.isRetiring && state.machine.isDueAgain(after: time, at: .now)
    }

    /// Queues a load if one is still due.
    func retryLoad(_ request: LoadRequest, after time: Duration) {
        state.withLock { state in
            if isDueAgain(state, after: time) { _ = start(&state, request) }
        }
    }

    /// A request for a load.
    struct LoadRequest: Sendable {
        /// Its priority among the loads that wait.
        let cost: LoadCost
        /// True if the present files and configuration must be used; those of a current load may be older.
        var again = false
        /// True if the model is loaded although it was unloaded on request.
        var bringsBack = false
        /// Unloads up to the given number of other models, if there are too few threads for this one; returns whether
        /// any was unloaded.
        let makeRoom: @Sendable (Int) async -> Bool
        /// Loads a pipeline from the models that are served.
        let loadPipeline: @Sendable (ModelVersion, ModelConfiguration) async -> Result<Model, InferenceError>
        /// Receives the result of the load, if this request began it.
        let onEnd: @Sendable (Outcome) -> Void
    }

    /// The answer to a request for a load.
    enum Start {
        case begun(PendingLoad<Outcome>)
        case joined(PendingLoad<Outcome>, ModelConfiguration)
        case ready(Model)
        case impossible(String)
    }

    /// Loads the model, or waits for the current load. If the model was unloaded during that load, this request makes
    /// the version keep it.
    /// - Parameters:
    ///   - begun: the result of ``begin(_:)``, if the caller has called it.
    ///   - deadline: the end of the wait; the load continues after it.
    /// - Throws: if the deadline passes, or the calling task is cancelled, before the load ends.
    func load(
        _ request: LoadRequest, begun: Start? = nil, deadline: MonotonicInstant? = nil
    ) async throws(InferenceError) -> Outcome {
        var start = begun ?? begin(request)
        while true {
            switch start {
            case .impossible(let reason):
                return Outcome(result: .failure(.modelNotReady(name: name, reason: reason)), isKept: false)
            case .ready(let model): return Outcome(result: .success(model), isKept: true)
            case .begun(let load): return try await load.value(until: deadline)
            case .joined(let load, let configuration):
                let outcome = try await load.value(until: deadline)
                guard request.again else { return outcome }
                let isAsWanted = state.withLock { $0.configuration == configuration }
                switch outcome.result {
                case .failure where isAsWanted: return outcome
                case .success where isAsWanted: if await isCurrent ?? true { return outcome }
                default: break
                }
            }
            start = begin(request)
        }
    }

    /// Queues a load unless one is under way, and does not wait for it.
    func begin(_ request: LoadRequest) -> Start { state.withLock { start(&$0, request) } }

    private func start(_ state: inout State, _ request: LoadRequest) -> Start {
        if state.facts.placeholder != nil, state.machine.model == nil {
            return .impossible(
                "it is a placeholder, which has no model yet: teach it (PUT /v1/taught/\(name)), or add a version with a model"
            )
        }
        let answer = state.machine.request(
            again: request.again, bringsBack: request.bringsBack, with: state.configuration, at: .now,
            pending: PendingLoad())
        switch answer {
        case .impossible(let reason): return .impossible(reason ?? "\(name) could not be read")
        case .ready(let model): return .ready(model)
        case .join(let load): return .joined(load.pending, load.configuration)
        case .begin(let load, let replaced):
            var configuration = load.configuration
            configuration.streamDifference = replaced?.laterDifference.withLock { $0 }
            // Not a child of the calling task: the load continues for other waiters if that client disconnects. A
            // pipeline gets no ticket: it waits for its models, and their loads pass the gate.
            let ticket = state.facts.pipelineModels.isEmpty ? gate.arrive(request.cost) : nil
            Task.detached { [configuration] in
                let result = await self.load(request, ticket, configuration)
                // Done here and not by the caller, so that every task that waited sees the version's new state.
                let outcome = Outcome(result: result, isKept: self.finishLoad(result))
                request.onEnd(outcome)
                load.pending.fulfil(outcome)
            }
            return .begun(load.pending)
        }
    }

    /// Loads the files when the gate admits this load.
    private func load(
        _ request: LoadRequest, _ ticket: LoadGate.Ticket?, _ configuration: ModelConfiguration
    ) async -> Result<Model, InferenceError> {
        guard let ticket else {
            state.withLock { $0.machine.loadBegins(at: .now) }
            return await request.loadPipeline(self, configuration)
        }
        return await gate.run(ticket) {
            self.state.withLock { $0.machine.loadBegins(at: .now) }
            var unloaded = 1
            while true {
                do throws(InferenceError) {
                    return .success(
                        try await Model.load(
                            contentsOf: self.path, name: self.name, configuration: configuration,
                            version: self.numbered))
                } catch {
                    // Doubled each time: a model and its load check process need more threads than one unload frees.
                    guard error.isOutOfThreads, await request.makeRoom(unloaded) else { return .failure(error) }
                    unloaded *= 2
                }
            }
        }
    }

    /// Records the outcome of a load; returns whether the version keeps the model.
    private func finishLoad(_ result: Result<Model, InferenceError>) -> Bool {
        let (isKept, replaced) = state.withLock { state -> (Bool, Model?) in
            switch result {
            case .success(let model):
                state.facts.adopt(model)
                return state.machine.loadSucceeds(model)
            case .failure(let error):
                state.machine.loadFails(shown(error.message), at: .now)
                return (false, nil)
            }
        }
        // Release the old model here and not under the lock: an engine takes time to release a model, and every request
        // takes the lock.
        withExtendedLifetime(replaced) {}
        return isKept
    }

    /// True if the model is ready, its last load succeeded, and neither its files nor its configuration have changed
    /// since. Looks at the files on a thread that may block; nil if the file system does not answer.
    var isCurrent: Bool? {
        get async {
            let model = state.withLock { $0.machine.current(with: $0.configuration) }
            guard let model else { return false }
            if let pipeline = model.pipeline {
                // A stage without a model has a taught one: a model that gets its name takes its place.
                let named: [(String, Model?)] =
                    [(pipeline.description.model, pipeline.detector)]
                    + pipeline.allStages.map { ($0.description.model, $0.model) }
                guard named.allSatisfy({ serves($0.0, $0.1) }) else { return false }
            }
            return await LoaderThread.run { [path] in
                LoaderThread.wait(within: BundleFacts.patience, on: path) { model.stamp.isCurrent }
            }
        }
    }

    /// True for the placeholder of a folder that could not be read: nothing can be loaded, and the reason is reported.
    var isUnreadable: Bool { state.withLock { $0.machine.isUnreadable } }

    /// True if the model was unloaded on request: only a load on request loads it again.
    var isManuallyUnloaded: Bool { state.withLock { $0.machine.isManuallyUnloaded } }

    /// The properties that decide whether it is the default model.
    func candidate(for purpose: DefaultModel.Purpose) -> DefaultModel.Candidate {
        state.withLock { state in
            let model = state.machine.model
            let (isReady, isDeclared) =
                switch purpose {
                case .classification: (model?.isImageClassifier ?? false, state.facts.classifiesPictures)
                case .task(let task): (model?.tasks.contains(task) ?? false, state.facts.tasks.contains(task))
                case .texts: (model?.embedsTexts ?? false, state.facts.embedsTexts)
                case .labels: (model?.takesLabels ?? false, state.facts.takesLabels)
                }
            return DefaultModel.Candidate(
                isReady: isReady, isDeclared: isDeclared, isUndetermined: state.facts.isUndetermined,
                isUndecided: state.facts.isUndecided, isPipeline: !state.facts.pipelineModels.isEmpty,
                isExpected: state.machine.isExpected,
                isRetrying: state.policy == .lazy && state.machine.isRetrying)
        }
    }

    /// True for a bundle that has no model yet.
    var isPlaceholder: Bool { state.withLock { $0.facts.placeholder != nil } }

    /// True if the last load failed, or nothing can be loaded.
    var hasFailed: Bool { state.withLock { $0.machine.failure != nil } }

    /// True if its files are gone, and it answers until its replacement is ready.
    var isRetiring: Bool {
        get { state.withLock { $0.isRetiring } }
        set { state.withLock { $0.isRetiring = newValue } }
    }

    /// Lets requests load it again.
    func release() { state.withLock { $0.machine.release() } }

    /// Lets the next request load it again after a failed load.
    func forgetFailure() { state.withLock { $0.machine.forgetFailure() } }

    /// Takes a model out of service because of wrong answers, if it is the one that serves; predictions that use it
    /// keep it alive until they end. Returns whether it served.
    func fail(_ model: Model, because reason: String) -> Bool {
        let failed = state.withLock { state in
            state.machine.model === model ? state.machine.modelFails(reason, at: .now) : nil
        }
        // As in `finishLoad`: release it outside of the lock.
        return withExtendedLifetime(failed) { failed != nil }
    }

    /// True if a load is under way, or is queued.
    var isLoading: Bool { state.withLock { $0.machine.load != nil } }

    /// For a pipeline that was unloaded together with one of its models: the name of that model; nil otherwise.
    var awaitedModel: String? {
        get { state.withLock { $0.awaitedModel } }
        set { state.withLock { $0.awaitedModel = newValue } }
    }

    /// Unloads the model; predictions that use it keep it alive until they end. Returns whether it was loaded.
    /// - Parameter unloadsManually: whether requests for it must not load it again.
    @discardableResult
    func unload(unloadsManually: Bool = false) -> Bool {
        let unloaded = state.withLock { $0.machine.unload(unloadsManually: unloadsManually) }
        // As in `finishLoad`: release it outside of the lock.
        return withExtendedLifetime(unloaded) { unloaded != nil }
    }
}
