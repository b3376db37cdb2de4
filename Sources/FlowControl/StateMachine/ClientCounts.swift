package import SystemSupport

/// Counts the requests in flight of each client, and limits their rate.
///
/// Rates follow the generic cell rate algorithm (ITU-T I.371): each request advances the client's due time by one
/// interval, up to one second ahead: a client that was silent may send a second's worth at once.
package struct ClientCounts: Sendable {
    private struct Entry: Sendable {
        var inFlight = 0
        /// The time when the next request is due at the permitted rate.
        var due = MonotonicInstant(nanoseconds: 0)
    }

    private var entries: [UInt64: Entry] = [:]
    private var lastSweep = MonotonicInstant(nanoseconds: 0)
    /// The maximum number of clients counted: it bounds the memory for any number of addresses.
    package static let maximum = 16_384
    private static let second: UInt64 = 1_000_000_000

    package init() {}

    /// The number of clients counted.
    package var count: Int { entries.count }

    /// The number of requests that the client has in flight.
    package func inFlight(of client: UInt64) -> Int { entries[client]?.inFlight ?? 0 }

    /// Counts an arrival. Returns nil, or if the client exceeds `rate` per second the time in nanoseconds after which
    /// it may send again.
    package mutating func arrive(_ client: UInt64, rate: Double, at now: MonotonicInstant) -> UInt64? {
        let interval = UInt64(min(max(1e9 / rate, 1), 3.6e12))
        guard makeRoom(for: client, at: now) else { return nil }
        let due = max(entries[client]?.due ?? now, now)
        let ahead = due.nanoseconds(since: now)
        // At least one request at a time, for any rate.
        let maximum = max(Self.second, interval)
        if ahead &+ interval > maximum { return ahead &+ interval &- maximum }
        entries[client, default: Entry()].due = due + .nanoseconds(Int64(interval))
        return nil
    }

    /// Counts the start of a request; returns false if the client has `maximum` in flight. After true, call
    /// ``leave(_:)``.
    package mutating func enter(_ client: UInt64, maximum: Int, at now: MonotonicInstant) -> Bool {
        guard makeRoom(for: client, at: now) else { return true }
        guard inFlight(of: client) < maximum else { return false }
        entries[client, default: Entry()].inFlight += 1
        return true
    }

    package mutating func leave(_ client: UInt64) {
        guard let entry = entries[client], entry.inFlight > 0 else { return }
        entries[client]?.inFlight -= 1
    }

    /// True if the client can be counted. Removes clients that have no request in flight and are not ahead of their
    /// rate, at most once a second.
    private mutating func makeRoom(for client: UInt64, at now: MonotonicInstant) -> Bool {
        if entries[client] != nil || entries.count < Self.maximum { return true }
        guard now.nanoseconds(since: lastSweep) >= Self.second else { return false }
        lastSweep = now
        entries = entries.filter { $0.value.inFlight > 0 || $0.value.due > now }
        return entries.count < Self.maximum
    }
}
