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

    private typealias Load = Task<Result<Model, InferenceError>, Never>

    private struct State {
        var configuration: ModelConfiguration
        var ready: Model?
        /// The configuration that the ready model was loaded with.
        var readyConfiguration: ModelConfiguration?
        var loading: Load?
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

    /// Loads the model, or waits for a load that is under way. Tells whether this call began the load.
    func load(again: Bool) async -> (result: Result<Model, InferenceError>, isMine: Bool) {
        let (task, isMine) = state.withLock { state -> (Load, Bool) in
            if let loading = state.loading { return (loading, false) }
            if let ready = state.ready, !again { return (Task { .success(ready) }, false) }
            // Not a child of the asking task: the load goes on when that client goes away, for the others who wait.
            let configuration = state.configuration
            let task = Task.detached { () -> Result<Model, InferenceError> in
                let result: Result<Model, InferenceError>
                do throws(InferenceError) {
                    result = .success(
                        try await Model.load(
                            contentsOf: self.path, configuration: configuration, version: self.numbered))
                } catch {
                    result = .failure(error)
                }
                // Here, not by who asked: whoever waited finds the slot as it then is.
                self.settle(result, configuration)
                return result
            }
            state.loading = task
            state.isUnloaded = false
            state.isHeldBack = false
            return (task, true)
        }
        return (await task.value, isMine)
    }

    private func settle(_ result: Result<Model, InferenceError>, _ configuration: ModelConfiguration) {
        state.withLock { state in
            state.loading = nil
            switch result {
            case .success(let model):
                // Unloaded while it was loading: the model is not kept.
                if !state.isUnloaded {
                    state.ready = model
                    state.readyConfiguration = configuration
                }
                state.failure = nil
            case .failure(let error):
                state.failure = error.message
            }
        }
    }

    /// Whether the model is ready, its last load succeeded, and a load now would give the same: neither its files nor its
    /// configuration have changed. Reads the folder: blocks.
    var isCurrent: Bool {
        let model = state.withLock { state -> Model? in
            guard state.failure == nil, state.loading == nil, state.readyConfiguration == state.configuration else {
                return nil
            }
            return state.ready
        }
        return model?.stamp.isCurrent ?? false
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
            state.isHeldBack = holdsBack
            state.failure = nil
            defer { state.ready = nil }
            return state.ready != nil
        }
    }
}
