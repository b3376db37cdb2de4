internal import Synchronization
package import SystemSupport

/// The requests that may get an answer, in addition to the one for which it was computed.
package enum AnswerUse: Equatable, Sendable {
    /// No other request.
    case own
    /// The requests that wait for it.
    case shared
    /// The requests that wait for it, and later ones.
    /// - size: the bytes of its memory.
    case kept(size: Int)
}

/// The part of a request that is compared with others.
package protocol SharedContent: Equatable, Sendable {
    /// Releases the memory, because an equal content replaces this one. Called once, by its only holder.
    func releaseMemory()
}

/// Computes an answer once for concurrent equal requests, and caches finished answers. All methods may be called from
/// any thread; none blocks except for a lock that is never held while other code runs.
///
/// The work runs in its own task, so that the first request may be cancelled without ending it for the others; it is
/// cancelled with the last request. Requests that wait for another's answer release their content.
package final class AnswerSharing<Content: SharedContent, Answer: Sendable, Failure: Error>: Sendable {
    package typealias Machine = SharingMachine<Content, Answer>
    package typealias Outcome = Result<Answer, Failure>

    /// A finished answer with the requests that may get it. A class, because answers are large, and it is passed on
    /// several times.
    package final class Product: Sendable {
        /// The answer for the other requests.
        let answer: Answer
        /// The answer for the request for which it was computed.
        var own: Answer { otherOwn ?? answer }
        private let otherOwn: Answer?
        let use: AnswerUse

        package init(_ answer: Answer, own: Answer? = nil, use: AnswerUse) {
            self.answer = answer
            otherOwn = own
            self.use = use
        }
    }

    /// The source of an answer.
    package enum Origin: Sendable {
        /// It was computed for this request.
        case computed
        /// It was computed for a concurrent request.
        case joined
        /// It came from the cache.
        case hit
    }

    /// The result of a request for an answer.
    package struct Reply: Sendable {
        package let outcome: Outcome
        package let origin: Origin
        /// The request's content, or an equal one if it was released.
        package let content: Content
    }

    /// The failures of requests that end before their answer is ready.
    package struct Failures: Sendable {
        /// The failure of a request after its task was cancelled.
        package let cancelled: Failure
        /// The failure of a request after its deadline.
        let late: Failure

        package init(cancelled: Failure, late: Failure) {
            self.cancelled = cancelled
            self.late = late
        }
    }

    package typealias Work = @Sendable (Content) async -> Result<Product, Failure>

    private enum Ending: Sendable {
        case outcome(Outcome, Origin)
        /// Nothing is shared, or the work for another request failed: the request must compute its answer.
        case alone(Content)
        /// - Parameter work: the work that is cancelled too, because no other request waits for it; otherwise nil.
        case cancelled(Task<Void, Never>?)
        case late
    }

    private typealias Waiter = CheckedContinuation<Ending, Never>

    /// A request that waits for an answer. A class: a copy of a continuation with generic parameters costs more than an
    /// object.
    private final class Waiting: Sendable {
        let run: Machine.Run
        let waiter: Waiter

        init(_ run: Machine.Run, _ waiter: Waiter) {
            self.run = run
            self.waiter = waiter
        }
    }

    private struct Running: Sendable {
        let key: SipHash.Key
        let content: Content
        /// The request for which the work was started.
        let leader: UInt64
        /// The other requests that wait for it.
        var others: Set<UInt64> = []
        var task: Task<Void, Never>?
    }

    private struct State: Sendable {
        var machine: Machine
        var works: [Machine.Run: Running] = [:]
        var waiting: [UInt64: Waiting] = [:]
        /// The timers that end the waits at the requests' deadlines. The request for which the work was started has
        /// none.
        var timers: [UInt64: Task<Void, Never>] = [:]
    }

    private let state: Mutex<State>
    private let lastMember = Atomic<UInt64>(0)
    private let clock: MonotonicClock

    package init(_ limits: Machine.Limits, clock: MonotonicClock = .system) {
        state = Mutex(State(machine: Machine(limits)))
        self.clock = clock
    }

    /// Applies other limits.
    package func use(_ limits: Machine.Limits) {
        state.withLock { $0.machine.use(limits) }
    }

    package var usage: Machine.Usage { state.withLock { $0.machine.usage } }

    /// The number of answers that are being computed.
    package var runs: Int { state.withLock { $0.works.count } }

    /// The number of requests that wait for an answer, including those for which it is computed; and of their timers.
    package var waiting: (requests: Int, timers: Int) {
        state.withLock { ($0.waiting.count, $0.timers.count) }
    }

    /// True if finished answers are cached.
    package var keeps: Bool { state.withLock { $0.machine.keeps } }

    /// Returns an answer: a cached one, one that is being computed for an equal request, or a new one.
    ///
    /// Failures are not shared: the requests that waited for a failed one compute their own answers.
    /// - Parameters:
    ///   - deadline: the end of a wait for another request's answer; the work has its own deadline.
    ///   - work: computes the answer; cancelled when no request waits for it any more.
    package nonisolated(nonsending) func answer(
        _ key: SipHash.Key, _ content: Content, deadline: MonotonicInstant? = nil, _ failures: Failures,
        work: @escaping Work
    ) async -> Reply {
        let member = lastMember.wrappingAdd(1, ordering: .relaxed).newValue
        let ending = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                begin(key, content, member, deadline, waiter, work: work)
            }
        } onCancel: {
            leave(member) { .cancelled($0) }
        }
        switch ending {
        case .outcome(let outcome, let origin): return Reply(outcome: outcome, origin: origin, content: content)
        case .cancelled(let work):
            // Keep the request in the client's count until the engine has stopped.
            await work?.value
            return Reply(outcome: .failure(failures.cancelled), origin: .computed, content: content)
        case .late: return Reply(outcome: .failure(failures.late), origin: .computed, content: content)
        case .alone(let content):
            return Reply(outcome: await work(content).map(\.own), origin: .computed, content: content)
        }
    }

    private func begin(
        _ key: SipHash.Key, _ content: Content, _ member: UInt64, _ deadline: MonotonicInstant?, _ waiter: Waiter,
        work: @escaping Work
    ) {
        let now = clock.now()
        var compared: (run: Machine.Run, isEqual: Bool)?
        while true {
            let arrival = state.withLock { [compared] state -> Machine.Arrival? in
                // If the task was cancelled before this, `leave` found nothing to remove.
                if Task.isCancelled { return nil }
                let arrival = state.machine.arrive(key, content, compared: compared, at: now)
                switch arrival {
                case .hit, .alone, .compare: break
                case .joins(let run):
                    state.works[run]?.others.insert(member)
                    state.waiting[member] = Waiting(run, waiter)
                case .leads(let run):
                    state.works[run] = Running(key: key, content: content, leader: member)
                    state.waiting[member] = Waiting(run, waiter)
                }
                return arrival
            }
            switch arrival {
            case nil: waiter.resume(returning: .cancelled(nil))
            case .hit(let answer): waiter.resume(returning: .outcome(.success(answer), .hit))
            case .alone: waiter.resume(returning: .alone(content))
            case .leads(let run): start(run, content, work)
            case .joins:
                content.releaseMemory()
                if let deadline { watch(member, deadline) }
            case .compare(let run, let other):
                // Compare without the lock, because contents may be long.
                compared = (run, other == content)
                continue
            }
            return
        }
    }

    private func start(_ run: Machine.Run, _ content: Content, _ work: @escaping Work) {
        let task = Task { self.end(run, await work(content)) }
        let isWanted = state.withLock { ($0.works[run]?.task = task) != nil }
        // It may have ended, or all requests may have left, meanwhile.
        if !isWanted { task.cancel() }
    }

    /// Ends a wait at its deadline.
    private func watch(_ member: UInt64, _ deadline: MonotonicInstant) {
        let timer = Task { [clock] in
            while clock.now() < deadline {
                guard (try? await clock.sleep(deadline)) != nil else { return }
            }
            self.leave(member) { _ in .late }
        }
        let isWanted = state.withLock { state in
            guard state.waiting[member] != nil else { return false }
            state.timers[member] = timer
            return true
        }
        if !isWanted { timer.cancel() }
    }

    /// Ends a wait.
    /// - Parameter ending: makes the result from the work that is cancelled too; nil if other requests wait for it.
    private func leave(_ member: UInt64, _ ending: (Task<Void, Never>?) -> Ending) {
        let left = state.withLock {
            state -> (wait: Waiting, timer: Task<Void, Never>?, work: Task<Void, Never>?)? in
            guard let wait = state.waiting.removeValue(forKey: member) else { return nil }
            let timer = state.timers.removeValue(forKey: member)
            guard let key = state.works[wait.run]?.key else { return (wait, timer, nil) }
            state.works[wait.run]?.others.remove(member)
            guard state.machine.leave(wait.run, key) else { return (wait, timer, nil) }
            return (wait, timer, state.works.removeValue(forKey: wait.run)?.task)
        }
        guard let left else { return }
        left.timer?.cancel()
        left.work?.cancel()
        left.wait.waiter.resume(returning: ending(left.work))
    }

    private func end(_ run: Machine.Run, _ result: Result<Product, Failure>) {
        let now = clock.now()
        let product = try? result.get()
        let isShared = product.map { $0.use != .own } ?? false
        var timers: [Task<Void, Never>] = []
        let ended = state.withLock { state -> (leader: Waiting?, others: [Waiting], content: Content)? in
            guard let work = state.works.removeValue(forKey: run) else { return nil }
            let leader = state.waiting.removeValue(forKey: work.leader)
            var others: [Waiting] = []
            for member in work.others {
                if let other = state.waiting.removeValue(forKey: member) { others.append(other) }
                if let timer = state.timers.removeValue(forKey: member) { timers.append(timer) }
            }
            var kept: (answer: Answer, size: Int)?
            if let product, case .kept(let size) = product.use { kept = (product.answer, size) }
            state.machine.end(run, work.key, others: others.count, isShared: isShared, kept: kept, at: now)
            return (leader, others, work.content)
        }
        guard let ended else { return }
        ended.leader?.waiter.resume(returning: .outcome(result.map { $0.own }, .computed))
        for timer in timers { timer.cancel() }
        for other in ended.others {
            if let product, isShared {
                other.waiter.resume(returning: .outcome(.success(product.answer), .joined))
            } else {
                other.waiter.resume(returning: .alone(ended.content))
            }
        }
    }
}
