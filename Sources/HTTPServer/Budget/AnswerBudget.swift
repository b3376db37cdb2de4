import Synchronization
import SystemSupport

/// The bytes of answers that clients have not read yet, over all event loops: those that wait in this process, and
/// those that the kernel holds for them.
///
/// An answer that does not fit is not refused, because it exists already. Instead, the connection that has made no
/// progress for longest is closed: see `EventLoop.shed`. What was given to the kernel counts once a loop has measured
/// the socket. Each loop does so before it has given more than `unseen` since, which are kept free for it: the bound is
/// strict.
final class AnswerBudget: Sendable {
    private let bound: Atomic<Int>
    private let count = Atomic<Int>(0)

    private let loops: Int
    /// Asks each loop to close who does not read, and to call back.
    private let askers = Guarded<[@Sendable (_ done: @escaping @Sendable () -> Void) -> Void]>([])

    /// A budget of `total` bytes for so many event loops.
    init(total: Int, loops: Int) {
        bound = Atomic(total)
        self.loops = max(1, loops)
    }

    /// The bound.
    var total: Int { bound.load(ordering: .relaxed) }

    /// Another bound counts from now on.
    func use(total: Int) { bound.store(total, ordering: .relaxed) }

    /// Bytes that wait.
    var used: Int { count.load(ordering: .relaxed) }

    /// The number of bytes that one loop may give to the kernel before it measures how much of it clients have taken.
    var unseen: Int { total / 8 / loops }

    /// True if more is known to wait than may.
    var isExceeded: Bool { used > total - total / 8 }

    /// Has `ask` called, from any thread, when a loop needs the others to close who does not read.
    func listen(_ ask: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
        askers.withLock { $0.append(ask) }
    }

    /// Asks all loops to close who does not read. Calls back, from any thread, when all of them have.
    func askAll(_ done: @escaping @Sendable () -> Void) {
        let asked = askers.withLock { $0 }
        let left = Guarded(asked.count)
        for ask in asked {
            ask {
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { done() }
            }
        }
    }

    /// Counts bytes that wait from now on, or less than nothing for those that wait no more.
    func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
}
