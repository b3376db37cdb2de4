import Inference
import Testing

/// The counters of a model's predictions.
@Suite struct ModelStatisticsTests {
    private func times(_ queue: UInt64, _ decode: UInt64, _ inference: UInt64) -> StageTimes {
        var times = StageTimes()
        times.queue = queue
        times.decode = decode
        times.inference = inference
        return times
    }

    @Test("each stage has its own time and count, and a failed prediction counts only as a failure")
    func eachStageHasItsOwnTime() {
        var statistics = ModelStatistics()
        statistics.succeeded(times(1, 20, 300), output: 4_000, total: 50_000, at: 7)
        statistics.succeeded(times(1, 20, 300), output: 4_000, total: 50_000, at: 8)
        #expect(statistics.queue.nanoseconds == 2 && statistics.queue.count == 2)
        #expect(statistics.input.nanoseconds == 40 && statistics.inference.nanoseconds == 600)
        #expect(statistics.output.nanoseconds == 8_000 && statistics.success.nanoseconds == 100_000)
        #expect(statistics.success.count == 2 && statistics.failure.count == 0 && statistics.lastEnded == 8)
        statistics.failed(total: 9, at: 10)
        #expect(statistics.failure.count == 1 && statistics.failure.nanoseconds == 9 && statistics.lastEnded == 10)
        #expect(statistics.success.count == 2 && statistics.queue.count == 2)
    }

    @Test("inferences are counted and timed by their batch size")
    func inferencesAreCountedByTheirSize() {
        var statistics = ModelStatistics()
        for (size, time) in [(1, 1), (4, 10), (1, 2), (4, 20), (3, 100)] as [(Int, UInt64)] {
            statistics.executed(size, input: time, inference: time * 1_000, output: time * 1_000_000)
        }
        #expect(statistics.batches.map(\.size) == [1, 4, 3] && statistics.executions == 5)
        #expect(statistics.batches.map(\.input.nanoseconds) == [3, 30, 100])
        #expect(statistics.batches.map(\.inference.nanoseconds) == [3_000, 30_000, 100_000])
        #expect(statistics.batches.map(\.output.nanoseconds) == [3_000_000, 30_000_000, 100_000_000])
        #expect(statistics.batches.map(\.inference.count) == [2, 2, 1])
    }
}
