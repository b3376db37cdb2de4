import CSystem
import Synchronization
import SystemSupport

/// The queue of messages to an event loop, and the eventfd that wakes the loop. Any thread may post.
///
/// The eventfd is written only if the loop sleeps or is about to, and a turn of the loop without mail takes no lock. A
/// thread that posts increments `count` and then reads `asleep`; the loop sets `asleep` and then reads `count`. Both
/// are sequentially consistent, so at least one of them sees the other's write.
final class Mailbox: Sendable {
    private let messages = Guarded<[LoopMessage]>([])
    private let count = Atomic<Int>(0)
    private let asleep = Atomic<Bool>(false)
    /// The eventfd, for epoll.
    let descriptor: Int32

    /// A mailbox with a new eventfd.
    init() throws(HTTPServerError) {
        descriptor = csys_eventfd()
        guard descriptor >= 0 else { throw .system(operation: "eventfd", errno: -descriptor) }
    }

    deinit {
        csys_close(descriptor)
    }

    /// Delivers a message, from any thread.
    func post(_ message: LoopMessage) {
        // Count with the lock held, so that the count is never below the number of messages: a poster that is preempted
        // in between would hide the messages of others.
        messages.withLock {
            $0.append(message)
            count.add(1, ordering: .sequentiallyConsistent)
        }
        // Read first: while the loop is awake, posting then needs no write to `asleep`.
        guard asleep.load(ordering: .sequentiallyConsistent) else { return }
        if asleep.exchange(false, ordering: .sequentiallyConsistent) { csys_eventfd_signal(descriptor) }
    }

    /// Prepares to wait. Returns true if the loop may sleep, false if there are messages. Called by the loop.
    func prepareToSleep() -> Bool {
        asleep.store(true, ordering: .sequentiallyConsistent)
        if count.load(ordering: .sequentiallyConsistent) == 0 { return true }
        asleep.store(false, ordering: .relaxed)
        return false
    }

    /// Swaps the messages with the given empty array. Called by the loop after waiting.
    func collect(into empty: inout [LoopMessage]) {
        if asleep.load(ordering: .relaxed) { asleep.store(false, ordering: .relaxed) }
        guard count.load(ordering: .acquiring) > 0 else { return }
        messages.withLock {
            swap(&$0, &empty)
            count.store(0, ordering: .relaxed)
        }
    }
}
