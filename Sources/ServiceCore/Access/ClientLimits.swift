internal import FlowControl
internal import Synchronization
internal import SystemSupport
package import WireFormats

/// Refuses the requests of clients that exceed the limits `client_in_flight` and `client_rate`. Thread-safe.
package final class ClientLimits: Sendable {
    private let counts = Mutex(ClientCounts())

    package init() {}

    /// One of a client's requests in flight.
    package struct Place: Sendable {
        fileprivate let limits: ClientLimits
        fileprivate let client: UInt64

        /// Ends the request. Call exactly once.
        package func leave() { limits.counts.withLock { $0.leave(client) } }
    }

    /// Counts a request when its head has arrived, and refuses it over a limit.
    /// - Parameters:
    ///   - rate: the limit in requests a second; 0 for none.
    ///   - maximum: the limit of requests in flight; 0 for none.
    package func check(_ client: ClientIdentity, rate: Int, maximum: Int) throws(ServiceError) {
        guard rate > 0 || maximum > 0 else { return }
        let now = MonotonicInstant.now
        let (isBusy, wait) = counts.withLock { counts -> (Bool, UInt64?) in
            if maximum > 0, counts.inFlight(of: client.number) >= maximum { return (true, nil) }
            guard rate > 0 else { return (false, nil) }
            return (false, counts.arrive(client.number, rate: Double(rate), at: now))
        }
        if isBusy { throw Self.busy(maximum) }
        guard let wait else { return }
        throw ServiceError(
            .tooManyRequests,
            "this client has sent more than \(rate) requests a second (client_rate)",
            retryAfter: 1 + Int(clamping: wait / 1_000_000_000), label: "client_rate")
    }

    /// Begins a request; returns nil if requests in flight are not limited.
    /// - Parameter maximum: the limit of requests in flight; 0 for none.
    package func enter(_ client: ClientIdentity?, maximum: Int) throws(ServiceError) -> Place? {
        guard let client, maximum > 0 else { return nil }
        let now = MonotonicInstant.now
        guard counts.withLock({ $0.enter(client.number, maximum: maximum, at: now) }) else { throw Self.busy(maximum) }
        return Place(limits: self, client: client.number)
    }

    private static func busy(_ maximum: Int) -> ServiceError {
        ServiceError(
            .tooManyRequests, "this client has \(maximum) requests in flight, the maximum (client_in_flight)",
            retryAfter: 1,
            label: "client_in_flight")
    }
}
