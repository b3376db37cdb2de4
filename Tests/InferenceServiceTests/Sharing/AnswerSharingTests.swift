import InferenceService
import Synchronization
import SystemSupport
internal import Tasks
import TestSupport
import Testing

/// Requests that share answers, in tasks.
@Suite struct AnswerSharingTests {
    struct Refused: Error, Equatable {
        var reason: String
    }
    typealias Sharing = AnswerSharing<Asked, Int, Refused>

    /// A content that records its release, and reports a later read.
    final class Asked: SharedContent {
        private let text: String
        private let isGone = Atomic<Bool>(false)
        private let wasReadLate = Atomic<Bool>(false)
        var hasGone: Bool { isGone.load(ordering: .acquiring) }
        var isSound: Bool { !wasReadLate.load(ordering: .acquiring) }

        init(_ text: String) { self.text = text }

        var value: String {
            if hasGone { wasReadLate.store(true, ordering: .releasing) }
            return text
        }
        func releaseMemory() {
            if isGone.exchange(true, ordering: .acquiringAndReleasing) {
                wasReadLate.store(true, ordering: .releasing)
            }
        }
        static func == (left: Asked, right: Asked) -> Bool { left.value == right.value }
    }

    /// Work that waits until a test ends it, and counts its calls.
    final class Bench: Sendable {
        struct State {
            var begun = 0
            var cancelled = 0
            var isOpen = false
        }
        private let state = Mutex(State())
        var begun: Int { state.withLock { $0.begun } }
        var cancelled: Int { state.withLock { $0.cancelled } }
        func open() { state.withLock { $0.isOpen = true } }

        func work(_ result: Result<Int, Refused>, use: AnswerUse = .kept(size: 1)) async -> Result<
            Sharing.Product, Refused
        > {
            state.withLock { $0.begun += 1 }
            while !state.withLock({ $0.isOpen }) {
                if Task.isCancelled {
                    state.withLock { $0.cancelled += 1 }
                    return .failure(Refused(reason: "cancelled work"))
                }
                try? await Task.sleep(for: .milliseconds(1))
            }
            return result.map { Sharing.Product($0, use: use) }
        }
    }

    private static let key = SipHash.Key(low: 1, high: 2)
    private static let gone = Refused(reason: "gone"), late = Refused(reason: "late")
    private static let failures = Sharing.Failures(cancelled: gone, late: late)

    /// Waits, for a limited time, until a condition is true, without blocking a thread.
    private func until(_ condition: () -> Bool) async throws {
        for _ in 0..<20_000 where !condition() { try await Task.sleep(for: .milliseconds(1)) }
        try #require(condition())
    }

    private static func sharing(capacity: Int = 0) -> Sharing {
        Sharing(Sharing.Machine.Limits(capacity: capacity, age: .seconds(100)))
    }

    private static func ask(_ sharing: Sharing, _ bench: Bench, _ result: Result<Int, Refused> = .success(7))
        -> Task<(Sharing.Outcome, Sharing.Origin), Never>
    {
        Task {
            let answer = await sharing.answer(key, Asked("x"), failures) { _ in await bench.work(result) }
            return (answer.outcome, answer.origin)
        }
    }

