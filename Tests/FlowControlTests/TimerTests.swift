import FlowControl
import SystemSupport
import Testing

/// The limiter's single timer: how often it is set, and that it retains nothing.
@Suite(.timeLimit(.minutes(1))) struct TimerTests {
    private func limiter(_ time: ManualClock, wait: Duration = .seconds(10), queue: Int = 256) -> InFlightLimiter {
        InFlightLimiter(
            configuration: LimiterConfiguration(limit: 1, queueCapacity: queue, maxWait: wait), clock: time.clock)
    }

    private func acquire(_ limiter: InFlightLimiter, by deadline: MonotonicInstant? = nil) -> Task<
        AdmissionError?, Never
    > {
        Task {
            await failure { () async throws(AdmissionError) in _ = try await limiter.acquire(deadline: deadline) }
        }
    }

    @Test("no timer is set without waiters")
    func noTimerIsSetWithoutWaiters() async throws {
        let time = ManualClock()
        let limiter = limiter(time)
        for _ in 0..<100 { try await limiter.acquire().release() }
        #expect(time.sleepsBegun == 0)
    }

    @Test("a hundred waiters share a single timer")
    func aHundredWaitersShareOneTimer() async throws {
        let time = ManualClock()
        let limiter = limiter(time)
        let slot = try await limiter.acquire()
        var tasks: [Task<AdmissionError?, Never>] = []
        for count in 1...100 {
            tasks.append(acquire(limiter))
            await eventually { limiter.snapshot.waiting == count }
            time.advance(by: .milliseconds(1))
        }
        await eventually { time.sleepers == 1 }
        slot.release()
        for task in tasks { #expect(await task.value == nil) }
        #expect(time.sleepsBegun == 1)
    }

    @Test("an earlier deadline replaces the timer, and the later wait still ends in time")
    func anEarlierDeadlineReplacesTheTimer() async throws {
        let time = ManualClock()
        let limiter = limiter(time)
        let slot = try await limiter.acquire()
        let patient = acquire(limiter)
        await eventually { time.sleepers == 1 }
        let hurried = acquire(limiter, by: time.now + .seconds(4))
        await eventually { time.sleepsBegun == 2 && time.sleepers == 1 }
        time.advance(by: .seconds(4))
        #expect(await hurried.value == .deadlineExceeded)
        await eventually { time.sleepsBegun == 3 }
        time.advance(by: .seconds(6))
        #expect(await patient.value == .waitTimedOut(.seconds(10)))
        #expect(time.sleepers == 0)
        slot.release()
    }

    @Test("the timer ends with its limiter")
    func itEndsWithTheLimiter() async throws {
        let time = ManualClock()
        weak var gone: InFlightLimiter?
        do {
            let limiter = limiter(time)
            gone = limiter
            let slot = try await limiter.acquire()
            let waiter = acquire(limiter)
            await eventually { time.sleepers == 1 }
            slot.release()
            #expect(await waiter.value == nil)
        }
        // The waiter's task may retain the limiter for a moment after its value is available.
        await eventually { gone == nil }
        await eventually { time.sleepers == 0 }
    }

    @Test("a held slot keeps its limiter alive until the slot is gone")
    func aPermitKeepsTheLimiterUntilItIsGone() async throws {
        weak var gone: InFlightLimiter?
        var slot: Slot?
        do {
            let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
            gone = limiter
            slot = try await limiter.acquire()
        }
        #expect(gone != nil)
        slot?.release()
        slot = nil
        #expect(gone == nil)
    }

    @Test("a wait with the system clock ends when the longest wait is over")
    func theSystemClockWakesAWaiter() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1, maxWait: .milliseconds(20)))
        let slot = try await limiter.acquire()
        let error = await acquire(limiter).value
        guard case .waitTimedOut(let waited) = error else {
            Issue.record("ended with \(String(describing: error))")
            return
        }
        #expect(waited >= .milliseconds(20))
        slot.release()
    }

    @Test("over a short sleep the limiter's system clock runs as fast as Swift's suspending clock")
    func theSystemClockAndSwiftsOwnRunTogether() async throws {
        let clock = MonotonicClock.system, swifts = SuspendingClock()
        // Swift's clock is read outside and inside: the readings are ordered even if they are late.
        let outerStart = swifts.now, start = clock.now(), innerStart = swifts.now
        try await Task.sleep(for: .milliseconds(20), clock: .suspending)
        let innerEnd = swifts.now, end = clock.now(), outerEnd = swifts.now
        #expect(end - start >= innerStart.duration(to: innerEnd))
        #expect(end - start <= outerStart.duration(to: outerEnd))
    }
}
