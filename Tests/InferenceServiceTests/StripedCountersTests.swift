import InferenceService
internal import ServiceCore
import SystemSupport
import Testing

/// Counters to which every thread adds in its own memory.
@Suite(.timeLimit(.minutes(1))) struct StripedCountersTests {
    @Test("adding to a counter changes its value, and no other counter")
    func eachCounterIsItsOwn() {
        let counters = StripedCounters(40)
        for index in 0..<40 { counters.add(UInt64(index), at: index) }
        counters.add(at: 7)
        #expect((0..<40).allSatisfy { counters[$0] == UInt64($0) + ($0 == 7 ? 1 : 0) })
    }

    @Test("a counter that does not exist is 0, and adding to it does nothing")
    func thereAreNoOthers() {
        let counters = StripedCounters(2)
        counters.add(at: 2)
        counters.add(at: -1)
        #expect([-1, 0, 1, 2].allSatisfy { counters[$0] == 0 })
    }

    /// More threads than stripes: some share a stripe, and allocate it at the same time.
    @Test("the additions of 200 threads are all counted, and no sum is smaller than an earlier one")
    func manyThreadsLoseNothing() async throws {
        for _ in 0..<5 {
            let counters = StripedCounters(3)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<200 {
                    group.addTask {
                        await withCheckedContinuation { continuation in
                            let isStarted: Void? = try? SystemThread.start("adds") {
                                for turn in 0..<300 { counters.add(UInt64(turn), at: turn % 3) }
                                continuation.resume()
                            }
                            if isStarted == nil { continuation.resume() }
                        }
                    }
                }
                var before: UInt64 = 0
                for _ in 0..<1000 {
                    let now = counters[2]
                    #expect(now >= before)
                    before = now
                }
            }
            // 0 + 3 + ... + 297, 1 + 4 + ... + 298, 2 + 5 + ... + 299.
            #expect([0, 1, 2].map { counters[$0] } == [14_850, 14_950, 15_050].map { 200 * $0 })
        }
    }
}
