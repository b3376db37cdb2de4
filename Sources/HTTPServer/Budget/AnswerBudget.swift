import Synchronization

/// The bytes of answers that clients have not read yet, over all event loops.
///
/// An answer that does not fit is not refused, because it exists already. Instead, the connection that has made no progress for longest is closed:
/// see `EventLoop.hold`.
final class AnswerBudget: Sendable {
    private let bound: Atomic<Int>
    private let count = Atomic<Int>(0)

    init(total: Int) {
        bound = Atomic(total)
    }

    /// The bound.
    var total: Int { bound.load(ordering: .relaxed) }

    /// Another bound counts from now on.
    func use(total: Int) { bound.store(total, ordering: .relaxed) }

    /// Bytes that wait.
    var used: Int { count.load(ordering: .relaxed) }

    /// Counts bytes that wait from now on, or less than nothing for those that wait no more. Tells whether all is within
    /// the bound.
    func add(_ bytes: Int) -> Bool {
        count.add(bytes, ordering: .relaxed).newValue <= total
    }
}
