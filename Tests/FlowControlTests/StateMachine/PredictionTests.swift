import FlowControl
import SystemSupport
import Testing

/// The predicted wait, and the decisions based on it.
@Suite struct PredictionTests {
    private func wait(_ bench: Bench) -> Duration { bench.machine.predictedWait(at: bench.now) }

    @Test("the predicted wait is zero while a slot is free")
    func nothingIsWaitedForWhileASlotIsFree() {
        var bench = Bench(limit: 2, service: .seconds(1))
        #expect(wait(bench) == .zero)
        bench.arrive("a")
        #expect(wait(bench) == .zero)
        bench.arrive("b")
        #expect(wait(bench) == .milliseconds(500))
    }

    @Test("the predicted wait is one service time for each request ahead, less the time passed")
    func aSlotIsDueOneServiceTimeAfterTheLast() {
        var bench = Bench(limit: 1, queue: 9, service: .milliseconds(100))
        bench.arrive("a")
        #expect(wait(bench) == .milliseconds(100))
        bench.arrive("b")
        #expect(wait(bench) == .milliseconds(200))
        bench.pass(.milliseconds(30))
        #expect(wait(bench) == .milliseconds(170))
        bench.finish("a")
        #expect(bench.machine.serviceTime == .milliseconds(30))
        #expect(wait(bench) == .milliseconds(30))
    }

    @Test("an overdue slot is predicted to come at any moment")
    func anOverdueSlotMayComeAtAnyMoment() {
        var bench = Bench(limit: 1, queue: 9, service: .milliseconds(100))
        bench.arrive("a")
        bench.pass(.milliseconds(100))
        #expect(wait(bench) == .zero)
        bench.arrive("b")
        #expect(wait(bench) == .milliseconds(100))
    }

    @Test("the predicted wait grows while an engine hangs")
    func aHungEngineShowsAsAGrowingWait() {
        var bench = Bench(limit: 2, queue: 9, wait: .seconds(1000), service: .milliseconds(100))
        bench.arrive("a")
        bench.arrive("b")
        var waits: [Duration] = []
        for _ in 0..<4 {
            bench.pass(.seconds(10))
            waits.append(wait(bench))
        }
        #expect(waits == [.milliseconds(9_900), .milliseconds(19_900), .milliseconds(29_900), .milliseconds(39_900)])
    }

    @Test("the predicted wait includes the slots above a lowered limit")
    func aLoweredLimitIsWaitedForToo() {
        var bench = Bench(limit: 3, service: .seconds(1))
        for name in "abc" { bench.arrive(name) }
        bench.resize(limit: 1)
        #expect(wait(bench) == .seconds(3))
    }

    @Test("the predicted wait is at most one hour")
    func theWaitIsNeverLongerThanAnHour() {
        var bench = Bench(limit: 1, queue: 9, wait: .seconds(Int64.max), service: .seconds(Int64.max))
        bench.arrive("a")
        bench.arrive("b")
        #expect(wait(bench) == .seconds(3600))
        bench.pass(.seconds(Int64.max))
        bench.finish("a")
        bench.arrive("c")
        #expect(wait(bench) == .seconds(3600))
    }

    @Test("with constant service times the predicted wait equals the actual wait")
    func withConstantServiceTimesThePredictionIsTheWait() {
        var bench = Bench(limit: 1, queue: 20, wait: .seconds(100), service: .milliseconds(70))
        let names = Array("abcdefghij")
        var predicted: [Duration] = []
        for name in names {
            predicted.append(wait(bench))
            bench.arrive(name)
            bench.pass(.milliseconds(5))
        }
        bench.pass(.milliseconds(20))
        for name in names {
            bench.finish(name)
            bench.pass(.milliseconds(70))
        }
        let waited = bench.ended.map { try? $0.1.get().waitedNanoseconds }
        #expect(waited == predicted.dropFirst().map { UInt64($0.saturatedNanoseconds) })
    }

    @Test("a deadline must leave time for the predicted wait and the service")
    func aDeadlineMustHoldTheWaitAndTheService() {
        var bench = Bench(limit: 1, queue: 9, service: .seconds(1))
        bench.arrive("a")
        #expect(
            bench.arrive("b", deadline: .milliseconds(1999))
                == .refused(.deadlineUnreachable(predictedWait: .seconds(1))))
        #expect(bench.arrive("b", deadline: .seconds(2)) == .waiting)
        #expect(bench.machine.counters.refusedDeadlineUnreachable == 1)
    }

    @Test("a free slot is granted for any predicted service time")
    func aFreeSlotIsGivenWhateverThePrediction() {
        var bench = Bench(limit: 1, service: .seconds(60))
        #expect(bench.arrive("a", deadline: .milliseconds(1)) == .admitted)
        bench.pass(.milliseconds(1))
        bench.finish("a")
        #expect(bench.machine.serviceTime == .milliseconds(1))
    }

    @Test("a request whose predicted wait exceeds the longest wait is refused at once")
    func aWaitThatIsTooLongIsNotBegun() {
        var bench = Bench(limit: 1, queue: 9, wait: .milliseconds(1500), service: .seconds(1))
        bench.arrive("a")
        #expect(bench.arrive("b") == .waiting)
        #expect(bench.arrive("c") == .refused(.queueFull(predictedWait: .seconds(2))))
    }

    @Test("an announced request is refused exactly as its arrival would be")
    func anAnnouncementIsRefusedAsTheArrivalWouldBe() {
        var bench = Bench(limit: 1, queue: 1, service: .seconds(1))
        for name in "abc" {
            var machine = bench.machine
            let refusal = machine.announce(at: bench.now, deadline: nil).0
            #expect(machine.counters.arrived == bench.machine.counters.arrived + (refusal == nil ? 0 : 1))
            #expect(machine.invariantViolation(at: bench.now) == nil)
            let came = bench.arrive(name)
            #expect(refusal.map { .refused($0) } ?? came == came)
        }
        #expect(bench.machine.counters.arrived == 3)
    }

    @Test("the service time estimate is a plain mean at first and smoothed later")
    func theEstimateIsAPlainMeanAtFirstAndSmoothedThen() {
        var estimate = ServiceTimeEstimate(expected: 5000)
        #expect(estimate.nanoseconds == 5000)
        #expect(!estimate.isMeasured)
        estimate.record(100)
        #expect(estimate.nanoseconds == 100)
        estimate.record(300)
        #expect(estimate.nanoseconds == 200)
        for _ in 0..<6 { estimate.record(200) }
        #expect(estimate.nanoseconds == 200)
        estimate.record(1000)
        #expect(estimate.nanoseconds == 300)
        estimate.record(.max)
        #expect(estimate.nanoseconds.isFinite)
    }
}
