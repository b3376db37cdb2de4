import Synchronization
import SystemSupport

/// Counts the bytes of answers that clients have not read yet, over all event loops: bytes queued in this process and
/// bytes in the kernel's socket buffers.
///
/// An answer that exceeds the budget is not refused, because it exists already. Instead, `EventLoop.shed` closes the
/// connection that has made no progress for longest. Bytes given to the kernel are counted when a loop measures the
/// socket. Each loop measures before it has given the kernel more than `unseen` bytes since the last time, and that
/// many bytes of the budget stay reserved for each loop. So the limit is strict.
final class AnswerBudget: Sendable {
    private let bound: Atomic<Int>
    private let count = Atomic<Int>(0)

    private let loops: Int
    /// Calls each event loop to close clients that do not read; each calls `done`.
    private let shedders = Guarded<[@Sendable (_ done: @escaping @Sendable () -> Void) -> Void]>([])

    /// A budget of `total` bytes, shared by `loops` event loops.
    init(total: Int, loops: Int) {
        bound = Atomic(total)
        self.loops = max(1, loops)
    }

    /// The limit in bytes.
    var total: Int { bound.load(ordering: .relaxed) }

    /// Changes the limit, from any thread.
    func use(total: Int) { bound.store(total, ordering: .relaxed) }

    /// The counted bytes.
    var used: Int { count.load(ordering: .relaxed) }

    /// The number of bytes that one loop may give to the kernel before it measures its sockets again.
    var unseen: Int { total / 8 / loops }

    /// True if the counted bytes exceed the limit, less the eighth of it that is reserved for `unseen`.
    var isExceeded: Bool { used > total - total / 8 }

    /// Registers an event loop. `callback` is called, from any thread, when the loop must close clients that do not
    /// read.
    func listen(_ callback: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
        shedders.withLock { $0.append(callback) }
    }

    /// Asks all loops to close clients that do not read. Calls `done`, from any thread, when all loops have answered.
    func shedAll(_ done: @escaping @Sendable () -> Void) {
        let callbacks = shedders.withLock { $0 }
        let left = Guarded(callbacks.count)
        for callback in callbacks {
            callback {
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { done() }
            }
        }
    }

    /// Counts more bytes; a negative number releases them.
    func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
}
