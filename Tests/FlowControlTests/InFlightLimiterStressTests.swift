import FlowControl
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Thousands of real tasks on real threads, for the Thread Sanitizer and for errors of rare schedules.
@Suite(.serialized, .timeLimit(.minutes(5))) struct InFlightLimiterStressTests {
    /// The counts kept by the tasks.
    private final class Tally: Sendable {
        let inWork = Atomic(0)
        let maximum = Atomic(0)
        let served = Atomic(0)
        let refused = Mutex<[String: Int]>([:])

        func enter() {
            let now = inWork.add(1, ordering: .acquiringAndReleasing).newValue
            _ = maximum.max(now, ordering: .relaxed)
        }

        func leave() {
            inWork.subtract(1, ordering: .acquiringAndReleasing)
            served.add(1, ordering: .relaxed)
        }

        func refuse(_ error: AdmissionError) {
            refused.withLock { $0[error.label, default: 0] += 1 }
        }
    }

    /// One request: takes a slot, works for a few turns, and releases it in one of the possible ways.
    private static func request(
        _ limiter: InFlightLimiter, _ tally: Tally, deadline: Duration?, turns: Int, way: Int
    ) async {
        do throws(AdmissionError) {
            let slot = try await limiter.acquire(deadline: deadline.map { .now + $0 })
            tally.enter()
            for _ in 0..<turns { await Task.yield() }
            tally.leave()
            switch way {
            case 0: slot.release()
            case 1: break
            default:
                // Like an engine's callback: from another task, twice, and later.
                Task.detached {
                    slot.release()
                    slot.release()
                }
            }
        } catch { tally.refuse(error) }
    }

    /// Checks the numbers that must be zero again once all requests are over.
    private static func checkAtRest(_ limiter: InFlightLimiter) async {
        await eventually { limiter.snapshot.inFlight == 0 }
        let end = limiter.snapshot
        #expect(end.waiting == 0)
        #expect(end.counters.admitted == end.counters.released)
        #expect(end.counters.arrived == end.counters.admitted + end.counters.refused + end.counters.left)
        #expect(end.predictedWait == .zero)
    }

    @Test("random cancellations at any moment lose no request and no slot", arguments: OverloadPolicy.allCases)
    func randomCancellationsAtEverySuspensionPoint(policy: OverloadPolicy) async {
        let seed = SplitMix.seed(for: "randomCancellationsAtEverySuspensionPoint(\(policy.rawValue))")
        var random = SplitMix(seed: seed)
        let limit = 3
        let limiter = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: limit, queueCapacity: 1500, maxWait: .seconds(2), policy: policy))
        let tally = Tally()
        let count = 4000
        await withTaskGroup { group in
            for _ in 0..<count {
                let deadline: Duration? =
                    random.chance(20) ? .milliseconds(Int.random(in: 0...100, using: &random)) : nil
                let (turns, way) = (Int.random(in: 0...5, using: &random), Int.random(in: 0...2, using: &random))
                let task = Task { await Self.request(limiter, tally, deadline: deadline, turns: turns, way: way) }
                // Cancelled at once, after some turns, or never: before the arrival, before the suspension, in the
                // queue, at the grant, during the work, or afterwards.
                let patience = Int.random(in: 0...40, using: &random)
                let cancels = random.chance(50)
                group.addTask {
                    if cancels {
                        for _ in 0..<patience { await Task.yield() }
                        task.cancel()
                    }
                    await task.value
                }
                if random.chance(10) { await Task.yield() }
            }
        }
        let refused = tally.refused.withLock { $0 }
        print("  served \(tally.served.load(ordering: .relaxed)), not served \(refused)")
        #expect(tally.served.load(ordering: .relaxed) + refused.values.reduce(0, +) == count)
        #expect(tally.maximum.load(ordering: .relaxed) <= limit)
        await Self.checkAtRest(limiter)
        #expect(limiter.snapshot.counters.arrived == UInt64(count))
    }

    @Test("resizes while requests come and go leave every counter consistent")
    func resizesWhileRequestsComeAndGo() async {
        var random = SplitMix(seed: SplitMix.seed(for: "resizesWhileRequestsComeAndGo"))
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 2, maxWait: .seconds(600)))
        let tally = Tally()
        await withTaskGroup { group in
            for index in 0..<2000 {
                let (turns, way) = (Int.random(in: 0...3, using: &random), Int.random(in: 0...2, using: &random))
                group.addTask { await Self.request(limiter, tally, deadline: nil, turns: turns, way: way) }
                if index % 20 == 0 {
                    let limit = Int.random(in: 1...6, using: &random)
                    let policy = OverloadPolicy.allCases.randomElement(using: &random)
                    let capacity = Int.random(in: 1...300, using: &random)
                    group.addTask { limiter.resize(limit: limit, queueCapacity: capacity, policy: policy) }
                }
            }
        }
        #expect(tally.maximum.load(ordering: .relaxed) <= 6)
        await Self.checkAtRest(limiter)
    }

    @Test("drains while requests come and go end with no slot taken")
    func drainsWhileRequestsComeAndGo() async {
        var random = SplitMix(seed: SplitMix.seed(for: "drainsWhileRequestsComeAndGo"))
        for round in 0..<100 {
            let limiter = InFlightLimiter(
                configuration: LimiterConfiguration(limit: 2, queueCapacity: 30, maxWait: .seconds(600)))
            let tally = Tally()
            await withTaskGroup { group in
                for _ in 0..<20 {
                    let (turns, way) = (Int.random(in: 0...3, using: &random), Int.random(in: 0...2, using: &random))
                    group.addTask { await Self.request(limiter, tally, deadline: nil, turns: turns, way: way) }
                }
                for _ in 0..<3 {
                    let cancels = random.chance(30)
                    group.addTask {
                        let task = Task { await limiter.drained() }
                        if cancels { task.cancel() }
                        await task.value
                        if !cancels { #expect(limiter.snapshot.inFlight == 0) }
                    }
                }
                group.addTask {
                    await Task.yield()
                    limiter.beginDraining(refusingWaiters: round % 2 == 0)
                }
            }
            await Self.checkAtRest(limiter)
            #expect(limiter.tryAcquire() == nil)
        }
    }

    /// A slot is held until the engine is done with it, even if the task that requested it ends.
    @Test("a slot outlives the task that acquired the slot, until the engine's work is over")
    func aCancelledTaskKeepsItsSlotUntilTheWorkIsOver() async throws {
        let limiter = InFlightLimiter(configuration: LimiterConfiguration(limit: 1))
        let callback = Mutex<Slot?>(nil)
        let task = Task {
            let slot = try await limiter.acquire()
            callback.withLock { $0 = slot }
        }
        try await task.value
        task.cancel()
        #expect(limiter.snapshot.inFlight == 1)
        #expect(limiter.tryAcquire() == nil)
        callback.withLock { $0 = nil }
        #expect(limiter.snapshot.inFlight == 0)
    }
}
