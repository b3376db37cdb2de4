import CSystem
import Synchronization
import SystemSupport

/// The queue of messages to an event loop, and the eventfd that wakes it.
///
/// The eventfd is written only if the loop is asleep or about to be, and a turn of the loop without mail takes no lock:
/// a thread that posts counts first and looks at `asleep` then, and the loop sets `asleep` first and looks at the count
/// then (both sequentially consistent), so that at least one of them sees the other.
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
        // Counted with the lock held, so that the count is never less than what is there: a poster that loses its
        // processor in between would hide the messages of others.
        messages.withLock {
            $0.append(message)
            count.add(1, ordering: .sequentiallyConsistent)
        }
        // Looked at first: while the loop is awake, who posts only reads it.
        guard asleep.load(ordering: .sequentiallyConsistent) else { return }
        if asleep.exchange(false, ordering: .sequentiallyConsistent) { csys_eventfd_signal(descriptor) }
    }

    /// Called by the loop before it waits: true if it may sleep, false if there are messages.
    func prepareToSleep() -> Bool {
        asleep.store(true, ordering: .sequentiallyConsistent)
        if count.load(ordering: .sequentiallyConsistent) == 0 { return true }
        asleep.store(false, ordering: .relaxed)
        return false
    }

    /// Called by the loop when it has waited: exchanges the messages for the (empty) array given.
    func collect(into empty: inout [LoopMessage]) {
        if asleep.load(ordering: .relaxed) { asleep.store(false, ordering: .relaxed) }
        guard count.load(ordering: .acquiring) > 0 else { return }
        messages.withLock {
            swap(&$0, &empty)
            count.store(0, ordering: .relaxed)
        }
    }
}
