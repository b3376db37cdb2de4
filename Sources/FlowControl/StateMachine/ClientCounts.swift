package import SystemSupport

/// The number of requests that each client has in flight, and the number that it sent lately.
///
/// Rates follow the generic cell rate algorithm (ITU-T I.371): each request moves the client's due time by one
/// interval, and it may be a second ahead: a client that was silent may send a second's worth at once.
package struct ClientCounts: Sendable {
    private struct Entry: Sendable {
        var inFlight = 0
        /// The time when the next request would be due at the permitted rate.
        var due = MonotonicInstant(nanoseconds: 0)
    }

    private var entries: [UInt64: Entry] = [:]
    private var sweptAt = MonotonicInstant(nanoseconds: 0)
    /// More clients are not counted: memory is bounded whatever addresses there are.
    package static let most = 16_384
    private static let second: UInt64 = 1_000_000_000

    package init() {}

    /// Clients that are counted.
    package var count: Int { entries.count }

    /// Requests that the client has in flight.
    package func inFlight(of client: UInt64) -> Int { entries[client]?.inFlight ?? 0 }

    /// A request comes. Nanoseconds after which it may come again, where the client has sent more than `rate` a second;
    /// else nil.
    package mutating func arrive(_ client: UInt64, rate: Double, at now: MonotonicInstant) -> UInt64? {
        let interval = UInt64(min(max(1e9 / rate, 1), 3.6e12))
        guard makeRoom(for: client, at: now) else { return nil }
        let due = max(entries[client]?.due ?? now, now)
        let ahead = due.nanoseconds(since: now)
        // At least one at a time, however low the rate is.
        let most = max(Self.second, interval)
        if ahead &+ interval > most { return ahead &+ interval &- most }
        entries[client, default: Entry()].due = due + .nanoseconds(Int64(interval))
        return nil
    }

    /// A request begins, unless the client has `most` in flight: then false. If true, ``leave(_:)`` must follow.
    package mutating func enter(_ client: UInt64, most: Int, at now: MonotonicInstant) -> Bool {
        guard makeRoom(for: client, at: now) else { return true }
        guard inFlight(of: client) < most else { return false }
        entries[client, default: Entry()].inFlight += 1
        return true
    }

    package mutating func leave(_ client: UInt64) {
        guard let entry = entries[client], entry.inFlight > 0 else { return }
        entries[client]?.inFlight -= 1
    }

    /// True if the client can be counted. Forgets those who have nothing in flight and are not ahead, once a second at
    /// most.
    private mutating func makeRoom(for client: UInt64, at now: MonotonicInstant) -> Bool {
        if entries[client] != nil || entries.count < Self.most { return true }
        guard now.nanoseconds(since: sweptAt) >= Self.second else { return false }
        sweptAt = now
        entries = entries.filter { $0.value.inFlight > 0 || $0.value.due > now }
        return entries.count < Self.most
    }
}
