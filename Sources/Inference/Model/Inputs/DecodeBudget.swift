package import FlowControl
internal import ImagePipeline
package import SystemSupport

/// The budget for the memory of all pictures that are decoded at the same time, over all models. The limit of requests
/// in flight of a model does not consider the number of models, or of processors that decode for them.
///
/// Clients take turns by the number of bytes that they have used (``ClientShares``); the pictures of one client are
/// decoded in the order of their arrival. No picture overtakes the next one in turn, so that small ones cannot delay a
/// large one indefinitely. A picture that is larger than the whole budget is refused before (`Model.room`); one that
/// waits while a reload reduces the budget is decoded when no other holds memory.
package final class DecodeBudget: Sendable {
    /// The budget of this process.
    package static let shared = DecodeBudget()

    /// The memory in use, the budget, and the number of waiting pictures.
    package struct Usage: Sendable, Equatable {
        /// In bytes.
        package var used = 0, total = Int.max
        /// The number of waiting pictures.
        package var waiting = 0
    }

    /// The reason a wait has ended.
    private enum Outcome { case admitted, expired, cancelled }

    private struct Waiter {
        let number: UInt64
        let bytes: Int
        let continuation: CheckedContinuation<Outcome, Never>
    }

    private struct State {
        var usage = Usage()
        /// By client, each list in the order of arrival; no list is empty.
        private var waiters: [Int: [Waiter]] = [:]
        private var turns = TurnHeap()
        /// The shares of the clients, in bytes instead of nanoseconds.
        private var shares = ClientShares()
        /// The number of the next waiter.
        var next: UInt64 = 0

        /// The configured budget in bytes, and the part of it that models have reserved.
        var limit = Int.max, reserved = 0

        /// Computes the budget for pictures: the rest, but at least a quarter.
        mutating func updateTotal() {
            usage.total = limit == .max ? limit : max(1, limit / 4, limit - min(reserved, limit))
        }

        private func hasRoom(_ bytes: Int) -> Bool {
            usage.used == 0 || bytes <= usage.total - min(usage.used, usage.total)
        }

        /// Takes memory for a picture if that need not wait.
        mutating func takeAtOnce(_ bytes: Int, for client: Int) -> Bool {
            guard usage.waiting == 0, hasRoom(bytes) else { return false }
            shares.begin(client, hasWaiters: false)
            take(bytes, for: client)
            return true
        }

        private mutating func take(_ bytes: Int, for client: Int) {
            usage.used += bytes
            shares.serve(client, cost: UInt64(clamping: bytes))
        }

        /// Returns the bytes that `take` took.
        mutating func release(_ bytes: Int, of client: Int) {
            usage.used -= bytes
            shares.end(client)
        }

        mutating func append(_ waiter: Waiter, of client: Int) {
            let isFirst = waiters[client] == nil
            shares.begin(client, hasWaiters: !isFirst)
            waiters[client, default: []].append(waiter)
            usage.waiting += 1
            if isFirst { turns.insert(client, start: shares.start(of: client)) }
        }

        /// Admits waiters in turn, as long as memory is left.
        mutating func admit() -> [Waiter] {
            var admitted: [Waiter] = []
            while let client = turns.first?.list, let waiter = waiters[client]?.first, hasRoom(waiter.bytes) {
                remove(waiter.number, of: client)
                take(waiter.bytes, for: client)
                turns.move(client, to: shares.start(of: client))
                admitted.append(waiter)
            }
            return admitted
        }

        /// Ends a wait without taking memory.
        mutating func abandon(_ number: UInt64, of client: Int) -> Waiter? {
            guard let waiter = remove(number, of: client) else { return nil }
            shares.end(client)
            return waiter
        }

        @discardableResult private mutating func remove(_ number: UInt64, of client: Int) -> Waiter? {
            guard let place = waiters[client]?.firstIndex(where: { $0.number == number }) else { return nil }
            usage.waiting -= 1
            let waiter = waiters[client]?.remove(at: place)
            if waiters[client]?.isEmpty == true {
                waiters[client] = nil
                turns.remove(client)
            }
            return waiter
        }
    }

    private let state = Guarded(State())

    /// A budget without a limit until ``use(total:)`` is called.
    package init() {}

    /// The size in bytes below which a picture is decoded without taking from the budget: no more of them are decoded
    /// at a time than there are threads.
    package static let free = 1 << 20

    /// Sets the limit in bytes. Memory that is taken stays taken.
    package func use(total: Int) {
        finish {
            $0.limit = max(1, total)
            $0.updateTotal()
        }
    }

    /// A part of the budget that is withheld from pictures during the object's lifetime.
    package final class Reservation: Sendable {
        private let bytes: Int
        private let budget: DecodeBudget

        fileprivate init(_ bytes: Int, _ budget: DecodeBudget) {
            self.bytes = bytes
            self.budget = budget
            budget.reserve(bytes)
        }

        deinit { budget.reserve(-bytes) }
    }

    /// Reserves memory for other uses that grow with clients' inputs.
    package func reservation(_ bytes: Int) -> Reservation { Reservation(max(0, bytes), self) }

    private func reserve(_ bytes: Int) {
        finish {
            $0.reserved += bytes
            $0.updateTotal()
        }
    }

    /// The bytes that are kept for other uses.
    package var reserved: Int { state.withLock { $0.reserved } }

    /// The current usage.
    package var usage: Usage { state.withLock { $0.usage } }

    /// Memory of the budget that a picture holds until it is released.
    package struct Room: Sendable {
        /// Nanoseconds of waiting for it.
        package let waited: UInt64
        fileprivate let bytes: Int
        fileprivate let client: Int
        fileprivate let budget: DecodeBudget

        /// Returns the memory. Must be called exactly once.
        package func release() {
            budget.finish { $0.release(bytes, of: client) }
        }
    }

    /// Takes memory for a picture of `bytes` bytes, immediately if possible, otherwise after a wait. Returns nil if the
    /// picture is too small to need any.
    /// - Throws: if the task is cancelled, or the deadline passes, during the wait.
    package func take(
        _ bytes: Int, for claim: Claim = .usual, until deadline: MonotonicInstant?
    ) async throws(AdmissionError) -> Room? {
        guard bytes >= Self.free else { return nil }
        if let room = takeAtOnce(bytes, for: claim) { return room }
        let client = claim.client
        let start = MonotonicInstant.now
        switch await wait(bytes, of: client, until: deadline) {
        case .admitted:
            let waited = MonotonicInstant.now.nanoseconds(since: start)
            return Room(waited: waited, bytes: bytes, client: client, budget: self)
        case .expired: throw .deadlineExceeded
        case .cancelled: throw .cancelled
        }
    }

    /// Takes memory for a picture of `bytes` bytes if it is available now and no picture waits; otherwise nil.
    package func takeAtOnce(_ bytes: Int, for claim: Claim = .usual) -> Room? {
        guard state.withLock({ $0.takeAtOnce(bytes, for: claim.client) }) else { return nil }
        return Room(waited: 0, bytes: bytes, client: claim.client, budget: self)
    }

    private func wait(_ bytes: Int, of client: Int, until deadline: MonotonicInstant?) async -> Outcome {
        let number = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        let timer = deadline.map {
            DeadlineTimer.shared.schedule(at: $0) { self.end(number, of: client, as: .expired) }
        }
        defer { if let timer { DeadlineTimer.shared.remove(timer) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                finish { $0.append(Waiter(number: number, bytes: bytes, continuation: continuation), of: client) }
                // A cancellation or deadline before this point found no waiter.
                if Task.isCancelled { end(number, of: client, as: .cancelled) }
                if deadline.hasPassed { end(number, of: client, as: .expired) }
            }
        } onCancel: {
            end(number, of: client, as: .cancelled)
        }
    }

    /// Changes the state, and then admits the waiters for which memory has become available.
    private func finish(_ change: (inout State) -> Void) {
        let admitted = state.withLock { state in
            change(&state)
            return state.admit()
        }
        for waiter in admitted { waiter.continuation.resume(returning: .admitted) }
    }

    /// Ends a wait that has not ended yet. Later waiters may then be admitted.
    private func end(_ number: UInt64, of client: Int, as outcome: Outcome) {
        var waiter: Waiter?
        finish { waiter = $0.abandon(number, of: client) }
        waiter?.continuation.resume(returning: outcome)
    }
}
