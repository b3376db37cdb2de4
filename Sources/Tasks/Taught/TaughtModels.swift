internal import FlowControl
internal import Inference
package import Repository
package import ServiceCore
internal import Synchronization
internal import SystemSupport
package import Teaching
package import WireFormats

/// The taught models of the daemon: finds them and their embedders, and makes one change of each at a time.
/// Thread-safe.
package final class TaughtModels: Sendable {
    package let store: TaughtStore
    let repository: ModelRepository
    let metrics: ServiceMetrics
    package let log: Log
    let digests = EmbedderDigests()
    let older = OlderClassifiers()
    let upkeep = TaughtUpkeep()
    private let turns = Mutex<[String: InFlightLimiter]>([:])
    /// The turn for creations and removals.
    private let creations = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
    /// True if pictures are kept, by the current settings.
    let keepsPictures = Atomic(false)

    package init(store: TaughtStore, repository: ModelRepository, metrics: ServiceMetrics, log: Log) {
        self.store = store
        self.repository = repository
        self.metrics = metrics
        self.log = log
    }

    /// The taught model of a name; nil if it does not exist, or if its files cannot be read.
    func model(_ name: String) -> TaughtModel? { store.model(name) }

    /// True if a taught model has the name, even if its files cannot be read.
    package func owns(_ name: String) -> Bool { store.model(name) != nil || store.problems[name] != nil }

    /// The names of all taught models, including those with unreadable files.
    package var names: [String] { store.all.map(\.name) + store.problems.keys }

    /// The taught model of a name. Throws 404 if it does not exist, 503 if its files cannot be read.
    package func find(_ name: String) throws(ServiceError) -> TaughtModel {
        if let model = store.model(name) { return model }
        if let problem = store.problems[name] {
            throw ServiceError(.modelNotReady, "the taught model \"\(name)\" cannot be read: \(problem)")
        }
        throw ServiceError(.notFound, "there is no taught model \"\(name.prefix(80))\"; /v1/taught lists them")
    }

    // MARK: Changes

    /// Changes a taught model: one change at a time, on a thread that may block.
    func change<Value: Sendable>(
        _ model: TaughtModel, deadline: MonotonicInstant, claim: Claim,
        _ body: @escaping @Sendable (TaughtModel) throws(TeachingError) -> Value
    ) async throws(ServiceError) -> Value {
        let turn = turns.withLock { turns in
            if let turn = turns[model.name] { return turn }
            let turn = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
            turns[model.name] = turn
            return turn
        }
        return try await Self.inTurn(turn, deadline, claim) { () throws(TeachingError) in try body(model) }
    }

    /// Creates or removes taught models: one at a time.
    func changeList<Value: Sendable>(
        deadline: MonotonicInstant, claim: Claim,
        _ body: @escaping @Sendable (TaughtStore) throws(TeachingError) -> Value
    ) async throws(ServiceError) -> Value {
        let store = store
        return try await Self.inTurn(creations, deadline, claim) { () throws(TeachingError) in try body(store) }
    }

    private static func inTurn<Value: Sendable>(
        _ turn: InFlightLimiter, _ deadline: MonotonicInstant, _ claim: Claim,
        _ body: @escaping @Sendable () throws(TeachingError) -> Value
    ) async throws(ServiceError) -> Value {
        let slot: Slot
        do throws(AdmissionError) {
            slot = try await turn.acquire(deadline: deadline, claim: claim)
        } catch {
            throw ServiceError(error)
        }
        defer { slot.release() }
        let outcome = await LoaderThread.run { TeachingOutcome(body) }
        do throws(TeachingError) {
            return try outcome.result.get()
        } catch {
            throw ServiceError(error)
        }
    }

    /// Drops the state of a removed model.
    func removed(_ name: String, _ model: TaughtModel?) {
        turns.withLock { _ = $0.removeValue(forKey: name) }
        older.drop { one, _ in one === model }
    }

    /// Logs and counts a change.
    func report(_ model: TaughtModel, _ after: TaughtState, _ what: String) {
        metrics.add(.taughtChanges)
        let classes = after.counts.count, examples = after.examples.count
        log.info(
            "taught \(model.name): \(after.serving == 0 ? "empty" : "version \(after.serving)"): \(what); \(examples) "
                + "\(examples == 1 ? "example" : "examples") of \(classes) \(classes == 1 ? "class" : "classes")")
    }

    /// Drops the heads of versions that are no longer kept, and starts the evaluation of the new version.
    func changed(_ model: TaughtModel) {
        let state = model.view.state
        older.drop { one, version in one === model && state.version(version) == nil }
        upkeep.check(model, of: self)
    }
}

/// The outcome of a change. A structure, because the compiler fails on results with a typed error as generic arguments.
private struct TeachingOutcome<Value: Sendable>: Sendable {
    let result: Result<Value, TeachingError>

    init(_ body: () throws(TeachingError) -> Value) {
        do throws(TeachingError) { result = .success(try body()) } catch { result = .failure(error) }
    }
}