    @Test("ten concurrent equal requests are computed once")
    func once() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let tasks = (0..<10).map { _ in Self.ask(sharing, bench) }
        try await until { sharing.waiting.requests == 10 }
        #expect(sharing.usage.joined == 0, "none has got it yet")
        bench.open()
        var computed = 0
        for task in tasks {
            let (outcome, origin) = await task.value
            #expect(outcome == .success(7))
            if case .computed = origin { computed += 1 }
        }
        #expect(computed == 1)
        #expect(bench.begun == 1)
        #expect(sharing.usage.joined == 9 && sharing.usage.misses == 1)
    }

    @Test("the first request may leave, and the work continues for the other requests")
    func leaderLeaves() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let first = Self.ask(sharing, bench)
        try await until { bench.begun == 1 }
        let second = Self.ask(sharing, bench)
        try await until { sharing.waiting.requests == 2 }
        first.cancel()
        #expect(await first.value.0 == .failure(Self.gone))
        bench.open()
        #expect(await second.value.0 == .success(7))
        #expect(bench.begun == 1)
        #expect(bench.cancelled == 0)
    }

    @Test("the work is cancelled when the last request leaves")
    func allLeave() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let tasks = (0..<3).map { _ in Self.ask(sharing, bench) }
        try await until { sharing.waiting.requests == 3 && bench.begun == 1 }
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value.0 == .failure(Self.gone)) }
        try await until { bench.cancelled == 1 }
        #expect(sharing.usage.joined == 0, "who left got nothing")
        // A later request does not get the result of the cancelled work.
        bench.open()
        #expect(await Self.ask(sharing, bench).value.0 == .success(7))
        #expect(bench.begun == 2)
    }

    @Test("a failure is not shared: the other requests compute their own answers")
    func failure() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let first = Self.ask(sharing, bench, .failure(Refused(reason: "first")))
        try await until { bench.begun == 1 }
        let second = Self.ask(sharing, bench, .success(8))
        try await until { sharing.waiting.requests == 2 }
        bench.open()
        #expect(await first.value.0 == .failure(Refused(reason: "first")))
        let (outcome, origin) = await second.value
        #expect(outcome == .success(8))
        if case .computed = origin {} else { Issue.record("its own answer is said to be another's") }
        #expect(bench.begun == 2)
        #expect(sharing.usage.joined == 0 && sharing.usage.misses == 2)
    }

    @Test("an answer that must not be shared is given to no other request")
    func own() async throws {
        let sharing = Self.sharing(capacity: 10), bench = Bench()
        let tasks = [1, 2].map { number in
            Task {
                await sharing.answer(Self.key, Asked("x"), Self.failures) { _ in
                    await bench.work(.success(number), use: .own)
                }.outcome
            }
        }
        try await until { sharing.waiting.requests == 2 }
        bench.open()
        var answers: Set<Int> = []
        for task in tasks { answers.insert(try await task.value.get()) }
        #expect(answers == [1, 2])
        #expect(sharing.usage.answers == 0)
        #expect(sharing.usage.joined == 0 && sharing.usage.misses == 2)
    }

    @Test("cached answers are used again; answers that are only for waiting requests are not cached")
    func kept() async {
        let sharing = Self.sharing(capacity: 10), bench = Bench()
        bench.open()
        let other = SipHash.Key(low: 3, high: 4)
        for expected in [1, 1] {
            _ = await Self.ask(sharing, bench).value
            #expect(bench.begun == expected)
        }
        for expected in [2, 3] {
            _ = await sharing.answer(other, Asked("y"), Self.failures) { _ in
                await bench.work(.success(1), use: .shared)
            }
            #expect(bench.begun == expected)
        }
    }

    @Test("after a failure each waiting request computes its own answer at once")
    func afterAFailure() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let first = Self.ask(sharing, bench, .failure(Refused(reason: "first")))
        try await until { bench.begun == 1 }
        let others = (0..<9).map { _ in Self.ask(sharing, bench, .success(8)) }
        try await until { sharing.waiting.requests == 10 }
        bench.open()
        #expect(await first.value.0 == .failure(Refused(reason: "first")))
        for other in others { #expect(await other.value.0 == .success(8)) }
        #expect(bench.begun == 10)
        #expect(sharing.waiting.requests == 0 && sharing.waiting.timers == 0)
    }

    @Test("a waiting request releases its content, and computes with the other's content if the work fails")
    func contents() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let contents = [Asked("x"), Asked("x")]
        func ask(_ content: Asked, _ result: Result<Int, Refused>) -> Task<Sharing.Reply, Never> {
            Task {
                await sharing.answer(Self.key, content, Self.failures) { given in
                    #expect(given.value == "x" && !given.hasGone)
                    return await bench.work(result)
                }
            }
        }
        let first = ask(contents[0], .failure(Refused(reason: "first")))
        try await until { bench.begun == 1 }
        let second = ask(contents[1], .success(8))
        try await until { contents[1].hasGone }
        #expect(!contents[0].hasGone)
        bench.open()
        _ = await first.value
        let reply = await second.value
        #expect(reply.outcome == .success(8))
        #expect(reply.content === contents[0])
    }

    @Test("each request waits until its own deadline, and the work goes on")
    func deadlines() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let first = Self.ask(sharing, bench)
        try await until { bench.begun == 1 }
        let now = MonotonicInstant.now
        let waits: [Duration] = [.milliseconds(5), .seconds(1_000)]
        let waiters = waits.map { wait in
            Task {
                await sharing.answer(Self.key, Asked("x"), deadline: now + wait, Self.failures) { _ in
                    .failure(Refused(reason: "computed"))
                }.outcome
            }
        }
        #expect(await waiters[0].value == .failure(Self.late))
        #expect(bench.cancelled == 0)
        try await until { sharing.waiting.requests == 2 }
        bench.open()
        #expect(await waiters[1].value == .success(7))
        #expect(await first.value.0 == .success(7))
        #expect(sharing.waiting.requests == 0 && sharing.waiting.timers == 0)
        #expect(sharing.usage.joined == 1, "one got it, one was too late")
    }

    @Test("another content with the same key is computed by itself")
    func collision() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let first = Self.ask(sharing, bench)
        try await until { bench.begun == 1 }
        let other = await sharing.answer(Self.key, Asked("y"), Self.failures) { _ in .success(.init(9, use: .shared)) }
        #expect(other.outcome == .success(9))
        bench.open()
        #expect(await first.value.0 == .success(7))
    }

    @Test("thousands of requests arrive and leave at random: each gets the right answer, and no request remains")
    func storm() async throws {
        var random = SplitMix(seed: SplitMix.seed(for: "AnswerSharingTests.storm"))
        let sharing = Self.sharing(capacity: 20)
        var tasks: [(number: UInt64, allowed: [String], task: Task<Sharing.Outcome, Never>)] = []
        var contents: [Asked] = []
        for _ in 0..<LongTests.times(10_000, long: 100_000) {
            let number = random.next() % 7, pause = random.next() % 200, leaves = random.next() % 2 == 0
            let fails = random.next() % 16 == 0, limit = Int64(random.next() % 2_000),
                deadlines = random.next() % 4 == 0
            let content = Asked("\(number)")
            contents.append(content)
            let task = Task<Sharing.Outcome, Never> {
                let deadline = deadlines ? MonotonicInstant.now + .microseconds(limit) : nil
                return await sharing.answer(
                    SipHash.Key(low: number, high: 0), content, deadline: deadline, Self.failures
                ) { given in
                    #expect(given.value == "\(number)")
                    if fails { return .failure(Refused(reason: "failed")) }
                    try? await Task.sleep(for: .microseconds(pause))
                    guard !Task.isCancelled else { return .failure(Refused(reason: "work cancelled")) }
                    return .success(Sharing.Product(Int(number), use: number == 3 ? .shared : .kept(size: 4)))
                }.outcome
            }
            // Leaving while computing for itself only cancels that work.
            let allowed =
                (leaves ? ["gone", "work cancelled"] : []) + (deadlines ? ["late"] : []) + (fails ? ["failed"] : [])
            tasks.append((number, allowed, task))
            if leaves { task.cancel() }
            if random.next() % 8 == 0 { await Task.yield() }
        }
        for (number, allowed, task) in tasks {
            let outcome = await task.value
            switch outcome {
            case .success(let answer): #expect(answer == Int(number))
            case .failure(let error):
                #expect(allowed.contains(error.reason), "a request failed for another's reason: \(error.reason)")
            }
        }
        try await until { sharing.runs == 0 }
        #expect(sharing.waiting.requests == 0 && sharing.waiting.timers == 0)
        #expect(contents.allSatisfy { $0.isSound }, "a content was read after it was let go, or let go twice")
        #expect(sharing.usage.bytes <= 20)
    }
}
