/// The time that clients have had, in virtual time: start-time fair queueing (Goyal, Vin, Cheng, 1996).
///
/// The client whose next request starts first in virtual time is served next. A request moves its client's start by
/// what it is expected to cost; when its slot comes back, by the difference to the time for which it was held. So
/// clients share time, however many requests or connections they have, and one that was idle is neither paid nor
/// punished for it.
///
/// Clients are numbers below ``count``, to which their names are hashed: memory is bounded whatever addresses clients
/// make up, and the few that share a number share its time (stochastic fairness queueing, McKenney, 1990).
package struct ClientShares: Sendable {
    /// Numbers that clients may have: 0 up to, and without, this one.
    package static let count = 1024

    private struct Client: Sendable {
        /// The time when its next request starts, in nanoseconds of virtual time.
        var start: Int64 = 0
        /// Requests that wait or hold a slot.
        var requests = 0
    }

    /// Grows with the greatest number in use.
    private var clients: [Client] = []
    /// The latest start of a request that was served.
    private var now: Int64 = 0

    package init() {}

    /// The time when the client's next request starts.
    package func start(of client: Int) -> Int64 { client < clients.count ? clients[client].start : now }

    /// The most nanoseconds that a client whose requests found slots free may be ahead of the others when there is a
    /// queue: about as much as requests under way account for, so that one whose last waiter has just been served loses
    /// nothing.
    private static let mostSaved: Int64 = 200_000_000

    /// A request of the client comes. A client has no claim to time that it did not ask for: one without requests
    /// begins now, one whose requests all have slots a little before.
    package mutating func begin(_ client: Int, hasWaiters: Bool) {
        if client >= clients.count {
            clients.append(contentsOf: repeatElement(Client(), count: client + 1 - clients.count))
        }
        if clients[client].requests == 0 { clients[client].start = max(clients[client].start, now) }
        if !hasWaiters { clients[client].start = max(clients[client].start, now - Self.mostSaved) }
        clients[client].requests += 1
    }

    /// A request of the client is given a slot.
    package mutating func serve(_ client: Int, cost: UInt64) {
        guard client < clients.count else { return }
        now = max(now, clients[client].start)
        clients[client].start &+= Self.clamped(cost)
    }

    /// A slot comes back that was expected to be held for `cost` nanoseconds, and was for `spent`.
    package mutating func correct(_ client: Int, cost: UInt64, spent: UInt64) {
        guard client < clients.count else { return }
        clients[client].start &+= Self.clamped(spent) &- Self.clamped(cost)
    }

    /// The client had work done for so many nanoseconds without a request here.
    package mutating func charge(_ client: Int, _ spent: UInt64) {
        begin(client, hasWaiters: true)
        clients[client].start &+= Self.clamped(spent)
        end(client)
    }

    /// A request of the client is over: its slot has come back, or it left without one.
    package mutating func end(_ client: Int) {
        guard client < clients.count else { return }
        clients[client].requests -= 1
    }

    /// An hour at most: sums of a thousand years do not overflow.
    private static func clamped(_ nanoseconds: UInt64) -> Int64 { Int64(min(nanoseconds, 3_600_000_000_000)) }
}
