import Synchronization

/// The maximum number of connections at once. It may change while the server runs.
final class ConnectionLimit: Sendable {
    private let loops: Int
    private let most: Atomic<Int>

    /// - Parameter loops: the event loops, which have equal shares.
    init(_ most: Int, loops: Int) {
        self.loops = max(1, loops)
        self.most = Atomic(most)
    }

    /// The connections of one event loop: at least one.
    var perLoop: Int { max(1, most.load(ordering: .relaxed) / loops) }
    /// The connections of all event loops.
    var total: Int { perLoop * loops }

    /// Another limit counts from now on. Those that are too many go as new ones come.
    func use(_ most: Int) { self.most.store(most, ordering: .relaxed) }
}
