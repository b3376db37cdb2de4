internal import FlowControl
internal import HTTPWire
internal import Inference
internal import Keeping
package import Repository
internal import Rollout
internal import Synchronization
internal import SystemSupport
internal import WireFormats

/// Asks the other version for its answer after an answer is sent, and passes both answers to the comparison.
/// Thread-safe.
///
/// It runs one item of each model at a time, and only while ``ShadowGate`` is open; other items are counted as skipped.
package final class Shadows: Sendable {
    let repository: ModelRepository
    /// The models with an item in progress.
    private let busy = Mutex<Set<String>>([])
    private let faults = Mutex(ShadowFaults())

    /// The longest wait of an item for idle infer requests, the interval of its checks, the minimum time limit of a
    /// run, and the minimum inference time for which late requests count as an error.
    private static let patience = Duration.milliseconds(500), pause = Duration.milliseconds(5),
        limit = Duration.seconds(10), minimumLate = Duration.seconds(1)

    package init(_ repository: ModelRepository) { self.repository = repository }

    /// Begins an item, or skips it. Returns at once: called on the event loop.
    func begin(_ work: ShadowWork, _ route: RolloutRoute, by answering: String, isCandidates: Bool) {
        guard busy.withLock({ $0.insert(route.name).inserted }) else { return route.rollout.skip(of: route.candidate) }
        Task.detached(priority: .utility) {
            await self.run(work, route, by: answering, isCandidates: isCandidates)
            self.busy.withLock { _ = $0.remove(route.name) }
        }
    }

    private func run(
        _ work: ShadowWork, _ route: RolloutRoute, by answering: String, isCandidates: Bool
    ) async {
        func skip() { route.rollout.skip(of: route.candidate) }
        let version = isCandidates ? nil : route.candidate
        guard let other = try? await repository.model(named: route.name, version: version, deadline: .now + Self.limit),
            let slot = await idleSlot(of: other, beside: isCandidates ? route.candidate : nil, of: route.name)
        else { return skip() }
        defer { slot.release() }
        // If the serving version is slow, the candidate may be slow too.
        let limit = max(Self.limit, Duration.nanoseconds(Int64(clamping: work.times.inference)) * 10)
        let result = await work.ask(other, work.isAlone ? route.sample : nil, .now + limit, slot)
        let found: ComparableAnswer, times: StageTimes?
        switch result {
        case .success(let answer):
            (found, times) = (answer.answer, answer.times)
            if !isCandidates { faults.withLock { $0.answered(route.name) } }
        case .failure(let error):
            // The serving version answered the request; a later failure of it says nothing about the candidate.
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
        // Times of the variant for single-stream requests cannot be compared with others.
        if let times, times.singleStreamThreads == work.times.singleStreamThreads {
            pair.times = isCandidates ? (times, work.times) : (work.times, times)
        }
        let isListed = repository.compare(pair, of: route.name, candidate: route.candidate)
        if let keeper = route.keeper, let image = work.image, Self.differ(pair) {
            keeper.offer(image, model: route.name, version: answering, reasons: [.disagree])
        }
        if isListed, let folder = route.folder, let picture = work.picture() {
            let ids = route.rollout.view.comparison?.differences.map(\.id) ?? []
            await LoaderThread.run { [id = pair.id] in folder.keep(picture, id, of: route.name, among: ids) }
        }
    }

    /// True if both versions have classified a picture, differently.
    private static func differ(_ pair: ModelRollout.Pair) -> Bool {
        guard case .classes = pair.serving, case .classes = pair.candidate else { return false }
        return !Agreement(expected: pair.serving, found: pair.candidate).agrees
    }

    // MARK: The candidate's requests

    /// Records that the candidate answered one of its requests.
    func answered(_ route: RolloutRoute) { faults.withLock { $0.answered(route.name) } }

    /// Records that the deadline of one of the candidate's requests passed while the candidate ran. The second in
    /// succession is an error if the candidate is slow, rather than the deadlines short: its recent inferences took a
    /// second or longer, and ten times as long as those of the serving version.
    /// - Parameter began: the time when the request arrived.
    func wasLate(_ route: RolloutRoute, began: MonotonicInstant) {
        func usual(_ version: String?) -> Duration? {
            ((try? repository.readyModel(named: route.name, version: version)) ?? nil)?.limiter.snapshot.serviceTime
        }
        let isSecond = faults.withLock { $0.wasLate(route.name, candidate: route.candidate, began: began) }
        let minimum = usual(nil).map { max(Self.minimumLate, $0 * 10) } ?? Self.limit
        guard isSecond, let time = usual(route.candidate), time >= minimum else { return }
        route.candidateReturnedError(
            "twice in succession, no answer before the request's deadline; its inferences take "
                + "\(Int(time / .milliseconds(1))) ms")
    }

    // MARK: Slots

    /// Takes a slot as soon as the gate is open; nil if the gate is closed, or busy for too long.
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
                // A long claim never takes the last slot.
                return try? await other.limiter.acquire(deadline: end, claim: Claim(work: Claim.long))
            case .busy: break
            case .closed: return nil
            }
            try? await Task.sleep(for: Self.pause)
        }
        return nil
    }
}
