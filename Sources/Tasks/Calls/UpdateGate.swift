internal import HTTPWire
internal import Synchronization
internal import WireFormats

/// Admits one update at a time, because an update computes for long and holds its examples in memory. Thread-safe.
package final class UpdateGate: Sendable {
    private let isTaken = Atomic(false)

    package init() {}

    /// Begins an update.
    /// - Throws: `overloaded` if another update is in progress.
    func enter() throws(ServiceError) {
        try check()
        guard !isTaken.exchange(true, ordering: .acquiring) else { throw Self.refusal }
    }

    func leave() { isTaken.store(false, ordering: .releasing) }

    /// Throws if another update is in progress, to refuse a request before its body is sent.
    func check() throws(ServiceError) {
        guard !isTaken.load(ordering: .relaxed) else { throw Self.refusal }
    }

    private static var refusal: ServiceError {
        ServiceError(.overloaded, "another update is under way: one is done at a time", retryAfter: 5)
    }
}
