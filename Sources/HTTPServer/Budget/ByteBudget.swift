internal import Synchronization
internal import SystemSupport

/// Limits the memory of all bodies together, over all event loops. It counts resident bytes, not announced ones.
///
/// Bodies take memory as their bytes arrive. By itself, this rule could fill the budget with incomplete bodies that all
/// wait for more. So one body at a time, the first that found no memory, may use a reserve of the size of the largest
/// body: this body can always be completed, is then handled, and releases its memory. The limit is strict, and at least
/// one connection always makes progress, provided that a slow client does not keep the reserve (see
/// `EventLoop.relieve`).
///
/// Small bodies and bodies that have arrived still get memory when large ones find none:
///
/// | body | may use |
/// | --- | --- |
/// | large or of unknown length (chunked), and nothing of it is held yet | five eighths of the budget without the reserve |
/// | large or of unknown length, begun | three quarters of it, so that bodies that begin and stop do not block those that continue |
/// | of a known small length | all of it |
/// | its last byte has arrived | all of it and half of the reserve |
/// | bytes that arrived with the heads of bodies that wait for room | an eighth of the total (more if the total is small) |
///
/// The bytes of the reserve that the overdrawing body has do not count against these shares; that body may use the
/// whole total. The bytes of the last row do not count in the first two rows.
package final class ByteBudget: Sendable {
    private struct State {
        var used = 0
        var overdrawing: ObjectIdentifier?
        /// The bytes of the reserve that the overdrawing body uses.
        var overdrawn = 0
        /// The bytes that arrived with the heads of bodies that wait for room. Included in `used`.
        var beginnings = 0
        var isShort = false
        var releases = 0
    }

    private let total: Atomic<Int>
    private let largest: Atomic<Int>
    private let state = Guarded(State())
    private let halfUsed = Atomic<Bool>(false)
    /// True if a body overdraws. Written only with the lock held.
    private let isOverdrawn = Atomic<Bool>(false)
    private let subscribers = Guarded<[Subscriber]>([])

    /// Functions to call when a request for memory fails, and when memory is free again.
    private struct Subscriber: Sendable {
        let shortage: @Sendable () -> Void
        let release: @Sendable () -> Void
    }

    /// A budget of `total` bytes for bodies of at most `largest` bytes.
    package init(total: Int, largest: Int) {
        self.total = Atomic(total)
        self.largest = Atomic(largest)
    }

    /// The limit of all bodies together, and of one body. Read for each head, so it takes no lock.
    package var limits: (total: Int, largest: Int) {
        (total.load(ordering: .relaxed), largest.load(ordering: .relaxed))
    }

    /// The bytes reserved for the body that overdraws.
    private var reserve: Int { min(largest.load(ordering: .relaxed), total.load(ordering: .relaxed)) }
    /// The bytes for all other bodies.
    private var ordinary: Int { total.load(ordering: .relaxed) - reserve }
    /// The largest length of a small body.
    private var small: Int { max(64 << 10, total.load(ordering: .relaxed) / 256) }

    /// Changes the limits. Bytes in use stay in use: above a lower limit no memory is granted until enough is released.
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

    /// True if more than half of the budget is in use. Read for each head, so it takes no lock.
    package var isHalfUsed: Bool { halfUsed.load(ordering: .relaxed) }

    /// True if a request for memory was refused since memory was last released.
    package var isShort: Bool { state.withLock { $0.isShort } }

    /// The number of times that bytes were released while a connection waited for them; a sign of progress.
    package var releases: Int { state.withLock { $0.releases } }

    /// The kind of a body, which decides how much of the budget it may use.
    package enum Claim: Sendable {
        /// Large or of unknown length, and none of it is held.
        case beginning
        /// Large or of unknown length, and some of it is held.
        case large
        /// Of a known, small length.
        case small
        /// Complete: its last byte has arrived, so it no longer depends on its client, and it releases its bytes when
        /// it has been handled.
        case arrived
    }

    /// The claim of a body of at most `length` bytes whose last byte has not arrived. `hasBegun`: some of it is held.
    package func claim(ofLength length: Int, hasBegun: Bool) -> Claim {
        length <= small ? .small : hasBegun ? .large : .beginning
    }

    /// Takes `bytes` for a body. Returns false if there is no room now. Then the subscribers are called when there is
    /// room, unless the body can do without the bytes (`isOptional`).
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
            // Waiting beginnings have their own limit. They must not block the bodies that they wait for.
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

    /// The share of the budget that bytes other than bodies may use.
    package enum Share: Sendable {
        /// Half of the budget without the reserve.
        case half
        /// The whole total.
        case whole
        /// No limit: work that was admitted continues.
        case unbounded
    }

    /// Takes `bytes` for something other than a body; releases them if negative.
    /// - Parameter beginnings: the change of the bytes that arrived with the heads of bodies that wait for room.
    /// - Returns: false if there is no room for one of the two; then nothing is changed.
    package func changeBoth(_ bytes: Int, beginnings: Int = 0, _ share: Share = .unbounded) -> Bool {
        let isTaken = state.withLock { state in
            let bound =
                switch share {
                case .half: ordinary / 2
                case .whole: limits.total
                case .unbounded: Int.max
                }
            if bytes > 0, bound < state.used + bytes { return false }
            if beginnings > 0, share != .unbounded, state.beginnings + beginnings > maximumBeginnings { return false }
            state.beginnings += beginnings
            if bytes > 0 { use(bytes, &state) }
            return true
        }
        if isTaken, bytes < 0 { giveBack(-bytes, of: nil) }
        return isTaken
    }

    /// The limit of `beginnings`. Not too small, so that some bodies can wait even with a small budget.
    private var maximumBeginnings: Int {
        let total = total.load(ordering: .relaxed)
        return max(total / 8, min(total / 4, 512 << 10))
    }

    /// Releases bytes that a body does not need yet. The body keeps its right to overdraw.
    package func trim(_ bytes: Int, body: ObjectIdentifier) {
        giveBack(bytes, of: body)
    }

    /// Marks the body as complete: releases its surplus, and lets another body overdraw.
    package func complete(_ surplus: Int, body: ObjectIdentifier) {
        // Most bodies have nothing to release and skip the lock. This is safe: only a body's own `take`, on this
        // thread, makes it overdraw, and only its own end changes that. So the overdrawing body always reads true here.
        guard surplus > 0 || isOverdrawn.load(ordering: .relaxed) else { return }
        giveBack(surplus, of: body, isEnd: true)
    }

    /// Releases the bytes of a body that was freed.
    package func release(_ bytes: Int, body: ObjectIdentifier) {
        giveBack(bytes, of: body, isEnd: true)
    }

    /// Registers a subscriber. `release` is called, from any thread, when there is room again after a refusal;
    /// `shortage` is called at the first refusal after that.
    package func listen(
        shortage: @escaping @Sendable () -> Void = {}, release: @escaping @Sendable () -> Void
    ) {
        subscribers.withLock { $0.append(Subscriber(shortage: shortage, release: release)) }
    }

    /// Changes `used`. Called with the lock held.
    private func use(_ bytes: Int, _ state: inout State) {
        state.used += bytes
        let isHalf = state.used > limits.total / 2
        if isHalf != halfUsed.load(ordering: .relaxed) { halfUsed.store(isHalf, ordering: .relaxed) }
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
