internal import LoadGenerator
internal import Synchronization
internal import Testing

/// Calls within the process that are repeated for a time.
@Suite struct CallLoopTests {
    @Test("each task makes its minimum of calls when the time is over at once, numbered from the task's number")
    func minimumOfCalls() async throws {
        let numbers = Mutex<[Int]>([])
        let loop = try await CallLoop.run(tasks: 2, seconds: 0.01, minimum: 3) { number in
            numbers.withLock { $0.append(number) }
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(loop.latencies.count == 6)
        #expect(loop.latencies.allSatisfy { $0 >= 20_000_000 })
        #expect(numbers.withLock { $0.sorted() } == [0, 1, 1, 2, 2, 3])
        #expect(loop.time >= 60_000_000)
    }

    @Test("the rate is the calls of all tasks in the time of the run; the first error ends the run")
    func rateAndErrors() async throws {
        var loop = CallLoop()
        #expect(loop.perSecond == 0)
        (loop.latencies, loop.time) = ([1, 2, 3], 500_000_000)
        #expect(loop.perSecond == 6)
        struct Fault: Error {}
        await #expect(throws: Fault.self) {
            _ = try await CallLoop.run(tasks: 2, seconds: 60) { number in if number == 5 { throw Fault() } }
        }
    }
}
