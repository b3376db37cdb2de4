internal import Dispatch
internal import FlowControl
internal import FoundationEssentials
internal import Synchronization

/// One version of a model in the repository: not loaded, loading, ready or failed.
///
/// ```
///            load            success
/// unloaded ───────▶ loading ─────────▶ ready ──▶ (load again: stays ready, switches when the new one is)
///    ▲                 │ failure          │ unload
///    └──── failed ◀────┘                  └──▶ unloaded
/// ```
final class ModelSlot: Sendable {
    let name: String
    let path: String
    let policy: LoadPolicy
    /// After how long without a prediction the model is let go of; nil keeps it. Only lazy models can come back by
    /// themselves, so only they are let go of.
    private let idleLimit: Duration?
    /// The version of a numbered folder; others tell it themselves, and may tell another after a reload.
    private let numbered: String?
    private let firstVersion: String
    /// Whether the bundle speaks of one picture in and labels out; a bundle that cannot be read says nothing.
    let saysItClassifies: Bool
    private let state: Mutex<State>

    private typealias Load = PendingLoad<Outcome>

    private struct State {
        var configuration: ModelConfiguration
        var ready: Model?
        /// The configuration that the ready model was loaded with.
        var readyConfiguration: ModelConfiguration?
        /// The load that is under way, and what it was begun with.
        var loading: (load: Load, configuration: ModelConfiguration)?
        var failure: String?
        var isUnloaded = false
        var isHeldBack = false
    }

    init(found: RepositoryScanner.Found, configuration: ModelConfiguration, defaultPolicy: LoadPolicy) {
        name = found.name
        path = found.path
        state = Mutex(State(configuration: configuration))
        // A bundle that cannot be read keeps its place: loading it then says what is wrong.
        let manifest = (try? ModelBundle(path: found.path))?.manifest
        numbered = found.version
        firstVersion = manifest?.version ?? "1"
        saysItClassifies = manifest?.classifiesPictures ?? false
        policy = manifest?.runtime.load ?? defaultPolicy
        let idle = manifest?.runtime.idleUnloadSeconds.map { Duration.seconds($0) } ?? configuration.idleUnload
        idleLimit = policy == .lazy && idle > .zero ? idle : nil
    }

    /// The version.
    var version: String { numbered ?? readyModel?.description.version ?? firstVersion }

    /// Whether the model is loaded and has had nothing to do for longer than it is kept.
    var isIdle: Bool {
        guard let idleLimit, let model = readyModel else { return false }
        return model.idleTime > idleLimit
    }

    /// Versions in the order of their numbers; others after them by name.
    var order: Order { Order(number: UInt64(version) ?? .max, text: version) }

    struct Order: Comparable {
        let number: UInt64
        let text: String
        static func < (a: Order, b: Order) -> Bool { (a.number, a.text) < (b.number, b.text) }
    }

