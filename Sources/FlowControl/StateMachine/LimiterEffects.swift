package import SystemSupport

/// The actions for the caller after an event, once it has released the lock.
package struct LimiterEffects<Waiter> {
    /// Waiters to resume, in the order in which their waits ended.
    package var resume: [(waiter: Waiter, outcome: WaitOutcome)] = []
    /// Set this timer instead of the previous one.
    package var timer: TimerRequest?
    /// The drain is complete: no request is in flight or waiting, and no other will be accepted.
    package var drained = false

    package init() {}
}

/// A request to be called back with `timerFired(epoch:)`. A later request replaces it: the state machine ignores
/// earlier epochs, so a timer that was not stopped in time does no harm.
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
