/// The handling of a request that arrives while all slots are taken.
public enum OverloadPolicy: String, Sendable, Hashable, CaseIterable {
    /// It waits in the queue, first in, first out, or is refused if the queue is full or the wait would be too long.
    case `defer`

    /// It is refused at once: requests never wait.
    case dropNewest = "drop_newest"

    /// It waits; if the queue is full, the oldest waiter is refused instead. For camera streams, where an old frame is
    /// worthless.
    case dropOldest = "drop_oldest"
}
