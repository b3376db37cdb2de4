import SharedAnswers
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Requests that share answers, in tasks.
@Suite struct AnswerSharingTests {
    struct Refused: Error, Equatable {
        var reason: String
    }
    typealias Sharing = AnswerSharing<String, Int, Refused>

    /// Work that waits until it is told to end, and counts.
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

        func work(_ result: Result<Int, Refused>, use: AnswerUse = .kept(size: 1)) async -> Result<Sharing.Product, Refused> {
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
    private static let gone = Refused(reason: "gone")

    /// Waits, for a bounded time, until something holds, without blocking a thread.
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
            let answer = await sharing.answer(key, "x", cancelled: gone) { await bench.work(result) }
            return (answer.outcome, answer.origin)
        }
    }

    @Test("ten at once compute once")
    func once() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let tasks = (0..<10).map { _ in Self.ask(sharing, bench) }
        try await until { sharing.usage.joined == 9 }
        bench.open()
        var computed = 0
        for task in tasks {
            let (outcome, origin) = await task.value
            #expect(outcome == .success(7))
            if case .computed = origin { computed += 1 }
        }
        #expect(computed == 1)
        #expect(bench.begun == 1)
    }

    @Test("who asked first may leave, and the work goes on for the others")
    func leaderLeaves() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let first = Self.ask(sharing, bench)
        try await until { bench.begun == 1 }
        let second = Self.ask(sharing, bench)
        try await until { sharing.usage.joined == 1 }
        first.cancel()
        #expect(await first.value.0 == .failure(Self.gone))
        bench.open()
        #expect(await second.value.0 == .success(7))
        #expect(bench.begun == 1)
        #expect(bench.cancelled == 0)
    }

    @Test("when the last one leaves, the work is cancelled")
    func allLeave() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let tasks = (0..<3).map { _ in Self.ask(sharing, bench) }
        try await until { sharing.usage.joined == 2 && bench.begun == 1 }
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value.0 == .failure(Self.gone)) }
        try await until { bench.cancelled == 1 }
        // Who comes now is not given the end of what was cancelled.
        bench.open()
        #expect(await Self.ask(sharing, bench).value.0 == .success(7))
        #expect(bench.begun == 2)
    }

    @Test("a failure is the leader's alone: the others compute their own")
    func failure() async throws {
        let sharing = Self.sharing(), bench = Bench()
        let first = Self.ask(sharing, bench, .failure(Refused(reason: "first")))
        try await until { bench.begun == 1 }
        let second = Self.ask(sharing, bench, .success(8))
        try await until { sharing.usage.joined == 1 }
        bench.open()
        #expect(await first.value.0 == .failure(Refused(reason: "first")))
        #expect(await second.value.0 == .success(8))
        #expect(bench.begun == 2)
    }

    @Test("an answer that is the leader's alone is given to nobody else")
    func own() async throws {
        let sharing = Self.sharing(capacity: 10), bench = Bench()
        let tasks = [1, 2].map { number in
            Task {
                await sharing.answer(Self.key, "x", cancelled: Self.gone) {
                    await bench.work(.success(number), use: .own)
                }.outcome
            }
        }
        try await until { sharing.usage.joined == 1 }
        bench.open()
        var answers: Set<Int> = []
        for task in tasks { answers.insert(try await task.value.get()) }
        #expect(answers == [1, 2])
        #expect(sharing.usage.answers == 0)
    }

    @Test("kept answers are given again; those for who waits alone are not kept")
    func kept() async {
        let sharing = Self.sharing(capacity: 10), bench = Bench()
        bench.open()
        let other = SipHash.Key(low: 3, high: 4)
        for expected in [1, 1] {
            _ = await Self.ask(sharing, bench).value
            #expect(bench.begun == expected)
        }
        for expected in [2, 3] {
            _ = await sharing.answer(other, "y", cancelled: Self.gone) { await bench.work(.success(1), use: .shared) }
            #expect(bench.begun == expected)
        }
    }

    @Test("thousands of requests that come and leave at random: each is answered rightly, and nothing is left")
    func storm() async throws {
        var random = SplitMix(seed: SplitMix.seed(for: "AnswerSharingTests.storm"))
        let sharing = Self.sharing(capacity: 20)
        var tasks: [(number: UInt64, isCancelled: Bool, task: Task<Sharing.Outcome, Never>)] = []
        for _ in 0..<LongTests.times(2_000, long: 20_000) {
            let number = random.next() % 7, pause = random.next() % 200, leaves = random.next() % 2 == 0
            let task = Task<Sharing.Outcome, Never> {
                let content = "\(number)"
                return await sharing.answer(SipHash.Key(low: number, high: 0), content, cancelled: Self.gone) {
                    try? await Task.sleep(for: .microseconds(pause))
                    guard !Task.isCancelled else { return .failure(Refused(reason: "work cancelled")) }
                    return .success(Sharing.Product(Int(number), use: number == 3 ? .shared : .kept(size: 4)))
                }.outcome
            }
            tasks.append((number, leaves, task))
            if leaves { task.cancel() }
            if random.next() % 8 == 0 { await Task.yield() }
        }
        for (number, isCancelled, task) in tasks {
            let outcome = await task.value
            switch outcome {
            case .success(let answer): #expect(answer == Int(number))
            case .failure(let error):
                #expect(isCancelled, "a request that stayed failed: \(error.reason)")
                #expect(error == Self.gone)
            }
        }
        try await until { sharing.runs == 0 }
        #expect(sharing.usage.bytes <= 20)
    }
}
