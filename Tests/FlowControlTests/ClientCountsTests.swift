import FlowControl
import SystemSupport
import Testing

/// Counts of each client's requests in flight and of its rate, in simulated time.
@Suite struct ClientCountsTests {
    private let start = MonotonicInstant(nanoseconds: 5_000_000_000)

    @Test("a client may send one second's worth of requests at once, then requests at its rate")
    func clientMaySendASecondsWorthAtOnceAndThenAtItsRate() {
        var counts = ClientCounts()
        let atOnce = (0..<50).filter { _ in counts.arrive(1, rate: 10, at: start) == nil }.count
        #expect(atOnce == 10)
        let wait = counts.arrive(1, rate: 10, at: start)
        #expect(wait == 100_000_000)
        let other = counts.arrive(2, rate: 10, at: start)
        #expect(other == nil)
        var later = 0
        for millisecond in 1...10_000 where counts.arrive(1, rate: 10, at: start + .milliseconds(millisecond)) == nil {
            later += 1
        }
        #expect((99...101).contains(later))
    }

    @Test("a client's place is free again after a request has left")
    func place_afterLeaving_isFreeAgain() {
        var counts = ClientCounts()
        let entered = [1, 1, 1, 2].map { counts.enter($0, maximum: 2, at: start) }
        #expect(entered == [true, true, false, true])
        counts.leave(1)
        let enteredAgain = counts.enter(1, maximum: 2, at: start)
        #expect(enteredAgain)
        counts.leave(7)
        #expect(counts.inFlight(of: 7) == 0)
    }

    @Test("clients that are gone are forgotten, and the number of clients is bounded")
    func clientsThatAreGoneAreForgottenAndTheirNumberIsBounded() {
        var counts = ClientCounts()
        let waits = (0..<UInt64(2 * ClientCounts.maximum)).compactMap { counts.arrive($0, rate: 1, at: start) }
        #expect(waits.isEmpty)
        #expect(counts.count == ClientCounts.maximum)
        let wait = counts.arrive(.max, rate: 1, at: start + .seconds(10))
        #expect(wait == nil)
        #expect(counts.count == 1)
    }
}
