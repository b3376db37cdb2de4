package import SystemSupport

/// The data that a `Slot` needs to release itself.
package struct Grant: Sendable, Hashable {
    /// The time when the slot was taken.
    package let since: MonotonicInstant
    /// The time for which the request waited for it.
    package let waitedNanoseconds: UInt64
    /// The client that holds it, and its work.
    package let claim: Claim
    /// The cost charged to the client for it, in nanoseconds.
    package let cost: UInt64

    package init(since: MonotonicInstant, waitedNanoseconds: UInt64, claim: Claim = .usual, cost: UInt64 = 0) {
        self.since = since
        self.waitedNanoseconds = waitedNanoseconds
        self.claim = claim
        self.cost = cost
    }
}

package typealias WaitOutcome = Result<Grant, AdmissionError>
