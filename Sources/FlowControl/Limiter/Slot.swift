internal import Synchronization
public import SystemSupport

/// A slot of an `InFlightLimiter`.
///
/// Hold it for as long as the work uses resources, which may be longer than the caller waits for the result: a
/// cancelled inference keeps its slot until the engine's callback. It may be passed between tasks; it is released once,
/// by `release()` or with its last reference, whichever comes first.
public final class Slot: Sendable {
    private let limiter: InFlightLimiter
    private let grant: Grant
    private let isReleased = Atomic(false)

    init(limiter: InFlightLimiter, grant: Grant) {
        self.limiter = limiter
        self.grant = grant
    }

    deinit {
        release()
    }

    /// Releases the slot, to the next waiter if there is one. Further calls have no effect. Callable from any thread.
    public func release() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        limiter.finish(grant)
    }

    /// The time for which the request waited for this slot.
    public var waited: Duration { .nanoseconds(clamping: grant.waitedNanoseconds) }

    /// The time for which the request waited for this slot, in nanoseconds.
    package var waitedNanoseconds: UInt64 { grant.waitedNanoseconds }

    /// The time when the slot was taken.
    public var acquiredAt: MonotonicInstant { grant.since }
}
