/// The places of an event loop for connections: ordinary ones up to the limit, and reserved ones beyond it, as a value
/// without I/O. Decides which place a new connection gets, and when a request in a reserved place gets an ordinary one.
package struct Places: Sendable {
    /// The number of places at the moment: settings and the process's limit of open files may change.
    package struct Limits: Sendable {
        /// The ordinary places.
        package let ordinary: Int
        /// The reserved places: fewer where there are few descriptors.
        package let reserved: Int
        /// The lowest descriptor that connections leave to the rest of the process.
        package let ceiling: Int32

        package init(ordinary: Int, reserved: Int, ceiling: Int32) {
            self.ordinary = ordinary
            self.ceiling = ceiling
            // Ordinary connections keep their descriptors, and the process 256 for its own files.
            self.reserved = min(reserved, max(1, Int(ceiling / 8), Int(ceiling) - ordinary - 256))
        }
    }

    /// The place of a new connection.
    package enum Place: Sendable, Hashable {
        case ordinary, reserved
        /// A place of this kind, after another connection was closed for it.
        case ordinaryOfAnother, reservedOfAnother
    }

    /// The time between two searches for an ordinary place for requests that wait, in nanoseconds.
    private static let searchInterval: UInt64 = 50_000_000

    /// Connections beyond the limit, in reserved places.
    package private(set) var reserved = ReservedPlaces()
    /// The number of open connections.
    package private(set) var open = 0
    /// The time of the next search for an ordinary place; nil if no request waits for one.
    package private(set) var searchAt: UInt64?
    /// The `now` of the turn in which no connection could be closed.
    private var noRoomAt: UInt64?

    /// All places are free.
    package init() {}

    /// The number of connections in ordinary places.
    package var ordinary: Int { open - reserved.count }

    // MARK: Connections

    /// The place for a new connection. `lacksOrdinary`: no connection could be closed for it.
    package func place(for descriptor: Int32, _ limits: Limits, lacksOrdinary: Bool = false) -> Place {
        // Requests that wait for an ordinary place get it first.
        if reserved.firstWaiting == nil, !lacksOrdinary {
            return hasRoom(descriptor, limits) ? .ordinary : .ordinaryOfAnother
        }
        let isFull = reserved.count >= limits.reserved || descriptor >= limits.ceiling
        return isFull ? .reservedOfAnother : .reserved
    }

    /// True if a second connection must be closed for a new one: the limit was lowered.
    package func isOverfull(_ limits: Limits) -> Bool { ordinary >= limits.ordinary }

    /// A connection was accepted.
    package mutating func opened(_ id: Int32, isReserved: Bool) {
        open += 1
        if isReserved { reserved.accept(id) }
    }

    /// A connection was closed.
    package mutating func closed(_ id: Int32) {
        open -= 1
        reserved.remove(id)
    }

    /// A connection was answered, with a refusal too.
    package mutating func answered(_ id: Int32) { reserved.answer(id) }

    /// True if there is an ordinary place for a connection. Some descriptors are left for the reserved places, except
    /// by the first connection: a process that may open few files serves at least one client.
    /// - Parameter descriptor: the lowest that is free, or was when the connection was accepted: all below it are in
    ///   use.
    package func hasRoom(_ descriptor: @autoclosure () -> Int32, _ limits: Limits) -> Bool {
        guard ordinary < limits.ordinary else { return false }
        return descriptor() < limits.ceiling - (ordinary > 0 ? Int32(clamping: limits.reserved) : 0)
    }

    /// True unless a search in this turn found no connection to close. A search looks at many connections.
    package func maySearch(now: UInt64) -> Bool { noRoomAt != now }

    /// A search found no connection to close.
    package mutating func foundNone(now: UInt64) { noRoomAt = now }

    // MARK: Requests in reserved places

    /// The request of a connection in a reserved place is whole, and no probe. Returns whether it gets an ordinary
    /// place now; else it waits for one.
    package mutating func begin(_ id: Int32, _ descriptor: @autoclosure () -> Int32, _ limits: Limits) -> Bool {
        guard reserved.firstWaiting == nil, hasRoom(descriptor(), limits) else {
            reserved.wait(id)
            return false
        }
        reserved.remove(id)
        return true
    }

    /// True if a connection may be closed now for the first request that waits.
    package func isSearchDue(now: UInt64) -> Bool { searchAt ?? 0 <= now }

    /// The first request that waits got no place.
    package mutating func postpone(now: UInt64) {
        if isSearchDue(now: now) { searchAt = now &+ Self.searchInterval }
    }

    /// The first request that waits gets an ordinary place. Returns its connection.
    package mutating func give() -> Int32? {
        guard let id = reserved.firstWaiting else { return nil }
        reserved.remove(id)
        return id
    }

    /// Ends a round of ``give()``: the next one is due at `time`; nil if no request waits.
    package mutating func endRound(next time: UInt64?) { searchAt = time }
}
