import FlowControl
import Testing

/// Events between a waiter's arrival and its suspension, when a wake-up could be lost.
@Suite struct SuspensionRaceTests {
    private func crowded() -> Bench {
        var bench = Bench(limit: 1, queue: 3)
        bench.arrive("a")
        bench.arrive("b", asleep: false)
        bench.arrive("c")
        return bench
    }

    @Test("a waiter that goes to sleep finds a slot granted before the sleep")
    func aSlotGivenBeforeTheSleepIsFoundAtTheSleep() {
        var bench = crowded()
        bench.finish("a")
        #expect(bench.ended.isEmpty)
        #expect(bench.machine.inFlight == 1)
        bench.suspend("b")
        #expect(bench.endings == ["b granted"])
    }

    @Test("a waiter that goes to sleep finds a cancellation from before the sleep")
    func aCancellationBeforeTheSleepIsFoundAtTheSleep() {
        var bench = crowded()
        bench.cancel("b")
        #expect(bench.machine.waiting == 1)
        bench.suspend("b")
        bench.finish("a")
        #expect(bench.endings == ["b cancelled", "c granted"])
    }

    @Test("a waiter that goes to sleep finds a timeout from before the sleep")
    func aTimeoutBeforeTheSleepIsFoundAtTheSleep() {
        var bench = crowded()
        bench.pass(.seconds(10))
        #expect(bench.endings == ["c wait_timed_out"])
        bench.suspend("b")
        #expect(bench.endings == ["c wait_timed_out", "b wait_timed_out"])
    }

    @Test("a waiter that goes to sleep finds a drain from before the sleep")
    func aDrainBeforeTheSleepIsFoundAtTheSleep() {
        var bench = crowded()
        bench.drain(refusingWaiters: true)
        bench.suspend("b")
        #expect(bench.endings == ["c draining", "b draining"])
    }

    @Test("a cancellation after the grant leaves the waiter its slot")
    func aCancellationAfterTheSlotWasGivenLeavesTheSlot() {
        var bench = crowded()
        bench.finish("a")
        bench.cancel("b")
        #expect(bench.machine.inFlight == 1)
        bench.suspend("b")
        bench.cancel("b")
        #expect(bench.endings == ["b granted"])
        bench.finish("b")
        #expect(bench.endings == ["b granted", "c granted"])
    }

    @Test("cancelling a waiter twice counts as one cancellation")
    func cancellingTwiceIsCancellingOnce() {
        var bench = crowded()
        bench.cancel("c")
        bench.cancel("c")
        #expect(bench.endings == ["c cancelled"])
        #expect(bench.machine.counters.leftCancelled == 1)
    }

    @Test("the ticket of a waiter that has left does not cancel the next waiter in the same entry")
    func aTicketOutlivesItsWaiterWithoutNamingTheNextInItsPlace() {
        var bench = crowded()
        bench.cancel("c")
        bench.arrive("d")
        bench.cancel("c")
        #expect(bench.endings == ["c cancelled"])
        #expect(bench.machine.waiting == 2)
    }

    @Test("an expired waiter gets no slot, even if the timer is late")
    func nobodyWhoseTimeIsUpGetsASlotHoweverLateTheTimer() {
        var bench = crowded()
        bench.suspend("b")
        bench.passSilently(.seconds(5))
        bench.arrive("d")
        bench.passSilently(.seconds(5))
        bench.finish("a")
        #expect(bench.endings == ["b wait_timed_out", "c wait_timed_out", "d granted"])
    }

    @Test("the place of an expired waiter is free, even if the timer is late")
    func placesOfThoseWhoseTimeIsUpAreFreeHoweverLateTheTimer() {
        var bench = Bench(limit: 1, queue: 1)
        bench.arrive("a")
        bench.arrive("b")
        bench.passSilently(.seconds(10))
        #expect(bench.arrive("c") == .waiting)
        #expect(bench.endings == ["b wait_timed_out"])
    }
}
