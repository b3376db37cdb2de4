/// The outcomes of all requests since the limiter was created. The counts only grow.
///
/// The counts are consistent at any moment: `arrived == admitted + refused + left + waiting`, and
/// `admitted == released + inFlight`.
public struct LimiterCounters: Sendable, Hashable {
    // The counts that every request changes come first.

    /// The number of requests for a slot (without failed calls of `tryAcquire`).
    public package(set) var arrived: UInt64 = 0

    /// The number of requests that got a slot on arrival.
    public package(set) var admittedAtOnce: UInt64 = 0
    /// The number of slots released.
    public package(set) var released: UInt64 = 0
    /// The total time for which the released slots were held, in nanoseconds.
    public package(set) var servedNanoseconds: UInt64 = 0
    /// The largest number of slots in use at one time.
    public package(set) var peakInFlight = 0

    /// The number of requests that got a slot after a wait.
    public package(set) var admittedAfterWait: UInt64 = 0
    /// The total time in the queue of the requests that were admitted after a wait, in nanoseconds.
    public package(set) var waitedNanoseconds: UInt64 = 0
    /// The largest number of requests in the queue at one time.
    public package(set) var peakWaiting = 0

    /// The number of requests refused on arrival because the queue was full, or the predicted wait exceeded the
    /// maximum.
    public package(set) var refusedQueueFull: UInt64 = 0
    /// The number of requests refused on arrival because of overload: no answer was predicted within the target.
    public package(set) var refusedOverloaded: UInt64 = 0
    /// The number of requests refused on arrival because the deadline had passed.
    public package(set) var refusedDeadlineExceeded: UInt64 = 0
    /// The number of requests refused on arrival because the deadline could not be met.
    public package(set) var refusedDeadlineUnreachable: UInt64 = 0
    /// The number of requests refused on arrival because of a drain.
    public package(set) var refusedDraining: UInt64 = 0

    /// The number of requests that left the queue because the maximum wait expired.
    public package(set) var leftTimedOut: UInt64 = 0
    /// The number of requests that left the queue because the deadline passed.
    public package(set) var leftDeadlineExceeded: UInt64 = 0
    /// The number of requests removed from the queue because a newer request replaced them, or the queue was shortened.
    public package(set) var leftDisplaced: UInt64 = 0
    /// The number of requests removed from the queue because draining refused the waiters too.
    public package(set) var leftDraining: UInt64 = 0
    /// The number of requests of cancelled tasks, in the queue or before.
    public package(set) var leftCancelled: UInt64 = 0

    package init() {}

    /// The number of requests that got a slot, at once or after a wait.
    public var admitted: UInt64 { admittedAtOnce &+ admittedAfterWait }

    /// The number of requests refused on arrival.
    public var refused: UInt64 {
        refusedQueueFull &+ refusedOverloaded &+ refusedDeadlineExceeded &+ refusedDeadlineUnreachable
            &+ refusedDraining
    }

    /// The number of requests that left the queue without a slot.
    public var left: UInt64 {
        leftTimedOut &+ leftDeadlineExceeded &+ leftDisplaced &+ leftDraining &+ leftCancelled
    }

    /// Counts a request that is refused on arrival.
    package mutating func count(refusal error: AdmissionError) {
        switch error {
        case .queueFull: refusedQueueFull &+= 1
        case .overloaded: refusedOverloaded &+= 1
        case .deadlineExceeded: refusedDeadlineExceeded &+= 1
        case .deadlineUnreachable: refusedDeadlineUnreachable &+= 1
        case .draining: refusedDraining &+= 1
        case .waitTimedOut, .displaced, .cancelled: assertionFailure("not a refusal")
        }
    }

    /// Counts a request that leaves the queue without a slot.
    package mutating func count(departure error: AdmissionError) {
        switch error {
        case .waitTimedOut: leftTimedOut &+= 1
        case .deadlineExceeded: leftDeadlineExceeded &+= 1
        case .displaced: leftDisplaced &+= 1
        case .draining: leftDraining &+= 1
        case .cancelled: leftCancelled &+= 1
        case .queueFull, .overloaded, .deadlineUnreachable: assertionFailure("not a departure")
        }
    }
}
