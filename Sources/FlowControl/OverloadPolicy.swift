/// What becomes of a request that finds every slot taken.
public enum OverloadPolicy: String, Sendable, Hashable, CaseIterable {
    /// It waits in the queue, first in, first out; refused where the queue is full or the wait would be too long.
    case `defer`

    /// It is refused at once: nothing ever waits.
    case dropNewest = "drop_newest"

    /// It waits, and where the queue is full the oldest waiter is refused in its stead. For camera streams, where a
    /// stale frame has no worth.
    case dropOldest = "drop_oldest"
}
