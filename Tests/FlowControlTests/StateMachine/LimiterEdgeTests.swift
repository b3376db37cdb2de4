import FlowControl
import SystemSupport
import Testing

/// Boundaries of the limiter's decisions: the last value on one side and the first on the other.
@Suite struct LimiterEdgeTests {
    @Test("the predicted wait of a new request leaves out the waiter that the request displaces")
    func theOneWhoIsDisplacedIsNotWaitedFor() {
        var bench = Bench(limit: 1, queue: 1, policy: .dropOldest, service: .seconds(1))
        for name in "ab" { bench.arrive(name) }
        // One second for a, one for c itself: c takes the place of b.
        #expect(
            bench.arrive("c", deadline: .milliseconds(1999))
                == .refused(.deadlineUnreachable(predictedWait: .seconds(1))))
        #expect(bench.arrive("c", deadline: .seconds(2)) == .waiting)
        #expect(bench.endings == ["b displaced"])
    }

    @Test("a predicted wait equal to the longest wait is accepted, a longer wait is refused")
    func theLongestWaitItselfIsAllowed() {
        var bench = Bench(limit: 1, queue: 9, wait: .seconds(2), service: .seconds(1))
        for name in "ab" { bench.arrive(name) }
        #expect(bench.machine.predictedWait(at: bench.now) == .seconds(2))
        #expect(bench.arrive("c") == .waiting)
        #expect(bench.arrive("d") == .refused(.queueFull(predictedWait: .seconds(3))))
    }

    @Test("a slot released above a lowered limit restarts the clock of the prediction")
    func aSlotThatComesBackOverALoweredLimitStartsTheClockAgain() {
        var bench = Bench(limit: 3, service: .seconds(1))
        for name in "abc" { bench.arrive(name) }
        bench.resize(limit: 1)
        bench.pass(.milliseconds(500))
        #expect(bench.machine.predictedWait(at: bench.now) == .milliseconds(2500))
        bench.finish("a")
        #expect(bench.machine.inFlight == 2)
        // Each slot is held for half a second: one more turn, and the first release is due in half a second.
        #expect(bench.machine.predictedWait(at: bench.now) == .seconds(1))
    }

    @Test("counters hold the waiting and service times and the most requests in flight and waiting")
    func timesAndPeaksAreCounted() {
        var bench = Bench(limit: 2, queue: 9)
        for name in "abcde" { bench.arrive(name) }
        bench.pass(.seconds(2))
        bench.finish("a")
        bench.pass(.seconds(1))
        bench.finish("b")
        bench.pass(.seconds(1))
        bench.finish("c")
        bench.arrive("f")
        let counters = bench.machine.counters
        // One request waits now, three did at most. c waited 2 s, d 3 s, e 4 s; a held its slot for 2 s, b for 3 s, c
        // for 2 s.
        #expect(counters.waitedNanoseconds == 9_000_000_000)
        #expect(counters.servedNanoseconds == 7_000_000_000)
        #expect(counters.peakInFlight == 2)
        #expect(counters.peakWaiting == 3)
        #expect(counters.admittedAtOnce == 2)
        #expect(counters.admittedAfterWait == 3)
        #expect(counters.released == 3)
    }

    @Test("each refusal and each way to leave the queue has its own counter")
    func eachWayOutHasItsCounter() {
        var bench = Bench(limit: 1, queue: 3, wait: .seconds(10), service: .milliseconds(1))
        for name in "abcd" { bench.arrive(name, deadline: name == "d" ? .seconds(3) : nil) }
        bench.arrive("e")
        bench.pass(.seconds(3))
        bench.cancel("c")
        bench.pass(.seconds(7))
        for name in "fg" { bench.arrive(name) }
        bench.resize(queue: 1)
        bench.drain(refusingWaiters: true)
        bench.arrive("h")
        let counters = bench.machine.counters
        #expect(counters.refusedQueueFull == 1)
        #expect(counters.leftDeadlineExceeded == 1)
        #expect(counters.leftCancelled == 1)
        #expect(counters.leftTimedOut == 1)
        #expect(counters.leftDisplaced == 1)
        #expect(counters.leftDraining == 1)
        #expect(counters.refusedDraining == 1)
        #expect(counters.refused == 2 && counters.left == 5)
    }

    @Test("a deadline equal to the longest wait ends as a timeout, an earlier deadline as exceeded")
    func aDeadlineAtTheLongestWaitCountsAsTheLongestWait() {
        var bench = Bench(limit: 1, queue: 9, wait: .seconds(4))
        bench.arrive("a")
        bench.arrive("b", deadline: .seconds(4))
        bench.arrive("c", deadline: .milliseconds(3999))
        bench.pass(.seconds(4))
        #expect(bench.endings == ["c deadline_exceeded", "b wait_timed_out"])
    }

    // MARK: Overload

    @Test("a new overload target keeps the measured load and changes when a wait is late")
    func anotherTargetKeepsWhatIsKnownOfTheLoad() {
        var detector = OverloadDetector(target: .milliseconds(400))
        for index in 0..<500 {
            let now = MonotonicInstant(nanoseconds: 1_000_000_000) + .milliseconds(index)
            detector.arrived(at: now)
            if index % 10 == 0 { detector.completed(at: now, interval: 1e7) }
        }
        var other = detector.retargeted(to: .milliseconds(200))
        #expect(other.target == 200_000_000)
        let seconds = (0..<100).map { _ in other.retryAfter().components.seconds }
        #expect(seconds.max() ?? 0 > 5)
        let end = MonotonicInstant(nanoseconds: 1_500_000_000)
        let answers = [200_000_001, 200_000_000].map { other.prefersYounger(over: $0, at: end) }
        #expect(answers == [true, false])
        // From a wait of five targets on, one slot in four goes to the oldest.
        let turns = (0..<8).map { _ in other.prefersYounger(over: 1_200_000_000, at: end) }
        #expect(turns == [true, true, true, false, true, true, true, false])
    }

    @Test("resizing to an overload target of zero turns overload detection off")
    func resizingToAnotherTargetChangesTheDetector() {
        // Three bursts that find the queue full over 250 ms.
        func isOverloaded(resizedTo target: Duration) -> Bool {
            var machine = LimiterStateMachine<Int>(
                configuration: LimiterConfiguration(limit: 1, overloadTarget: .seconds(1)))
            let start = MonotonicInstant(nanoseconds: 1_000_000_000)
            _ = machine.resize(to: LimiterConfiguration(limit: 1, overloadTarget: target), at: start)
            for millisecond in [0, 125, 250] {
                let now = start + .milliseconds(millisecond)
                for _ in 0..<2000 { _ = machine.arrive(at: now, deadline: nil) }
            }
            return machine.isOverloaded
        }
        #expect(isOverloaded(resizedTo: .seconds(2)))
        #expect(!isOverloaded(resizedTo: .zero))
    }

    @Test("a queue found full over 250 ms is overload; a shorter time or a longer gap is not")
    func oneMomentIsNotOverloadAndAQuarterOfASecondIs() {
        func found(_ milliseconds: [Int]) -> [Bool] {
            var detector = OverloadDetector(target: .milliseconds(400))
            return milliseconds.map { millisecond in
                let now = MonotonicInstant(nanoseconds: 1_000_000_000) + .milliseconds(millisecond)
                for _ in 0..<10 { detector.arrived(at: now) }
                return detector.foundFull(at: now)
            }
        }
        #expect(found([0, 100, 249]) == [false, false, false])
        #expect(found([0, 100, 250]) == [false, false, true])
        // With longer gaps, they do not count together.
        #expect(found([0, 251, 500]) == [false, false, false])
    }

    @Test("a request may wait for the overload target minus its service time, but not for less than zero")
    func theTimeToWaitLeavesTimeForTheService() {
        let detector = OverloadDetector(target: .milliseconds(400))
        #expect(detector.timeToWait(service: 5e7) == .milliseconds(350))
        #expect(detector.timeToWait(service: 5e8) == .zero)
    }

    @Test("the longest wait under overload leaves room for at least one waiter")
    func atLeastOneMayAlwaysWait() {
        let detector = OverloadDetector(target: .milliseconds(400))
        // Four fifths of the target, minus the service time.
        #expect(detector.longestWait(service: 1e8, interval: 5e7) == 2.2e8)
        #expect(detector.longestWait(service: 1e9, interval: 5e8) == 5e8)
    }

    @Test("the load meter remembers longer where completions are rare")
    func whereCompletionsAreRareTheMeterRemembersLonger() {
        let start = MonotonicInstant(nanoseconds: 1_000_000_000)
        var meter = LoadMeter(window: 5e8)
        meter.completed(at: start, interval: 1e9)
        for _ in 0..<10 { meter.arrived(at: start) }
        #expect(meter.isGrowing(at: start + .seconds(8)))
        #expect(!meter.isStable(at: start + .seconds(8)))
        var short = LoadMeter(window: 5e8)
        short.completed(at: start, interval: 1e6)
        for _ in 0..<10 { short.arrived(at: start) }
        #expect(!short.isGrowing(at: start + .seconds(8)))
        #expect(short.isStable(at: start + .seconds(8)))
    }

    @Test("pressure is the number of arrivals for each completion, and at least 1")
    func pressureIsArrivalsForEachCompletion() {
        let start = MonotonicInstant(nanoseconds: 1_000_000_000)
        var meter = LoadMeter(window: 5e8)
        #expect(meter.pressure == 1)
        for _ in 0..<6 { meter.arrived(at: start) }
        #expect(meter.pressure == 6)
        for _ in 0..<2 { meter.completed(at: start, interval: 1e6) }
        #expect(meter.pressure == 3)
        for _ in 0..<10 { meter.completed(at: start, interval: 1e6) }
        #expect(meter.pressure == 1)
    }

    @Test("patience is lost by more than three departures plus a thirtieth of the arrivals")
    func patienceIsLostByMoreThanThreeAndAThirtieth() {
        let start = MonotonicInstant(nanoseconds: 1_000_000_000)
        var meter = LoadMeter(window: 5e8)
        for _ in 0..<3 { meter.departed(at: start) }
        #expect(!meter.isAbandoned(at: start))
        meter.departed(at: start)
        #expect(meter.isAbandoned(at: start))
        for _ in 0..<120 { meter.arrived(at: start) }
        #expect(!meter.isAbandoned(at: start))
        meter.departed(at: start)
        #expect(meter.isAbandoned(at: start))
    }

    // MARK: Limits

    @Test("limits out of range are clamped to their ranges")
    func boundsAreMovedIntoTheirRanges() {
        let low = LimiterConfiguration(
            limit: 0, queueCapacity: -1, maxWait: .seconds(-1), expectedServiceTime: .seconds(-1),
            overloadTarget: .seconds(-1))
        #expect(low.limit == 1 && low.queueCapacity == 0 && low.maxWait == .zero)
        #expect(low.expectedServiceTime == .zero && low.overloadTarget == .zero)
        let high = LimiterConfiguration(limit: .max, queueCapacity: .max)
        #expect(high.limit == 1_000_000 && high.queueCapacity == 1_000_000)
    }

    @Test(
        "the effective queue capacity and overload target follow from policy and longest wait",
        arguments: [
            (OverloadPolicy.defer, Duration.seconds(1), 7), (.dropOldest, .seconds(1), 7),
            (.dropNewest, .seconds(1), 0),
            (.defer, .zero, 0), (.dropOldest, .zero, 0),
        ])
    func placesThatPolicyAndWaitLeave(policy: OverloadPolicy, wait: Duration, places: Int) {
        let configuration = LimiterConfiguration(
            limit: 1, queueCapacity: 7, maxWait: wait, policy: policy, overloadTarget: .seconds(1))
        #expect(configuration.effectiveCapacity == places)
        #expect(configuration.overloadTarget == (policy == .defer ? .seconds(1) : .zero))
    }
}
