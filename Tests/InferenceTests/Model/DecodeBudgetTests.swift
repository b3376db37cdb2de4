import FlowControl
import Inference
import SystemSupport
import TestSupport
import Testing

/// The budget for the memory of all pictures that are decoded at the same time.
@Suite struct DecodeBudgetTests {
    private let mebibyte = 1 << 20

    private func until(_ condition: () -> Bool) async throws {
        for _ in 0..<2000 {
            if condition() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("waited in vain")
    }

    /// Requests memory for a picture; the task returns the outcome.
    private func ask(
        _ budget: DecodeBudget, _ bytes: Int, of client: UInt64 = 0, until deadline: MonotonicInstant? = nil
    ) -> Task<Result<DecodeBudget.Room?, AdmissionError>, Never> {
        Task {
            do throws(AdmissionError) {
                return .success(try await budget.take(bytes, for: Claim(client: client), until: deadline))
            } catch {
                return .failure(error)
            }
        }
    }

    @Test("a decode budget without a total grants any size at once")
    func nothingIsBoundedAtFirst() async throws {
        let budget = DecodeBudget()
        let rooms = [try await budget.take(1 << 40, until: nil), try await budget.take(1 << 40, until: nil)]
        #expect(budget.usage.used == 2 << 40 && rooms.allSatisfy { $0?.waited == 0 })
        for room in rooms { room?.release() }
        #expect(budget.usage.used == 0 && budget.usage.waiting == 0)
    }

    @Test("a picture below the free size takes no memory and does not wait by a full budget")
    func smallPicturesNeedNone() async throws {
        let budget = DecodeBudget()
        budget.use(total: 1)
        let large = try await budget.take(mebibyte, until: nil)
        #expect(large != nil && budget.usage.used == mebibyte)
        let small = try await budget.take(DecodeBudget.free - 1, until: nil)
        #expect(small == nil)
        large?.release()
    }

    @Test("a client's small picture waits behind its large one, even if memory is available")
    func picturesOfOneClientAreDecodedInOrder() async throws {
        let budget = DecodeBudget()
        budget.use(total: 100 * mebibyte)
        let first = try await budget.take(60 * mebibyte, until: nil)
        let large = ask(budget, 80 * mebibyte)
        try await until { budget.usage.waiting == 1 }
        // Memory is available for these.
        let small = ask(budget, 20 * mebibyte)
        try await until { budget.usage.waiting == 2 }
        #expect(budget.usage.used == 60 * mebibyte)
        first?.release()
        let rooms = try [await large.value.get(), await small.value.get()]
        #expect(budget.usage.used == 100 * mebibyte && rooms.allSatisfy { ($0?.waited ?? 0) > 0 })
        for room in rooms { room?.release() }
        #expect(budget.usage.used == 0 && budget.usage.waiting == 0)
    }

    @Test("a light client's picture comes before the waiting pictures of a heavy client, and both take turns")
    func clientsTakeTurns() async throws {
        let budget = DecodeBudget()
        budget.use(total: 100 * mebibyte)
        let order = Guarded<[String]>([])
        func decode(_ name: String, _ bytes: Int, of client: UInt64) -> Task<Void, any Error> {
            let asked = ask(budget, bytes, of: client)
            return Task {
                let room = try await asked.value.get()
                order.withLock { $0.append(name) }
                room?.release()
            }
        }
        let first = try await budget.take(100 * mebibyte, for: Claim(client: 1), until: nil)
        var tasks: [Task<Void, any Error>] = []
        for number in 1...4 {
            tasks.append(decode("heavy \(number)", 100 * mebibyte, of: 1))
            try await until { budget.usage.waiting == number }
        }
        for number in 1...3 {
            tasks.append(decode("light \(number)", 60 * mebibyte, of: 2))
            try await until { budget.usage.waiting == 4 + number }
        }
        first?.release()
        for task in tasks { try await task.value }
        // After the heavy client's 100 MiB: 60 and 60 of the light client, then 100, and the last 60.
        #expect(
            order.withLock { $0 }
                == ["light 1", "light 2", "heavy 1", "light 3", "heavy 2", "heavy 3", "heavy 4"])
        #expect(budget.usage.used == 0 && budget.usage.waiting == 0)
    }

