package import Inference
package import SystemSupport

/// The decisions of a model's version about loads, without waiting, locks, files or a clock: each event returns the
/// actions to take.
///
///     ┌──────────┐  request   ┌─────────┐  success  ┌───────┐  request again  ┌───────────┐
///     │ unloaded │ ─────────▶ │ loading │ ────────▶ │ ready │ ──────────────▶ │ reloading │
///     │ (failed) │ ◀───────── │         │           │       │ ◀────────────── │           │
///     └──────────┘  failure   └─────────┘           └───────┘ success, failure └───────────┘
///          ▲     (or dropped)      ▲                    │                           │
///          └───────────────────────┼────── unload ──────┘                           │
///                                  └───────────────────── unload (dropped) ─────────┘
///
/// - A version has a model in `ready` and `reloading` only: the model answers while the next load is under way, and
///   after that fails.
/// - A version that is unloaded while it is loading is `dropped`: the loaded model is not kept, unless a request for it
///   arrives meanwhile.
/// - A version that was unloaded on request is held back until a load is requested; it never has a model.
/// - A failure stays until a load succeeds, or it is forgotten. A model that gives wrong answers counts as failed, like
///   one that cannot be loaded.
///
/// A new kind of version (one that answers some requests, or none) is data of ``Loaded`` or a phase here; the table of
/// its transitions is in VersionMachineTests.
package struct VersionMachine<Model: Sendable, Pending: Sendable>: Sendable {
    /// The phase of the version, with the data that belongs to it.
    package enum Phase: Sendable {
        case unloaded(Rest)
        /// - Parameter isDropped: whether it was unloaded since the load began.
        case loading(Load, Rest, isDropped: Bool)
        case ready(Loaded)
        case reloading(Loaded, Load)
    }

    /// The data of a version without a model.
    package struct Rest: Sendable {
        package fileprivate(set) var failure: Failure?
        /// True if it was unloaded on request: only a load on request loads it again.
        package fileprivate(set) var isManuallyUnloaded = false
        /// True if it had a model before.
        package fileprivate(set) var wasReady = false
    }

    /// A model that answers.
    package struct Loaded: Sendable {
        package let model: Model
        package let configuration: ModelConfiguration
        /// The reason the last reload failed; nil if it succeeded.
        package fileprivate(set) var failure: Failure?
    }

    /// A load that is queued, or is under way.
    package struct Load: Sendable {
        package let pending: Pending
        /// The configuration that it was begun with.
        package let configuration: ModelConfiguration
        /// The time when it left the queue; nil before.
        package fileprivate(set) var began: MonotonicInstant?
    }

    /// The reason no model is loaded, or the model is older than its files.
    package struct Failure: Sendable {
        package let reason: String
        /// The time when the load failed; nil if nothing was loaded because the files could not be read when they were
        /// found.
        package let time: MonotonicInstant?
    }

    package private(set) var phase: Phase {
        didSet { model = loaded?.model }
    }
    /// The model that answers; nil if no model does. Kept outside of the phase, which is large, because every request
    /// reads it.
    package private(set) var model: Model?
    /// True for the placeholder of a folder that could not be read when it was found: nothing can be loaded.
    package let isUnreadable: Bool
    /// The reason the last attempt to read the files failed.
    package private(set) var unreadable: String?

    /// The time for which requests get the error of a failed load and do not start another: loads cost seconds of CPU
    /// time, and many requests may arrive. Reloads are not delayed.
    private static var retryInterval: Duration { .seconds(5) }

    /// The state of a version that a scan found.
    /// - Parameter unreadable: the reason the folder cannot be read; nil if it can.
    package init(unreadable: String? = nil) {
        isUnreadable = unreadable != nil
        self.unreadable = unreadable
        phase = .unloaded(Rest(failure: unreadable.map { Failure(reason: $0, time: nil) }))
    }

    // MARK: State

    private var loaded: Loaded? {
        switch phase {
        case .ready(let loaded), .reloading(let loaded, _): loaded
        case .unloaded, .loading: nil
        }
    }

    private var rest: Rest? {
        guard model == nil else { return nil }
        return switch phase {
        case .unloaded(let rest), .loading(_, let rest, _): rest
        case .ready, .reloading: nil
        }
    }

    package var load: Load? {
        switch phase {
        case .loading(let load, _, _), .reloading(_, let load): load
        case .unloaded, .ready: nil
        }
    }

    package var failure: Failure? { loaded?.failure ?? rest?.failure }
    package var isManuallyUnloaded: Bool { rest?.isManuallyUnloaded ?? false }
    /// True if it has, or had, a model.
    package var hasServed: Bool { rest?.wasReady ?? true }

    /// The state as clients see it.
    package var state: ModelState {
        switch phase {
        case .ready, .reloading: .ready
        case .loading: .loading
        case .unloaded(let rest): rest.failure.map { .failed(reason: $0.reason) } ?? .unloaded
        }
    }

    /// The reason the model does not match its files or settings; nil if it does, or no model is loaded.
    package var staleReason: String? { loaded.flatMap { $0.failure?.reason ?? unreadable } }

    /// True if no model is loaded yet, but a load is under way or a request would start one. False after a failure.
    package var isExpected: Bool { rest.map { $0.failure == nil && !$0.isManuallyUnloaded } ?? false }

    /// True if the model has answered, is gone, and its last load failed: a request tries again after a while.
    package var isRetrying: Bool { rest.map { $0.wasReady && $0.failure != nil && !$0.isManuallyUnloaded } ?? false }

    /// The model, if loading it with this configuration would change nothing: the last load succeeded with it, and no
    /// load is under way; otherwise nil.
    package func current(with configuration: ModelConfiguration) -> Model? {
        guard case .ready(let loaded) = phase, loaded.failure == nil, loaded.configuration == configuration else {
            return nil
        }
        return loaded.model
    }

    /// True if the last load failed at least this time ago, so that its cause may have passed, and no load is under
    /// way.
    package func isDueAgain(after time: Duration, at now: MonotonicInstant) -> Bool {
        guard load == nil, !isManuallyUnloaded, let failed = failure?.time else { return false }
        return now >= failed + time
    }

    // MARK: Events

    /// The answer to a request for the model.
    package enum Answer {
        /// Begin a load; until it ends, the model to replace answers.
        case begin(Load, replacing: Model?)
        /// Wait for the current load.
        case join(Load)
        case ready(Model)
        /// - Parameter reason: nil if it is not known.
        case impossible(reason: String?)
    }

    /// Handles a request for the model.
    /// - Parameters:
    ///   - again: whether the present files and configuration must be used.
    ///   - bringsBack: whether it is loaded although it was unloaded on request.
    ///   - pending: the handle of a new load.
    package mutating func request(
        again: Bool, bringsBack: Bool, with configuration: ModelConfiguration, at now: MonotonicInstant,
        pending: @autoclosure () -> Pending
    ) -> Answer {
        if isManuallyUnloaded, !bringsBack {
            return .impossible(reason: "it was unloaded and has not been loaded again")
        }
        if isUnreadable {
            let failure = unreadable.map { Failure(reason: $0, time: nil) }
            phase = .unloaded(Rest(failure: failure))
            return .impossible(reason: unreadable)
        }
        switch phase {
        case .loading(let load, var rest, _):
            rest.isManuallyUnloaded = false
            phase = .loading(load, rest, isDropped: false)
            return .join(load)
        case .reloading(_, let load): return .join(load)
        case .ready(let loaded):
            guard again else { return .ready(loaded.model) }
            let load = Load(pending: pending(), configuration: configuration)
            phase = .reloading(loaded, load)
            return .begin(load, replacing: loaded.model)
        case .unloaded(var rest):
            rest.isManuallyUnloaded = false
            phase = .unloaded(rest)
            if !again, let failure = rest.failure, let time = failure.time, now < time + Self.retryInterval {
                return .impossible(reason: failure.reason)
            }
            let load = Load(pending: pending(), configuration: configuration)
            phase = .loading(load, rest, isDropped: false)
            return .begin(load, replacing: nil)
        }
    }

    /// The load has left the queue and begins.
    package mutating func loadBegins(at now: MonotonicInstant) {
        switch phase {
        case .loading(var load, let rest, let isDropped):
            load.began = now
            phase = .loading(load, rest, isDropped: isDropped)
        case .reloading(let loaded, var load):
            load.began = now
            phase = .reloading(loaded, load)
        case .unloaded, .ready: break
        }
    }

    /// The load has succeeded.
    /// - Returns: whether the model is kept, and the model that it replaces.
    package mutating func loadSucceeds(_ model: Model) -> (isKept: Bool, replaced: Model?) {
        switch phase {
        case .loading(_, var rest, isDropped: true):
            rest.failure = nil
            phase = .unloaded(rest)
            return (false, nil)
        case .loading(let load, _, isDropped: false):
            phase = .ready(Loaded(model: model, configuration: load.configuration))
            return (true, nil)
        case .reloading(let loaded, let load):
            phase = .ready(Loaded(model: model, configuration: load.configuration))
            return (true, loaded.model)
        case .unloaded, .ready: return (false, nil)
        }
    }

    /// The load has failed; a previous model continues to answer.
    package mutating func loadFails(_ reason: String, at now: MonotonicInstant) {
        let failure = Failure(reason: reason, time: now)
        switch phase {
        case .loading(_, var rest, _):
            rest.failure = failure
            phase = .unloaded(rest)
        case .reloading(var loaded, _):
            loaded.failure = failure
            phase = .ready(loaded)
        case .unloaded, .ready: break
        }
    }

    /// The model gives wrong answers and stops serving. A load that is under way continues.
    /// - Returns: the model to release.
    package mutating func modelFails(_ reason: String, at now: MonotonicInstant) -> Model? {
        let rest = Rest(failure: Failure(reason: reason, time: now), wasReady: true)
        switch phase {
        case .ready(let loaded):
            phase = .unloaded(rest)
            return loaded.model
        case .reloading(let loaded, let load):
            phase = .loading(load, rest, isDropped: false)
            return loaded.model
        case .unloaded, .loading: return nil
        }
    }

    /// Unloads the model; a load under way is dropped.
    /// - Parameter unloadsManually: whether requests must not load it again.
    /// - Returns: the model to release.
    package mutating func unload(unloadsManually: Bool) -> Model? {
        defer {
            let rest = Rest(
                failure: nil, isManuallyUnloaded: isManuallyUnloaded || unloadsManually, wasReady: hasServed)
            phase = load.map { .loading($0, rest, isDropped: true) } ?? .unloaded(rest)
        }
        return model
    }

    /// Lets requests load it again.
    package mutating func release() { changeRest { $0.isManuallyUnloaded = false } }

    /// Lets the next request load it again after a failed load.
    package mutating func forgetFailure() {
        guard !isUnreadable else { return }
        changeRest { $0.failure = nil }
        changeLoaded { $0.failure = nil }
    }

    /// Records whether the files can be read.
    package mutating func filesAre(unreadable reason: String?) {
        unreadable = reason
        guard isUnreadable, !isManuallyUnloaded else { return }
        changeRest { $0.failure = reason.map { Failure(reason: $0, time: nil) } }
    }

    private mutating func changeRest(_ change: (inout Rest) -> Void) {
        switch phase {
        case .unloaded(var rest):
            change(&rest)
            phase = .unloaded(rest)
        case .loading(let load, var rest, let isDropped):
            change(&rest)
            phase = .loading(load, rest, isDropped: isDropped)
        case .ready, .reloading: break
        }
    }

    private mutating func changeLoaded(_ change: (inout Loaded) -> Void) {
        switch phase {
        case .ready(var loaded):
            change(&loaded)
            phase = .ready(loaded)
        case .reloading(var loaded, let load):
            change(&loaded)
            phase = .reloading(loaded, load)
        case .unloaded, .loading: break
        }
    }
}
