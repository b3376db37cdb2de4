import FlowControl
import Testing

/// Gives other tasks a chance until the condition holds. Not a sleep: what is waited for is bound to come.
func eventually(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

@Suite(.timeLimit(.minutes(5))) struct InFlightLimiterTests {
    @Test func grantsUpToTheLimitAndThenInOrder() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 2))
        let first = try await limiter.acquire()
        let second = try #require(limiter.tryAcquire())
        #expect(limiter.tryAcquire() == nil)
        #expect(limiter.announce() == nil)

        async let third = limiter.acquire()
        await eventually { limiter.snapshot.waiting == 1 }
        first.release()
        first.release()
        let permit = try await third
        #expect(limiter.snapshot.inFlight == 2)
        permit.release()
        second.release()
        #expect(limiter.snapshot.inFlight == 0)
        #expect(limiter.snapshot.counters.released == 3)
        #expect(limiter.snapshot.counters.admittedAfterWait == 1)
    }

    @Test func aDroppedPermitGivesItsSlotBack() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
        do { _ = try await limiter.acquire() }
        #expect(limiter.snapshot.inFlight == 0)
        _ = try await limiter.acquire()
        #expect(limiter.snapshot.counters.released == 2)
    }

    @Test func cancellingAWaiterRemovesItFromTheQueue() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
        let permit = try await limiter.acquire()
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
        permit.release()
        #expect(limiter.snapshot.inFlight == 0)
    }

    @Test func aTaskThatIsCancelledAlreadyGetsNoSlot() async {
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

    @Test func aWaitEndsByTheTimer() async throws {
        let time = ManualClock()
        let limiter = InFlightLimiter(
            configuration: LimiterConfiguration(limit: 1, maxWait: .seconds(3)), clock: time.clock)
        let permit = try await limiter.acquire()
        async let error = failure { () async throws(AdmissionError) in _ = try await limiter.acquire() }
        await eventually { time.sleepers == 1 }
        time.advance(by: .seconds(2))
        #expect(limiter.snapshot.waiting == 1)
        time.advance(by: .seconds(1))
        #expect(await error == .waitTimedOut(.seconds(3)))
        permit.release()
    }

    @Test func drainingLetsTheWaitersFinish() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
        let permit = try await limiter.acquire()
        async let second = limiter.acquire()
        await eventually { limiter.snapshot.waiting == 1 }
        limiter.beginDraining()
        #expect(await failure { () async throws(AdmissionError) in _ = try await limiter.acquire() } == .draining)
        #expect(limiter.tryAcquire() == nil)
        async let end: Void = limiter.drained()
        permit.release()
        try await second.release()
        await end
        await limiter.drained()
        #expect(limiter.snapshot.inFlight == 0)
    }
}

/// The error that `body` ends with, or nil.
func failure(of body: () async throws(AdmissionError) -> Void) async -> AdmissionError? {
    do throws(AdmissionError) {
        try await body()
        return nil
    } catch { return error }
}
