/// The connections of an event loop beyond its limit: so many are accepted when every ordinary place is taken by a
/// connection that cannot be closed for another. The request of such a connection is read: a probe of health is
/// answered and the connection closed, any other request waits for an ordinary place. As long as there are these
/// places, probes are answered whatever the clients in the ordinary places do.
///
/// The places are never full: the connection that is closed for a new one is, in this order, the first that has been
/// answered, the first that waits, the first that has not sent a request.
package struct ReservedPlaces: Sendable {
    /// Connections without a complete request head, the oldest first.
    private var newcomers = IndexQueue()
    /// Connections with a request that waits for an ordinary place, the longest wait first.
    private var waiting = IndexQueue()
    /// Connections that were answered and are about to be closed.
    private var answered = IndexQueue()

    /// All places are free.
    package init() {}

    /// The number of connections in them.
    package var count: Int { newcomers.count + waiting.count + answered.count }

    /// The connection that is closed for a new one if all places are taken, or nil.
    package var first: Int32? { answered.first ?? waiting.first ?? newcomers.first }

    /// The connection that gets the next ordinary place; nil if none waits.
    package var firstWaiting: Int32? { waiting.first }

    /// True if `id` has one of these places.
    package func contains(_ id: Int32) -> Bool {
        guard count > 0 else { return false }
        return newcomers.contains(id) || waiting.contains(id) || answered.contains(id)
    }

    /// True if the request of `id` waits for an ordinary place.
    package func isWaiting(_ id: Int32) -> Bool { waiting.contains(id) }

    /// The number of connections accepted so far.
    package private(set) var accepted = 0

    /// `id` was accepted.
    package mutating func accept(_ id: Int32) {
        accepted &+= 1
        newcomers.append(id)
    }

    /// The request of `id` is not a probe, and there is no ordinary place for it.
    package mutating func wait(_ id: Int32) {
        guard newcomers.contains(id) else { return }
        newcomers.remove(id)
        waiting.append(id)
    }

    /// `id` was answered, with a refusal too.
    package mutating func answer(_ id: Int32) {
        guard contains(id), !answered.contains(id) else { return }
        remove(id)
        answered.append(id)
    }

    /// `id` was closed, or got an ordinary place.
    package mutating func remove(_ id: Int32) {
        guard count > 0 else { return }
        newcomers.remove(id)
        waiting.remove(id)
        answered.remove(id)
    }
}
