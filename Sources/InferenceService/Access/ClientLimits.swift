internal import FlowControl
internal import Settings
internal import Synchronization
internal import SystemSupport

/// Refuses the requests of clients that send more than the settings permit (`client_in_flight`, `client_rate`).
final class ClientLimits: Sendable {
    private let counts = Mutex(ClientCounts())

    /// A place among the requests that its client has in flight.
    struct Place: Sendable {
        fileprivate let limits: ClientLimits
        fileprivate let client: UInt64

        /// Exactly once.
        func leave() { limits.counts.withLock { $0.leave(client) } }
    }

    /// Counts a request whose head has come.
    func check(_ client: ClientIdentity, _ settings: Settings) throws(ServiceError) {
        guard settings.clientRate > 0 || settings.clientInFlight > 0 else { return }
        let now = MonotonicInstant.now
        let (isBusy, wait) = counts.withLock { counts -> (Bool, UInt64?) in
            if settings.clientInFlight > 0, counts.inFlight(of: client.number) >= settings.clientInFlight {
                return (true, nil)
            }
            guard settings.clientRate > 0 else { return (false, nil) }
            return (false, counts.arrive(client.number, rate: Double(settings.clientRate), at: now))
        }
        if isBusy { throw Self.busy(settings) }
        guard let wait else { return }
        throw ServiceError(
            .tooManyRequests,
            "this client has sent more than \(settings.clientRate) requests a second (client_rate)",
            retryAfter: 1 + Int(clamping: wait / 1_000_000_000), label: "client_rate")
    }

    /// A request begins; nil where their number is not limited.
    func enter(_ client: ClientIdentity?, _ settings: Settings) throws(ServiceError) -> Place? {
        guard let client, settings.clientInFlight > 0 else { return nil }
        let now = MonotonicInstant.now
        guard counts.withLock({ $0.enter(client.number, most: settings.clientInFlight, at: now) }) else {
            throw Self.busy(settings)
        }
        return Place(limits: self, client: client.number)
    }

    private static func busy(_ settings: Settings) -> ServiceError {
        ServiceError(
            .tooManyRequests,
            "this client has \(settings.clientInFlight) requests in flight, the maximum (client_in_flight)",
            retryAfter: 1,
            label: "client_in_flight")
    }
}
