import FlowControl
import SystemSupport
import TestSupport
import Testing

/// The heap without a limiter: its order, and the sweeping of stale entries.
@Suite struct ExpiryHeapTests {
    /// Makes `count` different tickets.
    private func tickets(_ count: Int) -> [WaiterTicket] {
        var queue = WaiterQueue<Int>()
        return (0..<count).map { _ in
            queue.append(.init(at: MonotonicInstant(nanoseconds: 0), expiresByDeadline: false, claim: .usual), start: 0)
        }
    }

    @Test("the earliest expiry is always first, before and after sweeps")
    func theEarliestIsAlwaysFirstBeforeAndAfterSweeps() {
        let seed = SplitMix.seed(for: "theEarliestIsAlwaysFirstBeforeAndAfterSweeps")
        var random = SplitMix(seed: seed)
        for _ in 0..<200 {
            let all = tickets(Int.random(in: 1...200, using: &random))
            var heap = ExpiryHeap()
            var expiries: [WaiterTicket: MonotonicInstant] = [:]
            for ticket in all {
                let at = MonotonicInstant(nanoseconds: UInt64.random(in: 0..<100, using: &random))
                heap.insert(ExpiryHeap.Entry(at: at, ticket: ticket))
                expiries[ticket] = at
            }
            // Most waiters have left, so more than half of the entries are stale.
            let live = Set(all.filter { _ in random.chance(20) })
            heap.sweep(live: live.count) { live.contains($0) }
            let isSwept = all.count > 2 * live.count + 32
            #expect(heap.count == (isSwept ? live.count : all.count))

            var found: [WaiterTicket: MonotonicInstant] = [:]
            var last = MonotonicInstant(nanoseconds: 0)
            while let first = heap.first {
                #expect(first.at >= last)
                last = first.at
                found[first.ticket] = first.at
                heap.removeFirst()
            }
            #expect(found == (isSwept ? expiries.filter { live.contains($0.key) } : expiries))
        }
    }

    @Test("removing the first entry of an empty heap does nothing")
    func anEmptyHeapHasNothingToRemove() {
        var heap = ExpiryHeap()
        heap.removeFirst()
        #expect(heap.first == nil)
        #expect(heap.count == 0)
    }

    /// The bound is an invariant of the state machine, which `Bench` checks after each event.
    @Test("thousands of waiters that are cancelled early keep the expiry heap small")
    func thousandsWhoLeaveBeforeTheirTimeLeaveLittleBehind() {
        var bench = Bench(limit: 1, queue: 3, wait: .seconds(3600))
        bench.arrive("a")
        for _ in 0..<1000 {
            for name in "bcd" { bench.arrive(name) }
            for name in "cbd" { bench.cancel(name) }
        }
        bench.arrive("e")
        bench.pass(.seconds(3600))
        #expect(bench.endings.last == "e wait_timed_out")
    }
}
