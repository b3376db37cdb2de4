package import FlowControl
internal import ImagePipeline
internal import Synchronization
package import SystemSupport

/// The memory of all pictures that are decoded at the same time, over all models. The limit of requests in flight of each model
/// does not consider the number of models or of processors that decode for them.
///
/// First come, first served: no picture overtakes a waiting one, so that small ones do not delay a large one. A picture that is larger than
/// the whole budget is decoded alone.
package final class DecodeBudget: Sendable {
    /// Of this process.
    package static let shared = DecodeBudget()

    /// The memory in use, the budget, and the number of pictures that wait.
    package struct Usage: Sendable, Equatable {
        /// Bytes.
        package var used = 0, total = Int.max
        /// Pictures.
        package var waiting = 0
    }

    /// Why a wait is over.
    private enum Outcome { case admitted, expired, cancelled }

    private struct Waiter {
        let bytes: Int
        let continuation: CheckedContinuation<Outcome, Never>
    }

    private struct State {
        var usage = Usage()
        /// By number, in the order in which they came.
        var waiters: [UInt64: Waiter] = [:]
        /// The number of the first that may still wait, and of the next that comes.
        var first: UInt64 = 0, next: UInt64 = 0

        func hasRoom(_ bytes: Int) -> Bool { usage.used == 0 || bytes <= usage.total - min(usage.used, usage.total) }

        mutating func take(_ bytes: Int) { usage.used += bytes }

        /// Admits the waiters that there is room for, in their order.
        mutating func admit() -> [Waiter] {
            var admitted: [Waiter] = []
            while usage.waiting > 0 {
                guard let waiter = waiters[first] else {
                    first += 1
                    continue
                }
                guard hasRoom(waiter.bytes) else { break }
                take(waiter.bytes)
                remove(first)
                admitted.append(waiter)
            }
            return admitted
        }

        @discardableResult mutating func remove(_ number: UInt64) -> Waiter? {
            guard let waiter = waiters.removeValue(forKey: number) else { return nil }
            usage.waiting -= 1
            return waiter
        }
    }

    private let state = Mutex(State())

    /// Bounds nothing until ``use(total:)`` is called.
    package init() {}

    /// A small picture is decoded whatever others hold: there are no more of them at a time than threads.
    package static let free = 1 << 20

    /// The bound from now on. What is taken stays taken.
    package func use(total: Int) {
        finish { $0.usage.total = max(1, total) }
    }

    /// The current usage.
    package var usage: Usage { state.withLock { $0.usage } }

    /// Room that a picture has until it is given back.
    package struct Room: Sendable {
        /// Nanoseconds that it was waited for.
        package let waited: UInt64
        fileprivate let bytes: Int
        fileprivate let budget: DecodeBudget

        /// Gives it back: exactly once.
        package func release() {
            budget.finish { $0.usage.used -= bytes }
        }
    }

    /// Room for a picture of so many bytes: at once where there is some, else after a wait. Nil: it needs none.
    /// - Throws: where the task is cancelled, or the deadline passes, while it waits.
    package func take(_ bytes: Int, until deadline: MonotonicInstant?) async throws(AdmissionError) -> Room? {
        guard bytes >= Self.free else { return nil }
        let isTaken = state.withLock { state in
            guard state.usage.waiting == 0, state.hasRoom(bytes) else { return false }
            state.take(bytes)
            return true
        }
        if isTaken { return Room(waited: 0, bytes: bytes, budget: self) }
        let start = MonotonicInstant.now
        switch await wait(bytes, until: deadline) {
        case .admitted: return Room(waited: MonotonicInstant.now.nanoseconds(since: start), bytes: bytes, budget: self)
        case .expired: throw .deadlineExceeded
        case .cancelled: throw .cancelled
        }
    }

    private func wait(_ bytes: Int, until deadline: MonotonicInstant?) async -> Outcome {
        let number = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        let timer = deadline.map { DeadlineTimer.shared.schedule(at: $0) { self.end(number, as: .expired) } }
        defer { if let timer { DeadlineTimer.shared.remove(timer) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                finish { state in
                    state.waiters[number] = Waiter(bytes: bytes, continuation: continuation)
                    state.usage.waiting += 1
                    state.first = min(state.first, number)
                }
                // What ended the wait before it began found no waiter.
                if Task.isCancelled { end(number, as: .cancelled) }
                if let deadline, MonotonicInstant.now >= deadline { end(number, as: .expired) }
            }
        } onCancel: {
            end(number, as: .cancelled)
        }
    }

    /// Changes something, after which others may have room.
    private func finish(_ change: (inout State) -> Void) {
        let admitted = state.withLock { state in
            change(&state)
            return state.admit()
        }
        for waiter in admitted { waiter.continuation.resume(returning: .admitted) }
    }

    /// Ends a wait, if it has not ended. Those behind may have room then.
    private func end(_ number: UInt64, as outcome: Outcome) {
        var waiter: Waiter?
        finish { waiter = $0.remove(number) }
        waiter?.continuation.resume(returning: outcome)
    }
}
