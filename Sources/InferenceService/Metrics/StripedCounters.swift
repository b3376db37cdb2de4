internal import CSystem
internal import Synchronization

/// A fixed number of counters that many threads add to at the same time. They only grow.
///
/// Each thread adds in memory of its own, so that no processor waits for a line that another has written. A read sums
/// up: all that was added before is in the sum, and a later sum is never smaller. There are 64 stripes;
/// where there are more threads, some share one, and nothing is lost, for additions are atomic. A stripe takes memory
/// once its first thread has counted.
package final class StripedCounters: Sendable {
    private typealias Counter = Atomic<UInt64>

    private static let stripes = 64
    /// Two lines: processors fetch them in pairs.
    private static let alignment = 128

    /// The first counter of each stripe; 0: it has none yet.
    ///
    /// Allocated in `init`, freed in `deinit` and never moved; the elements are atomic, so that sharing them is safe.
    private nonisolated(unsafe) let firsts: UnsafeMutablePointer<Atomic<UInt>>
    /// The number of counters.
    let count: Int

    /// `count` counters at 0.
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

    /// Adds to one counter; one that does not exist is left alone.
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

    /// The counters of a stripe that has none yet.
    @inline(never) private func make(_ stripe: Int) -> UnsafeMutablePointer<Counter> {
        // Whole lines: nothing else is in them.
        let size = (count * MemoryLayout<Counter>.stride + Self.alignment - 1) / Self.alignment * Self.alignment
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: Self.alignment)
        let new = memory.bindMemory(to: Counter.self, capacity: count)
        for index in 0..<count { (new + index).initialize(to: Atomic(0)) }
        let (isNew, other) = firsts[stripe].compareExchange(
            expected: 0, desired: UInt(bitPattern: new), ordering: .acquiringAndReleasing)
        guard !isNew, let first = UnsafeMutablePointer<Counter>(bitPattern: other) else { return new }
        // Another thread that shares the stripe was quicker.
        memory.deallocate()
        return first
    }
}
