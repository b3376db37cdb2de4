import FlowControl
import Synchronization
import SystemSupport
import Testing

/// Yields to other tasks until the condition holds. Does not sleep, because the condition is bound to hold. If it does
/// not, the test's time limit cancels the task, which ends the loop.
func eventually(_ condition: () -> Bool) async {
    while !condition(), !Task.isCancelled { await Task.yield() }
}

@Suite(.timeLimit(.minutes(1))) struct InFlightLimiterTests {
    @Test("slots are granted up to the limit, then to a waiter when a slot is released")
    func grantsUpToTheLimitAndThenInOrder() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 2))
        let first = try await limiter.acquire()
        let second = try #require(limiter.tryAcquire())
        #expect(limiter.tryAcquire() == nil)
        #expect(limiter.announce() == nil)

        async let third = limiter.acquire()
        await eventually { limiter.snapshot.waiting == 1 }
        first.release()
        first.release()
        let slot = try await third
        #expect(limiter.snapshot.inFlight == 2)
        slot.release()
        second.release()
        #expect(limiter.snapshot.inFlight == 0)
        #expect(limiter.snapshot.counters.released == 3)
        #expect(limiter.snapshot.counters.admittedAfterWait == 1)
    }

    /// While slots are free, the answer needs no lock.
    @Test("an announcement passes while slots are free, and is refused once its time is up or the limiter drains")
    func announcements() throws {
        let time = ManualClock()
        let limiter = InFlightLimiter(
            configuration: LimiterConfiguration(limit: 2, policy: .dropNewest), clock: time.clock)
        let now = time.clock.now()
        #expect(limiter.announce(deadline: now.advanced(by: .seconds(1))) == nil)
        #expect(limiter.announce(deadline: now) == .deadlineExceeded)
        let slots = try (0..<2).map { _ in try #require(limiter.tryAcquire()) }
        #expect(limiter.announce() != nil, "all slots are taken")
        slots[0].release()
        #expect(limiter.announce() == nil)
        limiter.resize(limit: 1)
        #expect(limiter.announce() != nil, "one is taken")
        limiter.resize(limit: 2)
        #expect(limiter.announce() == nil)
        limiter.beginDraining()
        #expect(limiter.announce() == .draining)
        let counters = limiter.snapshot.counters
        #expect(counters.refusedDeadlineExceeded == 1 && counters.refusedQueueFull == 2)
        #expect(counters.refusedDraining == 1)
        #expect(counters.arrived == 6, "what passes is counted when it asks for a slot")
        // The end of its lifetime releases a slot; in an optimized build, that has happened already.
        slots[1].release()
    }

    @Test("an announcement of long work is refused while long work has all the slots that it may have")
    func announcementsOfLongWork() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 2, policy: .dropNewest))
        let long = Claim.usual.working(Claim.long)
        #expect(limiter.announce(claim: long) == nil)
        let slot = try await limiter.acquire(claim: long)
        #expect(limiter.announce(claim: long) != nil)
        #expect(limiter.announce() == nil, "the other slot is free")
        slot.release()
        #expect(limiter.announce(claim: long) == nil)
    }

    @Test("a slot that is dropped without a release is released")
    func aDroppedPermitGivesItsSlotBack() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
        do { _ = try await limiter.acquire() }
        #expect(limiter.snapshot.inFlight == 0)
        _ = try await limiter.acquire()
        #expect(limiter.snapshot.counters.released == 2)
    }

    @Test("a cancelled waiter leaves the queue")
    func cancellingAWaiterRemovesItFromTheQueue() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
        let slot = try await limiter.acquire()
        let waiter = Task { () -> AdmissionError? in
            do throws(AdmissionError) {
                _ = try await limiter.acquire()
                return nil
            } catch { return error }
        }
        await eventually { limiter.snapshot.waiting == 1 }
        waiter.cancel()
        #expect(await waiter.value == .cancelled)
        #expect(limiter.snapshot.waiting == 0)
        slot.release()
        #expect(limiter.snapshot.inFlight == 0)
    }

    @Test("a task that is cancelled before its request gets no slot")
    func aTaskThatIsCancelledAlreadyGetsNoSlot() async {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
        let error = await Task { () -> AdmissionError? in
            withUnsafeCurrentTask { $0?.cancel() }
            do throws(AdmissionError) {
                _ = try await limiter.acquire()
                return nil
            } catch { return error }
        }.value
        #expect(error == .cancelled)
        #expect(limiter.snapshot.counters.leftCancelled == 1)
    }

    @Test("the timer ends a wait when the longest wait is over")
    func aWaitEndsByTheTimer() async throws {
        let time = ManualClock()
        let limiter = InFlightLimiter(
            configuration: LimiterConfiguration(limit: 1, maxWait: .seconds(3)), clock: time.clock)
        let slot = try await limiter.acquire()
        async let error = failure { () async throws(AdmissionError) in _ = try await limiter.acquire() }
        await eventually { time.sleepers == 1 }
        time.advance(by: .seconds(2))
        #expect(limiter.snapshot.waiting == 1)
        time.advance(by: .seconds(1))
        #expect(await error == .waitTimedOut(.seconds(3)))
        slot.release()
    }

    @Test("draining refuses new requests and lets the waiters finish")
    func drainingLetsTheWaitersFinish() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
        let slot = try await limiter.acquire()
        async let second = limiter.acquire()
        await eventually { limiter.snapshot.waiting == 1 }
        limiter.beginDraining()
        #expect(await failure { () async throws(AdmissionError) in _ = try await limiter.acquire() } == .draining)
        #expect(limiter.tryAcquire() == nil)
        async let end: Void = limiter.drained()
        slot.release()
        try await second.release()
        await end
        await limiter.drained()
        #expect(limiter.snapshot.inFlight == 0)
    }

    /// The drain continues; only the task stops waiting for it.
    @Test("a cancelled task stops waiting for the drain, before the slots are released", arguments: [true, false])
    func drainedReturnsToATaskThatIsCancelled(beforeItAsks: Bool) async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
        let slot = try await limiter.acquire()
        limiter.beginDraining()
        let asks = Mutex(false)
        let returned = Mutex(false)
        let task = Task {
            if beforeItAsks { withUnsafeCurrentTask { $0?.cancel() } }
            asks.withLock { $0 = true }
            await limiter.drained()
            returned.withLock { $0 = true }
        }
        await eventually { asks.withLock { $0 } }
        for _ in 0..<100 { await Task.yield() }
        #expect(beforeItAsks || returned.withLock { !$0 })
        if !beforeItAsks { task.cancel() }
        await eventually { returned.withLock { $0 } }
        #expect(returned.withLock { $0 })
        slot.release()
    }

    @Test("resizing some limits leaves the other limits unchanged")
    func newBoundsLeaveTheOthersAsTheyAre() {
        let limiter = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: 2, queueCapacity: 3, maxWait: .seconds(4), policy: .dropOldest, expectedServiceTime: .seconds(5))
        )
        limiter.resize(limit: 7)
        #expect(
            limiter.snapshot.configuration
                == LimiterConfiguration(
                    limit: 7, queueCapacity: 3, maxWait: .seconds(4), policy: .dropOldest,
                    expectedServiceTime: .seconds(5)))
        limiter.resize(queueCapacity: 8, maxWait: .seconds(9), policy: .defer, overloadTarget: .seconds(6))
        #expect(
            limiter.snapshot.configuration
                == LimiterConfiguration(
                    limit: 7, queueCapacity: 8, maxWait: .seconds(9), policy: .defer,
                    expectedServiceTime: .seconds(5), overloadTarget: .seconds(6)))
        limiter.resize(limit: 1)
        #expect(limiter.snapshot.configuration.overloadTarget == .seconds(6))
    }
}

/// The error thrown by `body`, or nil.
func failure(of body: () async throws(AdmissionError) -> Void) async -> AdmissionError? {
    do throws(AdmissionError) {
        try await body()
        return nil
    } catch { return error }
}
