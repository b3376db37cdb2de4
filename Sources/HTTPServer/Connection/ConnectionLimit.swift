import Synchronization

/// The maximum number of connections at the same time. It may change while the server runs. Safe to use from any
/// thread.
final class ConnectionLimit: Sendable {
    private let loops: Int
    private let maximum: Atomic<Int>

    /// - Parameter loops: the number of event loops; each gets an equal share.
    init(_ maximum: Int, loops: Int) {
        self.loops = max(1, loops)
        self.maximum = Atomic(maximum)
    }

    /// The maximum of one event loop: at least 1.
    var perLoop: Int { max(1, maximum.load(ordering: .relaxed) / loops) }
    /// The maximum of all event loops together.
    var total: Int { perLoop * loops }

    /// Changes the maximum. Connections above a lower maximum are closed only as new ones arrive.
    func use(_ maximum: Int) { self.maximum.store(maximum, ordering: .relaxed) }
}