    func isHighest(among versions: [ModelSlot]) -> Bool { versions.allSatisfy { $0.order <= order } }

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
            let version = numbered ?? state.ready?.description.version ?? firstVersion
            return ModelRecord(name: name, version: version, state: current, policy: policy, model: state.ready)
        }
    }

    /// Loads from now on happen with this configuration.
    func use(_ configuration: ModelConfiguration) { state.withLock { $0.configuration = configuration } }

    /// How a load went.
    struct Outcome: Sendable {
        let result: Result<Model, InferenceError>
        /// Whether the model was handed to the slot: not where it was let go of while it was loading.
        let isKept: Bool
    }

    /// What a call to ``load(again:bringsBack:)`` finds.
    private enum Start {
        case begun(Load)
        case joined(Load, ModelConfiguration)
        case ready(Model)
        case heldBack
    }

    /// Loads the model, or waits for a load that is under way. Whoever asks wants the model: one that was let go of while it
    /// was loading is kept then.
    /// - Parameters:
    ///   - again: whether files and configuration count as they are now, which those of a load under way may not be.
    ///   - bringsBack: whether the model is loaded though somebody has unloaded it.
    ///   - deadline: until when it is waited for; the load goes on after it.
    ///   - onEnd: told how the load went, if this call began it.
    /// - Throws: where the deadline has passed, or the calling task was cancelled, before the load was over.
    func load(
        again: Bool, bringsBack: Bool, deadline: MonotonicInstant? = nil, onEnd: @escaping @Sendable (Outcome) -> Void
    ) async throws(InferenceError) -> Outcome {
        while true {
            switch state.withLock({ start(&$0, again: again, bringsBack: bringsBack, onEnd: onEnd) }) {
            case .heldBack:
                let reason = "it was unloaded and has not been loaded again"
                return Outcome(result: .failure(.modelNotReady(name: name, reason: reason)), isKept: false)
            case .ready(let model): return Outcome(result: .success(model), isKept: true)
            case .begun(let load): return try await load.value(until: deadline)
            case .joined(let load, let configuration):
                let outcome = try await load.value(until: deadline)
                guard again else { return outcome }
                let isAsWanted = state.withLock { $0.configuration == configuration }
                switch outcome.result {
                case .failure where isAsWanted: return outcome
                case .success where isAsWanted: if await isCurrent { return outcome }
                default: break
                }
            }
        }
    }

    private func start(
        _ state: inout State, again: Bool, bringsBack: Bool, onEnd: @escaping @Sendable (Outcome) -> Void
    ) -> Start {
        if state.isHeldBack, !bringsBack { return .heldBack }
        state.isUnloaded = false
        state.isHeldBack = false
        if let (load, configuration) = state.loading { return .joined(load, configuration) }
        if let ready = state.ready, !again { return .ready(ready) }
        let configuration = state.configuration
        // Not a child of the asking task: the load goes on when that client goes away, for the others who wait.
        let load = Load()
        Task.detached {
            let result: Result<Model, InferenceError>
            do throws(InferenceError) {
                result = .success(
                    try await Model.load(contentsOf: self.path, configuration: configuration, version: self.numbered))
            } catch {
                result = .failure(error)
            }
            // Here, not by who asked: whoever waited finds the slot as it then is.
            let outcome = Outcome(result: result, isKept: self.settle(result, configuration))
            onEnd(outcome)
            load.fulfil(outcome)
        }
        state.loading = (load, configuration)
        return .begun(load)
    }

    /// Takes in how a load went; tells whether there is a model that is kept.
    private func settle(_ result: Result<Model, InferenceError>, _ configuration: ModelConfiguration) -> Bool {
        state.withLock { state in
            state.loading = nil
            switch result {
            case .success(let model):
                state.failure = nil
                // Unloaded while it was loading: the model is not kept.
                guard !state.isUnloaded else { return false }
                state.ready = model
                state.readyConfiguration = configuration
                return true
            case .failure(let error):
                state.failure = error.message
                return false
            }
        }
    }

    /// Whether the model is ready, its last load succeeded, and a load now would give the same: neither its files nor its
    /// configuration have changed. The files are looked at on a thread that may block.
    var isCurrent: Bool {
        get async {
            let model = state.withLock { state -> Model? in
                guard state.failure == nil, state.loading == nil, state.readyConfiguration == state.configuration else {
                    return nil
                }
                return state.ready
            }
            guard let model else { return false }
            return await withCheckedContinuation { continuation in
                DispatchQueue.global(qos: .userInitiated).async {
                    continuation.resume(returning: model.stamp.isCurrent)
                }
            }
        }
    }

    /// Whether the model was unloaded because somebody asked for that: only a load that is asked for brings it back.
    var isHeldBack: Bool { state.withLock { $0.isHeldBack } }

    /// Whether the model is not ready, but loading, or would be loaded for a request. One that has failed is not waited for.
    var isToCome: Bool { state.withLock { $0.ready == nil && $0.failure == nil && !$0.isHeldBack } }

    /// Lets go of the model; predictions that it is working on keep it alive until they end. Tells whether it was loaded.
    /// - Parameter holdsBack: whether requests for it must not load it again.
    func unload(holdsBack: Bool = false) -> Bool {
        state.withLock { state in
            state.isUnloaded = true
            state.isHeldBack = state.isHeldBack || holdsBack
            state.failure = nil
            defer { state.ready = nil }
            return state.ready != nil
        }
    }
}
