import FlowControl
import Foundation
import SystemSupport
import Testing

/// Measures the cost of a slot. Prints results, and asserts nothing.
@Suite(
    .serialized,
    .enabled(
        if: ProcessInfo.processInfo.environment["OCELLI_BENCH"] != nil,
        "a measurement: `OCELLI_BENCH=1 make test TESTS=AcquireBenchmark`"))
struct AcquireBenchmark {
    private let rounds = 1_000_000

    /// Reports the best of five runs, which is the least disturbed one.
    private func report(_ name: String, per operations: Int, _ body: () async throws -> Void) async rethrows {
        var best = Int64.max
        for _ in 0..<5 {
            let start = MonotonicInstant.now
            try await body()
            best = min(best, (MonotonicInstant.now - start).saturatedNanoseconds)
        }
        print("\(name): \(best / Int64(operations)) ns")
    }

    @Test("the cost of acquire and release with a free slot is measured")
    func uncontended() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 4))
        try await report("acquire and release, a free slot", per: rounds) {
            for _ in 0..<rounds { try await limiter.acquire().release() }
        }
        let deadline = MonotonicInstant.now + .seconds(3600)
        try await report("the same with a deadline", per: rounds) {
            for _ in 0..<rounds { try await limiter.acquire(deadline: deadline).release() }
        }
        await report("tryAcquire and release", per: rounds) {
            for _ in 0..<rounds { limiter.tryAcquire()?.release() }
        }
        await report("announce", per: rounds) {
            for _ in 0..<rounds { _ = limiter.announce() }
        }
        await report("the clock alone (acquire and release read it twice)", per: rounds) {
            for _ in 0..<rounds { _ = MonotonicClock.system.now() }
        }
    }

    @Test("the cost of acquire and release by four tasks at once is measured")
    func contended() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 8))
        try await report("acquire and release, four tasks, slots for all", per: rounds) {
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { for _ in 0..<rounds / 4 { try await limiter.acquire().release() } }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("the cost of a refusal is measured")
    func refused() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1, policy: .dropNewest))
        let slot = try await limiter.acquire()
        await report("a refusal", per: rounds) {
            for _ in 0..<rounds {
                _ = await failure { () async throws(AdmissionError) in _ = try await limiter.acquire() }
            }
        }
        slot.release()
    }

    @Test("the cost of a task that waits in a long queue, or is cancelled there, is measured")
    func queued() async throws {
        let count = 100_000
        let limiter = InFlightLimiter(
            configuration: LimiterConfiguration(limit: 1, queueCapacity: count, maxWait: .seconds(3600)))
        try await report("a task that waits its turn in a queue of 100,000, in all", per: count) {
            let slot = try await limiter.acquire()
            try await withThrowingTaskGroup { group in
                for _ in 0..<count { group.addTask { try await limiter.acquire().release() } }
                await eventually { limiter.snapshot.waiting == count }
                slot.release()
                try await group.waitForAll()
            }
        }
        await report("a task cancelled out of a queue of 100,000, in all", per: count) {
            let slot = limiter.tryAcquire()
            await withTaskGroup { group in
                for _ in 0..<count { group.addTask { _ = try? await limiter.acquire() } }
                await eventually { limiter.snapshot.waiting == count }
                group.cancelAll()
                await group.waitForAll()
            }
            slot?.release()
        }
    }
}
