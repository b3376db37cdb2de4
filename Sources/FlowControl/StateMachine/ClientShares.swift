/// The shares of clients in virtual time: start-time fair queueing (Goyal, Vin, Cheng, 1996).
///
/// The client whose next request starts first in virtual time is served next. A request advances its client's start by
/// its expected cost; when its slot is released, the start is corrected by the difference to the time for which it was
/// held. So clients share time, regardless of their number of requests or connections, and an idle client is neither
/// credited nor penalized.
///
/// Clients are numbers below ``count``, to which their names are hashed: memory is bounded for any number of addresses,
/// and the few clients with the same number share its time (stochastic fairness queueing, McKenney, 1990).
package struct ClientShares: Sendable {
    /// The number of client numbers: 0 up to, but not including, this one.
    package static let count = 1024

    private struct Client: Sendable {
        /// The virtual time at which its next request starts, in nanoseconds.
        var start: Int64 = 0
        /// The number of requests that wait or hold a slot.
        var requests = 0
    }

    /// Grows to the greatest number in use.
    private var clients: [Client] = []
    /// The latest start of any request that was served.
    private var now: Int64 = 0

    package init() {}

    /// The virtual time at which the client's next request starts.
    package func start(of client: Int) -> Int64 { client < clients.count ? clients[client].start : now }

    /// The maximum time, in nanoseconds, by which a client without waiters may be ahead of the others when a queue
    /// begins: about the cost of its requests in flight, so that a client whose last waiter was just served loses
    /// nothing.
    private static let maximumSaved: Int64 = 200_000_000

    /// Counts a request of the client that arrives. Unused time is not credited: a client without requests starts now,
    /// one without waiters at most `maximumSaved` before.
    package mutating func begin(_ client: Int, hasWaiters: Bool) {
        if client >= clients.count {
            clients.append(contentsOf: repeatElement(Client(), count: client + 1 - clients.count))
        }
        if clients[client].requests == 0 { clients[client].start = max(clients[client].start, now) }
        if !hasWaiters { clients[client].start = max(clients[client].start, now - Self.maximumSaved) }
        clients[client].requests += 1
    }

    /// Charges `cost` for a request of the client that gets a slot.
    package mutating func serve(_ client: Int, cost: UInt64) {
        guard client < clients.count else { return }
        now = max(now, clients[client].start)
        clients[client].start &+= Self.clamped(cost)
    }

    /// Corrects the charge for a released slot: it was expected to be held for `cost` nanoseconds, and was held for
    /// `spent`.
    package mutating func correct(_ client: Int, cost: UInt64, spent: UInt64) {
        guard client < clients.count else { return }
        clients[client].start &+= Self.clamped(spent) &- Self.clamped(cost)
    }

    /// Charges `spent` nanoseconds for work that was done for the client without a slot.
    package mutating func charge(_ client: Int, _ spent: UInt64) {
        begin(client, hasWaiters: true)
        clients[client].start &+= Self.clamped(spent)
        end(client)
    }

    /// Counts the end of a request: its slot is released, or it left without one.
    package mutating func end(_ client: Int) {
        guard client < clients.count else { return }
        clients[client].requests -= 1
    }

    /// The number, at most an hour, so that sums over a thousand years do not overflow.
    private static func clamped(_ nanoseconds: UInt64) -> Int64 { Int64(min(nanoseconds, 3_600_000_000_000)) }
}
