import Dispatch
import FlowControl
import Glibc
import InferenceService
internal import ServiceCore
import Synchronization
import SystemSupport
import TestSupport
import Testing
internal import WireFormats

/// The queue for work without a slot: turns, limits, deadlines, disconnected clients.
@Suite(.timeLimit(.minutes(2))) struct WorkQueueTests {
    /// A gate at which work waits, on its own thread.
    private final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)

        func wait() { semaphore.wait() }

        func open(_ times: Int = 1) { for _ in 0..<times { semaphore.signal() } }
    }

    private final class Notes: Sendable {
        private let names = Mutex<[String]>([])
        var all: [String] { names.withLock { $0 } }
        func add(_ name: String) { names.withLock { $0.append(name) } }
    }

    private static func claim(_ client: UInt64, work: UInt64 = 0) -> Claim { Claim(client: client, work: work) }

    @Test("a client's work is next although another client has 50 jobs waiting")
    func lightClientIsNext() async throws {
        let queue = WorkQueue(atOnce: 1), gate = Gate(), notes = Notes()
        let first = Task { try await queue.run(for: Self.claim(1), until: nil) { _ in gate.wait() } }
        #expect(eventually { queue.snapshot.inFlight == 1 })
        var tasks: [Task<Void, any Error>] = []
        for _ in 0..<50 {
            tasks.append(Task { try await queue.run(for: Self.claim(1), until: nil) { _ in notes.add("heavy") } })
        }
        #expect(eventually { queue.snapshot.waiting == 50 })
        tasks.append(Task { try await queue.run(for: Self.claim(2), until: nil) { _ in notes.add("light") } })
        #expect(eventually { queue.snapshot.waiting == 51 })
        gate.open()
        for task in [first] + tasks { try await task.value }
        #expect(notes.all.first == "light" && notes.all.count == 51)
        #expect(queue.snapshot.maximumInFlightEver == 1)
    }

    @Test("no more jobs run at once than the queue has places, and long work leaves one for others")
    func workIsBounded() async throws {
        let queue = WorkQueue(atOnce: 3), gate = Gate(), running = Counter()
        var tasks: [Task<Void, any Error>] = []
        for client in 0..<6 {
            tasks.append(
                Task {
                    try await queue.run(for: Self.claim(UInt64(client), work: Claim.long), until: nil) { _ in
                        running.value.add(1, ordering: .relaxed)
                        gate.wait()
                    }
                })
        }
        #expect(eventually { running.value.load(ordering: .relaxed) == 2 && queue.snapshot.waiting == 4 })
        // The third place is not given to long work.
        try await queue.run(for: Self.claim(9), until: nil) { _ in }
        #expect(running.value.load(ordering: .relaxed) == 2)
        gate.open(6)
        for task in tasks { try await task.value }
        #expect(queue.snapshot.maximumInFlightEver == 3)
        await Self.expectRest(queue)
    }

    @Test("work is refused and does not run if its deadline passes while it waits")
    func deadlineEndsTheWait() async throws {
        let queue = WorkQueue(atOnce: 1), gate = Gate(), notes = Notes()
        let first = Task { try await queue.run(for: Self.claim(1), until: nil) { _ in gate.wait() } }
        #expect(eventually { queue.snapshot.inFlight == 1 })
        for deadline in [MonotonicInstant.now, .now + .milliseconds(30)] {
            let error = await #expect(throws: ServiceError.self) {
                try await queue.run(for: Self.claim(2), until: deadline) { _ in notes.add("late") }
            }
            #expect(error?.label == "deadline_exceeded", "\(error?.message ?? "")")
        }
        gate.open()
        try await first.value
        #expect(notes.all.isEmpty)
        await Self.expectRest(queue)
    }

    @Test("work of a disconnected client does not start if it waits, and is cancelled if it runs")
    func cancellation() async throws {
        let queue = WorkQueue(atOnce: 1), notes = Notes()
        let running = Task {
            try await queue.run(for: Self.claim(1), until: nil) { isCancelled in
                notes.add("begun")
                while !isCancelled() { SystemThread.pause() }
                notes.add("told")
            }
        }
        #expect(eventually { notes.all == ["begun"] })
        let waiting = Task { try await queue.run(for: Self.claim(1), until: nil) { _ in notes.add("ran") } }
        #expect(eventually { queue.snapshot.waiting == 1 })
        waiting.cancel()
        await #expect(throws: ServiceError.self) { try await waiting.value }
        running.cancel()
        try await running.value
        #expect(notes.all == ["begun", "told"])
        await Self.expectRest(queue)
    }

    @Test("short text is read at once, on the calling thread, while the queue is full")
    func shortTextDoesNotWait() async throws {
        let queue = WorkQueue(atOnce: 1), gate = Gate()
        let first = Task { try await queue.run(for: Self.claim(1), until: nil) { _ in gate.wait() } }
        #expect(eventually { queue.snapshot.inFlight == 1 })
        let count = try await queue.read(WorkQueue.shortText, for: Self.claim(1), until: nil) { _ in 7 }
        #expect(count == 7 && queue.snapshot.counters.arrived == 1)
        let long = Task { try await queue.read(WorkQueue.shortText + 1, for: Self.claim(1), until: nil) { _ in 8 } }
        #expect(eventually { queue.snapshot.waiting == 1 })
        gate.open()
        try await first.value
        #expect(try await long.value == 8)
    }

    @Test("no work is lost, run twice or left over, also with cancellations, delays and failures")
    func randomInterleavings() async throws {
        let seed = SplitMix.seed(for: "WorkQueueTests"), rounds = LongTests.times(3, long: 30)
        var random = SplitMix(seed: seed)
        for round in 0..<rounds {
            let queue = WorkQueue(atOnce: Int.random(in: 1...4, using: &random))
            let runs = (0..<200).map { _ in Counter() }
            var tasks: [Task<Result<Int, ServiceError>, Never>] = []
            var cancelled: Set<Int> = []
            for (number, counter) in runs.enumerated() {
                let client = UInt64.random(in: 0..<8, using: &random), turns = Int.random(in: 0..<60, using: &random)
                let fails = random.chance(10), isLong = random.chance(20)
                let deadline = random.chance(15) ? MonotonicInstant.now + .microseconds(turns) : nil
                tasks.append(
                    Task {
                        do throws(ServiceError) {
                            return .success(
                                try await queue.run(
                                    for: Self.claim(client, work: isLong ? Claim.long : 0), until: deadline
                                ) { (isCancelled) throws(ServiceError) in
                                    counter.value.add(1, ordering: .relaxed)
                                    for _ in 0..<turns where !isCancelled() { SystemThread.pause() }
                                    if fails { throw ServiceError(.internal, "fails") }
                                    return number
                                })
                        } catch {
                            return .failure(error)
                        }
                    })
                if random.chance(25) {
                    let victim = Int.random(in: 0...number, using: &random)
                    cancelled.insert(victim)
                    tasks[victim].cancel()
                }
                if random.chance(10) { await Task.yield() }
            }
            for (number, task) in tasks.enumerated() {
                let outcome = await task.value, ran = runs[number].value.load(ordering: .relaxed)
                switch outcome {
                case .success(let value): #expect(value == number && ran == 1, "seed \(seed), round \(round)")
                case .failure(let error) where error.code == .internal && error.message == "fails":
                    #expect(ran == 1, "seed \(seed), round \(round)")
                case .failure(let error):
                    #expect(ran == 0, "seed \(seed), round \(round): \(error.message)")
                    #expect(
                        cancelled.contains(number) || error.label.hasPrefix("deadline"),
                        "seed \(seed), round \(round): \(error.label)")
                }
            }
            await Self.expectRest(queue)
        }
    }

    private final class Counter: Sendable {
        let value = Atomic(0)
    }

    /// Expects that all places are free, and that all work is accounted for.
    private static func expectRest(_ queue: WorkQueue) async {
        #expect(eventually { queue.snapshot.inFlight == 0 && queue.snapshot.waiting == 0 })
        let counters = queue.snapshot.counters
        #expect(counters.admitted == counters.released)
        #expect(counters.arrived == counters.admitted + counters.refused + counters.left)
    }
}

extension LimiterSnapshot {
    fileprivate var maximumInFlightEver: Int { counters.peakInFlight }
}

extension SystemThread {
    /// Pauses the calling thread, which is not in Swift's pool.
    fileprivate static func pause() { usleep(20) }
}
