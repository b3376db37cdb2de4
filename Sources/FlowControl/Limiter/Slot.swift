internal import Synchronization
public import SystemSupport

/// One slot of an `InFlightLimiter`.
///
/// Hold it for as long as the work costs anything, which may be longer than the caller's interest in it: a cancelled
/// inference keeps its slot until the engine's callback has come. It may be handed from task to task; the slot comes
/// back at `release()` or with the last reference, whichever is first, and only once.
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

    /// Releases the slot, to the oldest waiter if there is one. Calls after the first do nothing. Callable from any
    /// thread.
    public func release() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        limiter.finish(grant)
    }

    /// The time for which the request waited for this slot.
    public var waited: Duration { .nanoseconds(clamping: grant.waitedNanoseconds) }

    /// The same in nanoseconds.
    package var waitedNanoseconds: UInt64 { grant.waitedNanoseconds }

    /// The time when the slot was taken.
    public var acquiredAt: MonotonicInstant { grant.since }
}