    @Test("a picture larger than the whole budget waits until no other picture holds memory")
    func whatIsLargerThanEverythingIsDecodedAlone() async throws {
        let budget = DecodeBudget()
        budget.use(total: 10 * mebibyte)
        let first = try await budget.take(2 * mebibyte, until: nil)
        let large = ask(budget, 50 * mebibyte)
        try await until { budget.usage.waiting == 1 }
        first?.release()
        let room = try await large.value.get()
        #expect(budget.usage.used == 50 * mebibyte)
        let next = ask(budget, 2 * mebibyte)
        try await until { budget.usage.waiting == 1 }
        room?.release()
        try await next.value.get()?.release()
        #expect(budget.usage.used == 0)
    }

    @Test("a wait for memory ends at its deadline or when its task is cancelled; the next picture gets the memory")
    func aWaitEndsWithItsDeadlineOrItsTask() async throws {
        let budget = DecodeBudget()
        budget.use(total: 10 * mebibyte)
        let first = try await budget.take(10 * mebibyte, until: nil)
        await #expect(throws: AdmissionError.deadlineExceeded) {
            try await budget.take(mebibyte, until: .now.advanced(by: .milliseconds(20)))
        }
        await #expect(throws: AdmissionError.deadlineExceeded) { try await budget.take(mebibyte, until: .now) }
        let cancelled = ask(budget, 9 * mebibyte)
        let behind = ask(budget, mebibyte)
        try await until { budget.usage.waiting == 2 }
        cancelled.cancel()
        await #expect(throws: AdmissionError.cancelled) { try await cancelled.value.get() }
        let early = Task { () -> Result<DecodeBudget.Room?, AdmissionError> in
            while !Task.isCancelled { await Task.yield() }
            do throws(AdmissionError) {
                return .success(try await budget.take(mebibyte, until: nil))
            } catch {
                return .failure(error)
            }
        }
        early.cancel()
        await #expect(throws: AdmissionError.cancelled) { try await early.value.get() }
        #expect(budget.usage.waiting == 1)
        first?.release()
        try await behind.value.get()?.release()
        #expect(budget.usage.used == 0 && budget.usage.waiting == 0)
    }

    @Test("a larger decode budget admits a waiting picture at once, and a smaller budget holds pictures back")
    func anotherBoundCountsAtOnce() async throws {
        let budget = DecodeBudget()
        budget.use(total: 10 * mebibyte)
        let first = try await budget.take(10 * mebibyte, until: nil)
        let second = ask(budget, 5 * mebibyte)
        try await until { budget.usage.waiting == 1 }
        budget.use(total: 15 * mebibyte)
        let room = try await second.value.get()
        budget.use(total: 1 * mebibyte)
        let third = ask(budget, mebibyte)
        try await until { budget.usage.waiting == 1 }
        first?.release()
        #expect(budget.usage.waiting == 1)
        room?.release()
        try await third.value.get()?.release()
        #expect(budget.usage.used == 0)
    }

    @Test(
        "600 random pictures never exceed the budget, and all without a deadline are decoded",
        arguments: [UInt64.random(in: 0...UInt64.max), 5])
    func theBoundHoldsAndAllComeThrough(seed: UInt64) async throws {
        let budget = DecodeBudget()
        let total = 40 * mebibyte
        budget.use(total: total)
        let maximum = Guarded(0)
        let ended = await withTaskGroup(of: String.self) { group in
            for number in 0..<600 {
                var random = SplitMix(seed: seed &+ UInt64(number))
                let bytes = Int.random(in: mebibyte...30 * mebibyte, using: &random)
                let deadline: MonotonicInstant? =
                    number % 7 == 0 ? .now.advanced(by: .milliseconds(Int.random(in: 0...20, using: &random))) : nil
                group.addTask {
                    do throws(AdmissionError) {
                        let claim = Claim(client: UInt64(number % 5))
                        let room = try await budget.take(bytes, for: claim, until: deadline)
                        let used = budget.usage.used
                        maximum.withLock { $0 = max($0, used) }
                        await Task.yield()
                        room?.release()
                        return "decoded"
                    } catch {
                        return error.label
                    }
                }
                if number % 50 == 49 { await Task.yield() }
            }
            var ended: [String: Int] = [:]
            for await end in group { ended[end, default: 0] += 1 }
            return ended
        }
        #expect(maximum.withLock { $0 } <= total, "seed \(seed)")
        #expect((ended["decoded"] ?? 0) >= 600 - 86 && ended.values.reduce(0, +) == 600, "seed \(seed): \(ended)")
        #expect(ended["cancelled"] == nil && budget.usage.used == 0 && budget.usage.waiting == 0, "seed \(seed)")
    }
}
