internal import CSystem
internal import Synchronization

/// A fixed number of counters to which many threads add at the same time. They only grow.
///
/// Each thread adds in its own memory, so that no processor waits for a cache line that another has written. A read
/// sums up all stripes: it includes all earlier additions, and a later sum is never smaller. There are 64 stripes; more
/// threads share them, without losing counts, because additions are atomic. A stripe's memory is allocated when its
/// first thread counts.
package final class StripedCounters: Sendable {
    private typealias Counter = Atomic<UInt64>

    private static let stripes = 64
    /// Two cache lines: processors fetch them in pairs.
    private static let alignment = 128

    /// The address of each stripe's first counter; 0 if the stripe is not allocated.
    ///
    /// Allocated in `init`, freed in `deinit` and never moved; the elements are atomic, so that sharing them is safe.
    private nonisolated(unsafe) let firsts: UnsafeMutablePointer<Atomic<UInt>>
    /// The number of counters.
    let count: Int

    /// Creates counters at 0; at least one.
    package init(_ count: Int) {
        self.count = max(1, count)
        firsts = .allocate(capacity: Self.stripes)
        for stripe in 0..<Self.stripes { (firsts + stripe).initialize(to: Atomic(0)) }
    }

    deinit {
        for stripe in 0..<Self.stripes { counters(of: stripe)?.deallocate() }
        firsts.deinitialize(count: Self.stripes)
        firsts.deallocate()
    }

    /// Adds to one counter; does nothing for an invalid index.
    package func add(_ amount: UInt64 = 1, at index: Int) {
        guard index >= 0, index < count else { return }
        let stripe = Int(csys_thread_number()) % Self.stripes
        (counters(of: stripe) ?? make(stripe))[index].wrappingAdd(amount, ordering: .relaxed)
    }

    package subscript(index: Int) -> UInt64 {
        guard index >= 0, index < count else { return 0 }
        var sum: UInt64 = 0
        for stripe in 0..<Self.stripes {
            if let counters = counters(of: stripe) { sum &+= counters[index].load(ordering: .relaxed) }
        }
        return sum
    }

    private func counters(of stripe: Int) -> UnsafeMutablePointer<Counter>? {
        UnsafeMutablePointer(bitPattern: firsts[stripe].load(ordering: .acquiring))
    }

    /// Allocates the counters of a stripe.
    @inline(never) private func make(_ stripe: Int) -> UnsafeMutablePointer<Counter> {
        // Whole cache lines, shared with no other data.
        let size = (count * MemoryLayout<Counter>.stride + Self.alignment - 1) / Self.alignment * Self.alignment
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: Self.alignment)
        let new = memory.bindMemory(to: Counter.self, capacity: count)
        for index in 0..<count { (new + index).initialize(to: Atomic(0)) }
        let (isNew, other) = firsts[stripe].compareExchange(
            expected: 0, desired: UInt(bitPattern: new), ordering: .acquiringAndReleasing)
        guard !isNew, let first = UnsafeMutablePointer<Counter>(bitPattern: other) else { return new }
        // Another thread that shares the stripe was first.
        memory.deallocate()
        return first
    }
}
