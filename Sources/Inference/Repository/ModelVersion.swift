internal import FlowControl
internal import FoundationEssentials
internal import Synchronization
internal import SystemSupport

/// One version of a model in the repository: not loaded, loading, ready or failed.
///
/// ```
///            load            success
/// unloaded ───────▶ loading ─────────▶ ready ──▶ (load again: stays ready, switches when the new one is)
///    ▲                 │ failure          │ unload
///    └──── failed ◀────┘                  └──▶ unloaded
/// ```
final class ModelVersion: Sendable {
    let name: String
    let path: String
    /// The folder of models that it is in.
    let folder: String
    /// The version of a numbered folder; others contain it, and may have another one after a reload.
    let numbered: String?
    /// True if this is not a model, but the place of a folder that could not be read when it was found: there is nothing to be
    /// loaded, and the reason is reported.
    let standsForUnreadable: Bool
    private let state: Mutex<State>
    private let gate: LoadGate

    private typealias Load = PendingLoad<Outcome>

    private struct State {
        var configuration: ModelConfiguration
        var defaultPolicy: LoadPolicy
        var facts: BundleFacts
        var unreadable: Unreadable?
        var ready: Model?
        /// The configuration that the ready model was loaded with.
        var readyConfiguration: ModelConfiguration?
        /// The load that is under way, and what it was begun with.
        var loading: (load: Load, configuration: ModelConfiguration)?
        /// When its turn came.
        var loadBegan: MonotonicInstant?
        var failure: String?
        /// When the last load failed.
        var failed: MonotonicInstant?
        var isUnloaded = false
        var isHeldBack = false
        var isLeaving = false
        /// The bundle's own word counts.
        var policy: LoadPolicy { facts.load ?? defaultPolicy }
    }

    /// Why the files could not be looked at the last time.
    struct Unreadable: Sendable {
        /// The file or folder that could not be read: the model's, or one that it lies in.
        let path: String
        let failure: FileFailure

        /// The problem, and what to do about it.
        var reason: String {
            failure.isAbsence
                ? "\(path) does not exist" : "\(path) cannot be read: \(failure.reason); reload when it is readable"
        }
    }

    /// A version that was found. Reads its bundle: blocks.
    /// - Parameter gate: lets the loads of all models through.
    init(
        found: RepositoryScanner.Found, configuration: ModelConfiguration, defaultPolicy: LoadPolicy, gate: LoadGate
    ) {
        self.gate = gate
        name = found.name
        path = found.path
        folder = found.folder
        numbered = found.version
        standsForUnreadable = found.failure != nil
        let unreadable = found.failure.map { Unreadable(path: found.path, failure: $0) }
        let reason = unreadable.map { Self.shown($0.reason, name: found.name, path: found.path, folder: found.folder) }
        state = Mutex(
            State(
                configuration: configuration, defaultPolicy: defaultPolicy,
                facts: unreadable == nil ? BundleFacts.read(found.path, links: configuration.links) : BundleFacts(),
                unreadable: unreadable,
                failure: reason))
    }

    /// When it is loaded.
    var policy: LoadPolicy { state.withLock { $0.policy } }

    /// The description in the bundle; empty if the bundle cannot be read.
    var facts: BundleFacts { state.withLock { $0.facts } }

    /// Why the files could not be looked at the last time; nil if they could.
    var unreadable: Unreadable? {
        get { state.withLock { $0.unreadable } }
        set {
            state.withLock { state in
                state.unreadable = newValue
                if standsForUnreadable, !state.isHeldBack { state.failure = newValue.map { shown($0.reason) } }
            }
        }
    }

    /// Reads the bundle's description again where its files have changed. Blocks.
    func readFacts() {
        let (facts, links) = state.withLock { ($0.facts, $0.configuration.links) }
        let now = facts.readAnew(path, links: links)
        state.withLock { $0.facts = now }
    }

    /// The version.
    var version: String { state.withLock { version(in: $0) } }

    private func version(in state: State) -> String {
        numbered ?? state.ready?.description.version ?? state.facts.version
    }

    /// True if the model is loaded and has had nothing to do for longer than it is kept. Only lazy models can come back by
    /// themselves, so only they are released.
    var isIdle: Bool {
        let (model, limit) = state.withLock { state in
            (state.policy == .lazy ? state.ready : nil, state.facts.idleUnload ?? state.configuration.idleUnload)
        }
        guard let model, limit > .zero else { return false }
        return model.idleTime > limit
    }

    /// True if the model is released when it has had nothing to do for a while.
    var mayIdleOut: Bool {
        state.withLock { $0.policy == .lazy && ($0.facts.idleUnload ?? $0.configuration.idleUnload) > .zero }
    }

    /// Versions in the order of their numbers; others after them by name.
    var order: Order { Order(number: UInt64(version) ?? .max, text: version) }

    struct Order: Comparable {
        let number: UInt64
        let text: String
        static func < (a: Order, b: Order) -> Bool { (a.number, a.text) < (b.number, b.text) }
    }

