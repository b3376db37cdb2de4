internal import Synchronization
package import SystemSupport

/// Who may get an answer beside the one that it was computed for.
package enum AnswerUse: Equatable, Sendable {
    /// Nobody.
    case own
    /// Those that wait for it.
    case shared
    /// Those, and whoever asks later.
    /// - size: the bytes that it takes in memory.
    case kept(size: Int)
}

/// Computes each answer once while several ask for the same, and keeps finished ones. All methods may be called from any thread; none
/// blocks except for a lock that is never held while other code runs.
///
/// The work runs in a task of its own: whoever asked first may leave without ending it for the others. It is cancelled when the last one
/// left.
package final class AnswerSharing<Content: Equatable & Sendable, Answer: Sendable, Failure: Error>: Sendable {
    package typealias Machine = SharingMachine<Content, Answer>
    package typealias Outcome = Result<Answer, Failure>

    /// A finished answer and who may get it.
    package struct Product: Sendable {
        let answer: Answer
        let use: AnswerUse

        package init(_ answer: Answer, use: AnswerUse) {
            self.answer = answer
            self.use = use
        }
    }

    /// Where an answer came from.
    package enum Origin: Sendable {
        /// It was computed for this request.
        case computed
        /// It was computed for another request at the same time.
        case joined
        /// It was kept.
        case hit
    }

    private enum Ending: Sendable {
        case outcome(Outcome, Origin)
        /// The work for another request gave no answer: compute it.
        case retry
        case cancelled
    }

    private typealias Waiter = CheckedContinuation<Ending, Never>

    private struct Work: Sendable {
        var task: Task<Void, Never>?
        var waiters: [UInt64: Waiter] = [:]
        /// The one that the work was begun for.
        let leader: UInt64
    }

    private struct State: Sendable {
        var machine: Machine
        var works: [Machine.Run: Work] = [:]
        var runs: [UInt64: Machine.Run] = [:]
        var lastMember: UInt64 = 0
    }

    private let state: Mutex<State>
    private let clock: MonotonicClock

    package init(_ limits: Machine.Limits, clock: MonotonicClock = .system) {
        state = Mutex(State(machine: Machine(limits)))
        self.clock = clock
    }

    /// From now on other limits hold.
    package func use(_ limits: Machine.Limits) {
        state.withLock { $0.machine.use(limits) }
    }

    package var usage: Machine.Usage { state.withLock { $0.machine.usage } }

    /// The number of answers that are being computed.
    package var runs: Int { state.withLock { $0.works.count } }

    /// True if finished answers are kept.
    package var keeps: Bool { state.withLock { $0.machine.keeps } }

    /// An answer: a finished one, one that is being computed for another, or a new one.
    ///
    /// A failure is the request's own alone: those that waited for it compute their own.
    /// - Parameters:
    ///   - cancelled: the failure of a request whose task is cancelled.
    ///   - work: computes the answer; cancelled when nobody waits for it.
    package nonisolated(nonsending) func answer(
        _ key: SipHash.Key, _ content: Content, cancelled: Failure,
        work: @escaping @Sendable () async -> Result<Product, Failure>
    ) async -> (outcome: Outcome, origin: Origin) {
        let member = state.withLock { state in
            state.lastMember &+= 1
            return state.lastMember
        }
        let ending = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                begin(key, content, member, waiter, work: work)
            }
        } onCancel: {
            leave(member)
        }
        switch ending {
        case .outcome(let outcome, let origin): return (outcome, origin)
        case .cancelled: return (.failure(cancelled), .computed)
        case .retry: return (await work().map(\.answer), .computed)
        }
    }

    private func begin(
        _ key: SipHash.Key, _ content: Content, _ member: UInt64, _ waiter: Waiter,
        work: @escaping @Sendable () async -> Result<Product, Failure>
    ) {
        let now = clock.now()
        // Contents may be long: they are compared without the lock.
        let known = state.withLock { $0.machine.underWay(key) }
        let equal = known.flatMap { $0.content == content ? $0.run : nil }
        var started: Machine.Run?
        let ending = state.withLock { state -> Ending? in
            // `leave` of a task that was cancelled before now found nothing to leave.
            if Task.isCancelled { return .cancelled }
            switch state.machine.arrive(key, content, equal: equal, at: now) {
            case .hit(let answer): return .outcome(.success(answer), .hit)
            case .alone: return .retry
            case .joins(let run):
                state.works[run]?.waiters[member] = waiter
                state.runs[member] = run
            case .leads(let run):
                state.works[run] = Work(waiters: [member: waiter], leader: member)
                state.runs[member] = run
                started = run
            }
            return nil
        }
        if let ending { waiter.resume(returning: ending) }
        guard let run = started else { return }
        let task = Task { self.end(run, await work()) }
        let isWanted = state.withLock { state in
            state.works[run]?.task = task
            return state.works[run] != nil
        }
        // It may have ended, or everybody may have left, meanwhile.
        if !isWanted { task.cancel() }
    }

    private func leave(_ member: UInt64) {
        let (waiter, task) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard let run = state.runs.removeValue(forKey: member) else { return (nil, nil) }
            let waiter = state.works[run]?.waiters.removeValue(forKey: member)
            guard state.machine.leave(run) else { return (waiter, nil) }
            return (waiter, state.works.removeValue(forKey: run)?.task)
        }
        task?.cancel()
        waiter?.resume(returning: .cancelled)
    }

    private func end(_ run: Machine.Run, _ result: Result<Product, Failure>) {
        let now = clock.now()
        let work = state.withLock { state -> Work? in
            var kept: (answer: Answer, size: Int)?
            if case .success(let product) = result, case .kept(let size) = product.use { kept = (product.answer, size) }
            state.machine.end(run, kept: kept, at: now)
            let work = state.works.removeValue(forKey: run)
            for member in work?.waiters.keys ?? [:].keys { state.runs[member] = nil }
            return work
        }
        guard let work else { return }
        for (member, waiter) in work.waiters {
            switch (result, member == work.leader) {
            case (.success(let product), true):
                waiter.resume(returning: .outcome(.success(product.answer), .computed))
            case (.success(let product), false):
                waiter.resume(returning: product.use == .own ? .retry : .outcome(.success(product.answer), .joined))
            case (.failure(let error), true): waiter.resume(returning: .outcome(.failure(error), .computed))
            case (.failure, false): waiter.resume(returning: .retry)
            }
        }
    }
}
