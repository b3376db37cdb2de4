internal import FlowControl
internal import Inference
internal import Rollout
internal import Synchronization
internal import SystemSupport

/// Asks the other version what one version has answered, after the answer was sent, and hands both answers to the
/// comparison.
///
/// One item of a model at a time, and only while ``ShadowGate`` is open: others are counted as skipped.
final class Shadows: Sendable {
    let repository: ModelRepository
    /// The models that an item of is under way.
    private let busy = Mutex<Set<String>>([])
    private let faults = Mutex(ShadowFaults())

    /// For how long an item waits for idle infer requests, how often it looks, for how long it may run at least, and
    /// the shortest inferences that make late requests of a share an error.
    private static let patience = Duration.milliseconds(500), pause = Duration.milliseconds(5),
        limit = Duration.seconds(10), leastLate = Duration.seconds(1)

    init(_ repository: ModelRepository) { self.repository = repository }

    /// Begins with an item, or skips it. Returns at once: called on the event loop.
    func begin(_ work: ShadowWork, _ route: RolloutRoute, isCandidates: Bool, keeping folder: DifferenceFolder?) {
        guard busy.withLock({ $0.insert(route.name).inserted }) else { return route.rollout.skip(of: route.candidate) }
        Task.detached(priority: .utility) {
            await self.run(work, route, isCandidates: isCandidates, keeping: folder)
            self.busy.withLock { _ = $0.remove(route.name) }
        }
    }

    private func run(
        _ work: ShadowWork, _ route: RolloutRoute, isCandidates: Bool, keeping folder: DifferenceFolder?
    ) async {
        func skip() { route.rollout.skip(of: route.candidate) }
        let version = isCandidates ? nil : route.candidate
        guard let other = try? await repository.model(named: route.name, version: version, deadline: .now + Self.limit),
            let slot = await idleSlot(of: other, beside: isCandidates ? route.candidate : nil, of: route.name)
        else { return skip() }
        defer { slot.release() }
        // Where the version that serves takes long too, the candidate may.
        let limit = max(Self.limit, Duration.nanoseconds(Int64(clamping: work.times.inference)) * 10)
        let result = await work.ask(other, work.isAlone ? route.sample : nil, .now + limit, slot)
        let found: ComparableAnswer, times: StageTimes?
        switch result {
        case .success(let answer):
            (found, times) = (answer.answer, answer.times)
            if !isCandidates { faults.withLock { $0.answered(route.name) } }
        case .failure(let error):
            // The version that serves has answered; that it would not a moment later says nothing of the candidate.
            guard !isCandidates,
                let message = faults.withLock({
                    $0.message(of: error, route.name, candidate: route.candidate, limit: limit)
                })
            else { return skip() }
            (found, times) = (.failure(code: ServiceError(error).code.rawValue, message: message), nil)
        }
        let (answer, id) = await LongDecoding.run { _ in (work.answer(), work.digest()) }
        var pair = ModelRollout.Pair(
            id: id, serving: isCandidates ? found : answer, candidate: isCandidates ? answer : found)
        // Times of the variant for single-stream requests are others.
        if let times, times.singleStreamThreads == work.times.singleStreamThreads {
            pair.times = isCandidates ? (times, work.times) : (work.times, times)
        }
        let isListed = repository.compare(pair, of: route.name, candidate: route.candidate)
        if isListed, let folder, let picture = work.picture() {
            let ids = route.rollout.view.comparison?.differences.map(\.id) ?? []
            await LoaderThread.run { [id = pair.id] in folder.keep(picture, id, of: route.name, among: ids) }
        }
    }

    // MARK: The candidate's share

    /// The candidate has answered a request of its share.
    func answered(_ route: RolloutRoute) { faults.withLock { $0.answered(route.name) } }

    /// The deadline of a request of the candidate's share passed while the candidate ran. The second in succession is
    /// an error if the candidate is slow, and not only the deadlines short: its inferences lately took a second or
    /// longer, and ten times as long as those of the version that serves.
    /// - Parameter began: when the request came.
    func wasLate(_ route: RolloutRoute, began: MonotonicInstant) {
        func usual(_ version: String?) -> Duration? {
            ((try? repository.readyModel(named: route.name, version: version)) ?? nil)?.limiter.snapshot.serviceTime
        }
        let isSecond = faults.withLock { $0.wasLate(route.name, candidate: route.candidate, began: began) }
        let least = usual(nil).map { max(Self.leastLate, $0 * 10) } ?? Self.limit
        guard isSecond, let time = usual(route.candidate), time >= least else { return }
        route.candidateErred(
            "twice in succession, no answer before the request's deadline; its inferences take "
                + "\(Int(time / .milliseconds(1))) ms")
    }

    // MARK: Slots

    /// A slot, as soon as the gate is open; nil if it is not for too long, or closed.
    private func idleSlot(of other: Model, beside candidate: String?, of name: String) async -> Slot? {
        let end = MonotonicInstant.now + Self.patience
        while MonotonicInstant.now < end {
            let models = [other, (try? repository.readyModel(named: name, version: candidate)) ?? nil].compactMap { $0 }
            let gate = ShadowGate.decide(
                compared: models.map { ShadowGate.Load($0) },
                others: repository.readyModels.map { ShadowGate.Load($0) },
                memory: DecodeBudget.shared.usage)
            switch gate {
            case .open:
                // Long work never takes the last slot from others.
                return try? await other.limiter.acquire(deadline: end, claim: Claim(work: Claim.long))
            case .busy: break
            case .closed: return nil
            }
            try? await Task.sleep(for: Self.pause)
        }
        return nil
    }
}
