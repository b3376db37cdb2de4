internal import Synchronization
internal import SystemSupport

/// The memory of all bodies together, over all event loops: resident bytes, not announced ones.
///
/// Bodies take memory as their bytes arrive. This alone could fill the budget with bodies that are incomplete and wait
/// for more. So one body at a time, the first that found no memory, may use a reserve that holds one body of the
/// maximum size: it can always be completed, is then handled, and releases its memory. The limit is strict, and one
/// connection always makes progress, provided that a slow sender does not keep the reserve: see `EventLoop.relieve`.
///
/// Small and short requests for memory still succeed when the others have none left:
///
/// | who | may use |
/// | --- | --- |
/// | a large body that nothing is held of yet, or one whose length is not known (chunked) | five eighths of what is not the reserve |
/// | one that has begun | three quarters of it: many that begin and stop do not hold up those that go on |
/// | a body whose length is known and small | all of it |
/// | a body whose last byte has arrived | that, and half of the reserve |
/// | what has come of bodies with their heads, and waits for room | an eighth of everything |
///
/// The share of the reserve of a body that overdraws does not count there: it may use everything. Nor does the last row
/// count in the first two.
package final class ByteBudget: Sendable {
    private struct State {
        var used = 0
        var overdrawing: ObjectIdentifier?
        /// The bytes of the reserve that the overdrawing body has.
        var overdrawn = 0
        /// The bytes of bodies that came with their heads and wait for room. Part of `used`.
        var beginnings = 0
        var isShort = false
        var releases = 0
    }

    private let total: Atomic<Int>
    private let largest: Atomic<Int>
    private let state = Guarded(State())
    private let halfTaken = Atomic<Bool>(false)
    /// True if a body overdraws. Written with the lock held.
    private let isOverdrawn = Atomic<Bool>(false)
    private let subscribers = Guarded<[Subscriber]>([])

    /// The functions to call when there is too little, and when there is room again.
    private struct Subscriber: Sendable {
        let shortage: @Sendable () -> Void
        let release: @Sendable () -> Void
    }

    /// A budget of `total` bytes for bodies of at most `largest` bytes.
    package init(total: Int, largest: Int) {
        self.total = Atomic(total)
        self.largest = Atomic(largest)
    }

    /// The limit of all bodies together, and of one body. Read for each head, without the lock.
    package var limits: (total: Int, largest: Int) {
        (total.load(ordering: .relaxed), largest.load(ordering: .relaxed))
    }

    /// The bytes that are kept for the body that overdraws.
    private var reserve: Int { min(largest.load(ordering: .relaxed), total.load(ordering: .relaxed)) }
    /// The bytes that bodies have without the reserve.
    private var ordinary: Int { total.load(ordering: .relaxed) - reserve }
    /// Bodies up to this length are small.
    private var small: Int { max(64 << 10, total.load(ordering: .relaxed) / 256) }

    /// Changes the limits. Bytes in use stay in use: above a lower limit nothing is granted until enough has been
    /// released.
    package func use(total: Int, largest: Int) {
        self.largest.store(largest, ordering: .relaxed)
        guard self.total.exchange(total, ordering: .relaxed) < total else { return }
        let wake = state.withLock { state in
            guard state.isShort else { return false }
            state.isShort = false
            state.releases += 1
            return true
        }
        if wake { subscribers.withLock { $0 }.forEach { $0.release() } }
    }

    /// Bytes in use.
    package var used: Int { state.withLock { $0.used } }

    /// True if more than half of it is in use. Read for each head, without the lock.
    package var isHalfTaken: Bool { halfTaken.load(ordering: .relaxed) }

    /// True if a connection was refused since bytes were last released.
    package var isShort: Bool { state.withLock { $0.isShort } }

    /// The number of times that bytes were released while a connection waited for them: shows whether there is
    /// progress.
    package var releases: Int { state.withLock { $0.releases } }

    /// The claim of a body: how much of the budget it may use.
    package enum Claim: Sendable {
        /// It is large, or its length is not known, and nothing is held of it.
        case beginning
        /// The same, when some of it is held.
        case large
        /// Its length is known, and small.
        case small
        /// Its last byte has arrived: it no longer depends on its client, and releases its bytes when it has been
        /// handled.
        case arrived
    }

    /// The claim of a body of at most `length` bytes, as long as its last byte has not arrived. `hasBegun`: some of it
    /// is held.
    package func claim(ofLength length: Int, hasBegun: Bool) -> Claim {
        length <= small ? .small : hasBegun ? .large : .beginning
    }

    /// Takes `bytes` for a body. False: there is no room now; the subscribers are called when there is, unless the body
    /// does not need the bytes (`isOptional`).
    package func take(
        _ bytes: Int, for claim: Claim, isOptional: Bool = false, body: ObjectIdentifier
    ) -> Bool {
        let (taken, isNew) = state.withLock { state -> (Bool, Bool) in
            let bound =
                switch claim {
                case .beginning: ordinary - ordinary / 8 * 3
                case .large: ordinary - ordinary / 4
                case .small: ordinary
                case .arrived: ordinary + reserve / 2
                }
            let fits = state.used + bytes <= limits.total
            // What waits has a bound of its own: it must not hold up those it waits for.
            let beside = claim == .large || claim == .beginning ? state.beginnings : 0
            let excess = state.used - state.overdrawn - beside + bytes - bound
            if fits, excess <= 0 {
                use(bytes, &state)
                return (true, false)
            }
            if isOptional { return (false, false) }
            if fits, state.overdrawing == nil || state.overdrawing == body {
                state.overdrawing = body
                isOverdrawn.store(true, ordering: .relaxed)
                state.overdrawn += min(bytes, excess)
                use(bytes, &state)
                return (true, false)
            }
            defer { state.isShort = true }
            return (false, !state.isShort)
        }
        if isNew { subscribers.withLock { $0 }.forEach { $0.shortage() } }
        return taken
    }

    /// The share of the budget that anything but a body may use.
    package enum Share: Sendable {
        /// Half of what bodies have.
        case half
        /// All of it.
        case whole
        /// More than the limit: admitted work continues.
        case unbounded
    }

    /// Takes `bytes` for anything but a body, or releases them if negative.
    /// - Parameter beginnings: how much more of a body is held that came with its head and waits for room, or less.
    /// - Returns: false if there is no room for more of one or the other; then nothing is changed.
    package func changeBeside(_ bytes: Int, beginnings: Int = 0, _ share: Share = .unbounded) -> Bool {
        let isTaken = state.withLock { state in
            let bound =
                switch share {
                case .half: ordinary / 2
                case .whole: limits.total
                case .unbounded: Int.max
                }
            if bytes > 0, bound < state.used + bytes { return false }
            if beginnings > 0, share != .unbounded, state.beginnings + beginnings > mostBeginnings { return false }
            state.beginnings += beginnings
            if bytes > 0 { use(bytes, &state) }
            return true
        }
        if isTaken, bytes < 0 { giveBack(-bytes, of: nil) }
        return isTaken
    }

    /// Enough that some can wait, however small the budget is.
    private var mostBeginnings: Int {
        let total = total.load(ordering: .relaxed)
        return max(total / 8, min(total / 4, 512 << 10))
    }

    /// Releases bytes that a body does not need yet. It keeps the right to exceed the budget.
    package func trim(_ bytes: Int, body: ObjectIdentifier) {
        giveBack(bytes, of: body)
    }

    /// The body is complete: its surplus is released, and another body may exceed the budget.
    package func complete(_ surplus: Int, body: ObjectIdentifier) {
        // Without the lock for all that have nothing to give back. One that overdraws began to in its own `take`, on
        // this thread, and only its own end changes that: it finds true here, whatever the others do.
        guard surplus > 0 || isOverdrawn.load(ordering: .relaxed) else { return }
        giveBack(surplus, of: body, isEnd: true)
    }

    /// The body has been released.
    package func release(_ bytes: Int, body: ObjectIdentifier) {
        giveBack(bytes, of: body, isEnd: true)
    }

    /// Calls `release`, from any thread, whenever there is room again after a refusal, and `shortage` at the first
    /// refusal after that.
    package func listen(
        shortage: @escaping @Sendable () -> Void = {}, release: @escaping @Sendable () -> Void
    ) {
        subscribers.withLock { $0.append(Subscriber(shortage: shortage, release: release)) }
    }

    /// With the lock held.
    private func use(_ bytes: Int, _ state: inout State) {
        state.used += bytes
        let isHalf = state.used > limits.total / 2
        if isHalf != halfTaken.load(ordering: .relaxed) { halfTaken.store(isHalf, ordering: .relaxed) }
    }

    private func giveBack(_ bytes: Int, of body: ObjectIdentifier?, isEnd: Bool = false) {
        let wake = state.withLock { state in
            use(-max(0, bytes), &state)
            let overdraws = body != nil && state.overdrawing == body
            if overdraws { state.overdrawn = isEnd ? 0 : max(0, state.overdrawn - max(0, bytes)) }
            let freed = overdraws && isEnd
            if freed {
                state.overdrawing = nil
                isOverdrawn.store(false, ordering: .relaxed)
            }
            guard state.isShort, bytes > 0 || freed else { return false }
            state.isShort = false
            state.releases += 1
            return true
        }
        if wake { subscribers.withLock { $0 }.forEach { $0.release() } }
    }
}