    func isHighest(among versions: [ModelVersion]) -> Bool { versions.allSatisfy { $0.order <= order } }

    var readyModel: Model? { state.withLock { $0.ready } }

    var record: ModelRecord {
        state.withLock { state in
            let current: ModelState =
                if state.ready != nil {
                    .ready
                } else if state.loading != nil {
                    .loading
                } else if let failure = state.failure {
                    .failed(reason: failure)
                } else {
                    .unloaded
                }
            return ModelRecord(
                name: name, version: version(in: state), state: current, policy: state.policy, model: state.ready,
                staleReason: state.ready == nil ? nil : state.failure ?? state.unreadable.map { shown($0.reason) },
                loadingTime: state.loading == nil ? nil : state.loadBegan.map { .now - $0 })
        }
    }

    /// A reason as clients see it: paths are relative to the folder of models. Where that folder is, and what else this
    /// machine holds, is for the log only.
    func shown(_ reason: String) -> String { Self.shown(reason, name: name, path: path, folder: folder) }

    private static func shown(_ reason: String, name: String, path: String, folder: String) -> String {
        // The folder may itself be the bundle.
        let inside = path == folder ? reason.replacing(folder + "/", with: "") : reason
        return inside.replacing(path == folder ? path : folder + "/", with: path == folder ? name : "")
    }

    /// Loads from now on happen with this configuration, and when it says.
    func use(_ configuration: ModelConfiguration, defaultPolicy: LoadPolicy) {
        state.withLock { state in
            state.configuration = configuration
            state.defaultPolicy = defaultPolicy
        }
    }

    /// The expected effort of a load, as far as this process knows.
    var cost: LoadCost {
        state.withLock { LoadCost(wasLoaded: $0.readyConfiguration != nil, bytes: $0.facts.bytes, name: name) }
    }

    /// The same with what former processes knew. Reads the list of models that went through the trial: blocks.
    var rememberedCost: LoadCost {
        let (facts, trial) = state.withLock { ($0.facts, $0.configuration.trial) }
        var cost = cost
        cost.wasLoaded = cost.wasLoaded || facts.isKnown(to: trial, at: path)
        return cost
    }

    /// The properties that decide whether it answers requests that name no version.
    var situation: VersionSituation {
        state.withLock { state in
            VersionSituation(
                policy: state.policy, isReady: state.ready != nil, hasFailed: state.failure != nil,
                isHeldBack: state.isHeldBack, isLeaving: state.isLeaving)
        }
    }

    /// The result of a load.
    struct Outcome: Sendable {
        let result: Result<Model, InferenceError>
        /// True if the model was handed to the version: not where it was unloaded while it was loading.
        let isKept: Bool
    }

    /// For how long requests get the error of a failed load and do not start another: loads cost seconds of processors, and
    /// there may be many requests. Reloads are not held up.
    private static let respite = Duration.seconds(5)

    /// Requests load this model, and its last load failed so long ago that what was wrong may have passed.
    func isDueAgain(after time: Duration) -> Bool {
        state.withLock { isDueAgain($0, after: time) }
    }

    private func isDueAgain(_ state: State, after time: Duration) -> Bool {
        guard state.policy == .lazy, state.loading == nil, state.failure != nil, !state.isHeldBack, !state.isLeaving,
            let failed = state.failed
        else { return false }
        return .now >= failed + time
    }

    /// Puts a load in line if it is still due.
    func beginAgain(_ request: LoadRequest, after time: Duration) {
        state.withLock { state in
            if isDueAgain(state, after: time) { _ = start(&state, request) }
        }
    }

    /// A request for a load.
    struct LoadRequest: Sendable {
        /// Its place among the loads that wait.
        let cost: LoadCost
        /// True if files and configuration count as they are now, which those of a load under way may not be.
        var again = false
        /// True if the model is loaded although it was unloaded on request.
        var bringsBack = false
        /// Unloads up to so many other models, if there are no more threads for this one; whether there were any.
        let makeRoom: @Sendable (Int) async -> Bool
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

    /// Loads the model, or waits for a load that is under way. The caller wants the model: one that was unloaded while it
    /// was loading is kept then.
    /// - Parameters:
    ///   - begun: what ``begin(_:)`` found, where it was called before.
    ///   - deadline: until when it is waited for; the load continues after it.
    /// - Throws: where the deadline has passed, or the calling task was cancelled, before the load was over.
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

    /// Puts a load in line, if none is under way, and does not wait for it.
    func begin(_ request: LoadRequest) -> Start { state.withLock { start(&$0, request) } }

