internal import Synchronization

/// A fixed number of counters to which any thread adds without a lock.
package final class AtomicCounters: Sendable {
    /// Allocated in `init`, freed in `deinit` and never moved; the elements are atomic, so that sharing them is safe.
    private nonisolated(unsafe) let base: UnsafeMutablePointer<Atomic<UInt64>>
    /// The number of counters.
    let count: Int

    /// Creates counters at 0; at least one.
    init(_ count: Int) {
        self.count = max(1, count)
        base = .allocate(capacity: self.count)
        for index in 0..<self.count { (base + index).initialize(to: Atomic(0)) }
    }

    deinit {
        base.deinitialize(count: count)
        base.deallocate()
    }

    /// Adds to one counter; does nothing for an invalid index.
    func add(_ amount: UInt64 = 1, at index: Int) {
        guard index >= 0, index < count else { return }
        base[index].wrappingAdd(amount, ordering: .relaxed)
    }

    /// Sets the value of a counter, for gauges; does nothing for an invalid index.
    func set(_ value: UInt64, at index: Int) {
        guard index >= 0, index < count else { return }
        base[index].store(value, ordering: .relaxed)
    }

    package subscript(index: Int) -> UInt64 {
        guard index >= 0, index < count else { return 0 }
        return base[index].load(ordering: .relaxed)
    }
}
