package import SystemSupport

/// The effects that the shell carries out after an event, once it has released the lock.
package struct LimiterEffects<Waiter> {
    /// Waiters whose wait has ended, in the order in which it ended.
    package var resume: [(waiter: Waiter, outcome: WaitOutcome)] = []
    /// Wake the state machine at an instant, instead of at the one asked for before.
    package var timer: TimerRequest?
    /// The drain is complete: nothing is in flight or waiting, and nothing will be.
    package var drained = false

    package init() {}
}

/// A wish to be called back with `timerFired(epoch:)`. A later wish replaces it: the state machine ignores the epochs
/// before the last, so that a timer which could not be stopped in time does no harm.
package struct TimerRequest: Sendable, Hashable {
    package let at: MonotonicInstant
    package let epoch: UInt64

    package init(at: MonotonicInstant, epoch: UInt64) {
        self.at = at
        self.epoch = epoch
    }
}

/// The outcome of an arrival.
package enum Arrival: Sendable, Hashable {
    case admitted(Grant)
    case refused(AdmissionError)
    /// It is in the queue; `suspend` must follow, exactly once.
    case waiting(WaiterTicket)
}