    private func start(_ state: inout State, _ request: LoadRequest) -> Start {
        if state.isHeldBack, !request.bringsBack { return .impossible("it was unloaded and has not been loaded again") }
        state.isUnloaded = false
        state.isHeldBack = false
        if standsForUnreadable {
            state.failure = state.unreadable.map { shown($0.reason) }
            return .impossible(state.failure ?? "\(name) could not be read")
        }
        if let (load, configuration) = state.loading { return .joined(load, configuration) }
        if let ready = state.ready, !request.again { return .ready(ready) }
        if !request.again, let failure = state.failure, let failed = state.failed,
            MonotonicInstant.now < failed + Self.respite
        {
            return .impossible(failure)
        }
        let configuration = state.configuration
        var adapted = configuration
        adapted.streamDifference = state.ready?.laterDifference.withLock { $0 }
        // Not a child of the asking task: the load continues when that client disconnects, for the others who wait.
        let load = Load()
        let ticket = gate.arrive(request.cost)
        state.loadBegan = nil
        Task.detached { [adapted] in
            let result: Result<Model, InferenceError> = await self.gate.run(ticket) {
                self.state.withLock { $0.loadBegan = .now }
                var unloaded = 1
                while true {
                    do throws(InferenceError) {
                        return .success(
                            try await Model.load(
                                contentsOf: self.path, name: self.name, configuration: adapted,
                                version: self.numbered))
                    } catch {
                        // Each time twice as many: a model and the process that tries it need more threads than one gives back.
                        guard error.isForWantOfThreads, await request.makeRoom(unloaded) else { return .failure(error) }
                        unloaded *= 2
                    }
                }
            }
            // Here, not by the caller: every task that waited finds the version as it then is.
            let outcome = Outcome(result: result, isKept: self.settle(result, configuration))
            request.onEnd(outcome)
            load.fulfil(outcome)
        }
        state.loading = (load, configuration)
        return .begun(load)
    }

    /// Records the outcome of a load; returns whether there is a model to keep.
    private func settle(_ result: Result<Model, InferenceError>, _ configuration: ModelConfiguration) -> Bool {
        let (isKept, replaced) = state.withLock { state -> (Bool, Model?) in
            state.loading = nil
            switch result {
            case .success(let model):
                state.failure = nil
                state.facts.settle(model)
                // Unloaded while it was loading: the model is not kept.
                guard !state.isUnloaded else { return (false, nil) }
                defer { state.ready = model }
                state.readyConfiguration = configuration
                return (true, state.ready)
            case .failure(let error):
                state.failure = shown(error.message)
                state.failed = .now
                return (false, nil)
            }
        }
        // A model that is no longer used ends here and not under the lock: an engine takes its time to release one, and
        // every request asks for the lock.
        withExtendedLifetime(replaced) {}
        return isKept
    }

    /// True if the model is ready, its last load succeeded, and a load now would give the same: neither its files nor its
    /// configuration have changed. The files are looked at on a thread that may block; nil where they do not answer.
    var isCurrent: Bool? {
        get async {
            let model = state.withLock { state -> Model? in
                guard state.failure == nil, state.loading == nil, state.readyConfiguration == state.configuration else {
                    return nil
                }
                return state.ready
            }
            guard let model else { return false }
            return await LoaderThread.run { [path] in
                LoaderThread.wait(within: BundleFacts.patience, on: path) { model.stamp.isCurrent }
            }
        }
    }

    /// True if the model was unloaded on request: only a load on request brings it back.
    var isHeldBack: Bool { state.withLock { $0.isHeldBack } }

    /// True if the model is not ready, but loading, or would be loaded for a request. One that has failed is not waited for.
    var isToCome: Bool { state.withLock { $0.ready == nil && $0.failure == nil && !$0.isHeldBack } }

    /// True if the model has answered, was unloaded because it was idle, and could not be loaded again the last time: the next
    /// request tries, after a while.
    var isComingBack: Bool {
        state.withLock { state in
            state.ready == nil && state.failure != nil && state.readyConfiguration != nil && state.policy == .lazy
                && !state.isHeldBack
        }
    }

    /// True if the last load failed, or there is nothing that could be loaded.
    var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// True if its files are gone, and it answers until the version that replaces it is ready.
    var isLeaving: Bool {
        get { state.withLock { $0.isLeaving } }
        set { state.withLock { $0.isLeaving = newValue } }
    }

    /// Requests must not load it: only a load that is asked for.
    func holdBack() {
        state.withLock { state in
            state.isHeldBack = true
            state.failure = nil
        }
    }

    /// Requests may load it again.
    func release() { state.withLock { $0.isHeldBack = false } }

    /// A load that has failed is tried again when a request comes.
    func forgetFailure() { if !standsForUnreadable { state.withLock { $0.failure = nil } } }

    /// Unloads the model; predictions that it is working on keep it alive until they end. Tells whether it was loaded.
    /// - Parameter holdsBack: whether requests for it must not load it again.
    func unload(holdsBack: Bool = false) -> Bool {
        let unloaded = state.withLock { state -> Model? in
            state.isUnloaded = true
            state.isHeldBack = state.isHeldBack || holdsBack
            state.failure = nil
            defer { state.ready = nil }
            return state.ready
        }
        // As in `settle`: not under the lock.
        return withExtendedLifetime(unloaded) { unloaded != nil }
    }
}
