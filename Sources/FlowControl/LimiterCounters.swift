/// What became of every request since the limiter was made. Counts only grow.
///
/// They add up at any moment: `arrived == admitted + refused + left + waiting`, and `admitted == released + inFlight`.
public struct LimiterCounters: Sendable, Hashable {
    /// Requests that asked for a slot (a `tryAcquire` that got none is not counted).
    public package(set) var arrived: UInt64 = 0

    /// Given a slot as they came.
    public package(set) var admittedAtOnce: UInt64 = 0
    /// Given a slot after a wait.
    public package(set) var admittedAfterWait: UInt64 = 0
    /// Slots given back.
    public package(set) var released: UInt64 = 0

    /// Refused as they came: the queue was full, or the predicted wait longer than the longest wait.
    public package(set) var refusedQueueFull: UInt64 = 0
    /// Refused as they came: overloaded, and no answer was predicted within the target.
    public package(set) var refusedOverloaded: UInt64 = 0
    /// Refused as they came: the deadline had passed.
    public package(set) var refusedDeadlineExceeded: UInt64 = 0
    /// Refused as they came: the deadline could not be met.
    public package(set) var refusedDeadlineUnreachable: UInt64 = 0
    /// Refused as they came: draining.
    public package(set) var refusedDraining: UInt64 = 0

    /// Left the queue: the longest wait was over.
    public package(set) var leftTimedOut: UInt64 = 0
    /// Left the queue: the deadline passed.
    public package(set) var leftDeadlineExceeded: UInt64 = 0
    /// Left the queue: a newer request took the place, the queue was made smaller, or overload began.
    public package(set) var leftDisplaced: UInt64 = 0
    /// Left the queue: waiters were refused too when draining.
    public package(set) var leftDraining: UInt64 = 0
    /// Left the queue, or came already so: the task was cancelled.
    public package(set) var leftCancelled: UInt64 = 0

    /// The most slots that were out at one time.
    public package(set) var mostInFlight = 0
    /// The most requests that waited at one time.
    public package(set) var mostWaiting = 0

    /// Time that the requests admitted after a wait had waited, all together, in nanoseconds.
    public package(set) var waitedNanoseconds: UInt64 = 0
    /// Time that the slots given back had been held, all together, in nanoseconds.
    public package(set) var servedNanoseconds: UInt64 = 0

    package init() {}

    /// Given a slot, at once or after a wait.
    public var admitted: UInt64 { admittedAtOnce &+ admittedAfterWait }

    /// Refused as they came.
    public var refused: UInt64 {
        refusedQueueFull &+ refusedOverloaded &+ refusedDeadlineExceeded &+ refusedDeadlineUnreachable
            &+ refusedDraining
    }

    /// Left the queue without a slot.
    public var left: UInt64 {
        leftTimedOut &+ leftDeadlineExceeded &+ leftDisplaced &+ leftDraining &+ leftCancelled
    }
}
