package import SystemSupport

/// A slot given: what `Slot` must remember to release it.
package struct Grant: Sendable, Hashable {
    /// When the slot was taken.
    package let since: MonotonicInstant
    /// How long the request had waited for it.
    package let waitedNanoseconds: UInt64

    package init(since: MonotonicInstant, waitedNanoseconds: UInt64) {
        self.since = since
        self.waitedNanoseconds = waitedNanoseconds
    }
}

/// What a wait ends with.
package typealias WaitOutcome = Result<Grant, AdmissionError>
