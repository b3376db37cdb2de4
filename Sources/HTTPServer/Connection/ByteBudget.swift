internal import Synchronization
internal import SystemSupport

/// The bytes of all bodies together, over all event loops: what they take of memory, not what they announce.
///
/// Bodies take room as their bytes arrive. That alone could end with every byte of the budget held by bodies that are not
/// whole and wait for more. So one body at a time, the first that found no room, may go on into a reserve that holds one
/// body of the largest size: it can always be completed, is then handled, and gives its bytes back. The bound is strict,
/// and one connection always makes progress, provided that a slow sender does not keep the reserve: see
/// `EventLoop.relieve`.
///
/// A quarter of the rest is kept for small bodies, so that a few large ones do not shut out the many.
package final class ByteBudget: Sendable {
    private struct State {
        var used = 0
        var overdrawing: ObjectIdentifier?
        var isShort = false
        var releases = 0
    }

    private let bound: Atomic<Int>
    private let largest: Int
    private let state = Guarded(State())
    private let halfTaken = Atomic<Bool>(false)
    private let listeners = Guarded<[Listener]>([])

    /// What is called when there is too little, and when there is room again.
    private struct Listener: Sendable {
        let shortage: @Sendable () -> Void
        let release: @Sendable () -> Void
    }

    /// A budget of `total` bytes for bodies of at most `largest` bytes.
    package init(total: Int, largest: Int) {
        bound = Atomic(total)
        self.largest = largest
    }

    /// The bound.
    package var total: Int { bound.load(ordering: .relaxed) }
    /// What bodies have without the reserve.
    private var ordinary: Int { max(0, total - largest) }
    /// Bodies up to this length are small.
    private var small: Int { max(64 << 10, total / 256) }

    /// Another bound counts from now on. What is taken stays taken: below a lower bound nothing is given out until enough has come
    /// back.
    package func use(total: Int) {
        guard bound.exchange(total, ordering: .relaxed) < total else { return }
        let wake = state.withLock { state in
            guard state.isShort else { return false }
            state.isShort = false
            state.releases += 1
            return true
        }
        if wake { listeners.withLock { $0 }.forEach { $0.release() } }
    }

    /// Bytes that are taken.
    package var used: Int { state.withLock { $0.used } }

    /// Whether more than half of it is taken. Asked for each head: without the lock.
    package var isHalfTaken: Bool { halfTaken.load(ordering: .relaxed) }

    /// Whether a connection was refused since room was last given back.
    package var isShort: Bool { state.withLock { $0.isShort } }

    /// How often room was given back while it was wanted: whether things move.
    package var releases: Int { state.withLock { $0.releases } }

    /// Takes `bytes` for a body that has `held` already. False: there is no room now; those who listen are called, unless
    /// the body can go on without (`isOptional`).
    package func take(_ bytes: Int, held: Int = 0, isOptional: Bool = false, body: ObjectIdentifier) -> Bool {
        let (taken, isNew) = state.withLock { state -> (Bool, Bool) in
            let bound = held + bytes <= small ? ordinary : ordinary - ordinary / 4
            if state.used + bytes <= bound {
                use(bytes, &state)
                return (true, false)
            }
            if isOptional { return (false, false) }
            if state.used + bytes <= total, state.overdrawing == nil || state.overdrawing == body {
                state.overdrawing = body
                use(bytes, &state)
                return (true, false)
            }
            defer { state.isShort = true }
            return (false, !state.isShort)
        }
        if isNew { listeners.withLock { $0 }.forEach { $0.shortage() } }
        return taken
    }

    /// How much of the budget something else than a body may use.
    package enum Share: Sendable {
        /// Half of what bodies have.
        case half
        /// All of it.
        case whole
        /// More than there is: what was admitted goes on.
        case unbounded
    }

    /// Takes `bytes` for something else than a body.
    package func takeBeside(_ bytes: Int, _ share: Share) -> Bool {
        state.withLock { state in
            let bound =
                switch share {
                case .half: ordinary / 2
                case .whole: total
                case .unbounded: Int.max
                }
            guard state.used + bytes <= bound else { return false }
            use(bytes, &state)
            return true
        }
    }

    /// Some of what a body took is not needed yet. It keeps the right to overdraw.
    package func trim(_ bytes: Int) {
        giveBack(bytes, endOf: nil)
    }

    /// The body is whole: what it took too much goes back, and another one may overdraw.
    package func settle(_ surplus: Int, body: ObjectIdentifier) {
        giveBack(surplus, endOf: body)
    }

    /// The body is gone.
    package func release(_ bytes: Int, body: ObjectIdentifier) {
        giveBack(bytes, endOf: body)
    }

    /// Calls `release`, from any thread, whenever there is room again after a refusal, and `shortage` when
    /// a connection is refused for the first time since.
    package func listen(
        shortage: @escaping @Sendable () -> Void = {}, release: @escaping @Sendable () -> Void
    ) {
        listeners.withLock { $0.append(Listener(shortage: shortage, release: release)) }
    }

    /// With the lock held.
    private func use(_ bytes: Int, _ state: inout State) {
        state.used += bytes
        let isHalf = state.used > total / 2
        if isHalf != halfTaken.load(ordering: .relaxed) { halfTaken.store(isHalf, ordering: .relaxed) }
    }

    private func giveBack(_ bytes: Int, endOf body: ObjectIdentifier?) {
        let wake = state.withLock { state in
            use(-max(0, bytes), &state)
            let freed = body != nil && state.overdrawing == body
            if freed { state.overdrawing = nil }
            guard state.isShort, bytes > 0 || freed else { return false }
            state.isShort = false
            state.releases += 1
            return true
        }
        if wake { listeners.withLock { $0 }.forEach { $0.release() } }
    }
}
