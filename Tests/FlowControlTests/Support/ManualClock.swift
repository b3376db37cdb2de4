import FlowControl
import Synchronization
import SystemSupport

/// A clock that only tests advance. Sleepers wake when their instant is reached, in that order.
final class ManualClock: Sendable {
    private struct Sleeper {
        let until: MonotonicInstant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        var sleepers: [UInt64: Sleeper] = [:]
        var cancelled: Set<UInt64> = []
        var lastID: UInt64 = 0
        var sleepsBegun = 0
    }

    private let state = Mutex(State())

    var now: MonotonicInstant { state.withLock { $0.now } }

    /// The number of sleeps begun so far, and in progress.
    var sleepsBegun: Int { state.withLock { $0.sleepsBegun } }
    var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// The clock for the limiter. It keeps this object alive.
    var clock: MonotonicClock {
        MonotonicClock(now: { self.now }, sleep: { try await self.sleep(until: $0) })
    }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now + duration
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    private func sleep(until: MonotonicInstant) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let end: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if until <= state.now { return .success(()) }
                    state.sleepers[id] = Sleeper(until: until, continuation: continuation)
                    state.sleepsBegun += 1
                    return nil
                }
                if let end { continuation.resume(with: end) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
