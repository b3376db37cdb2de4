import InferenceService
internal import ServiceCore
import Testing

/// Buckets as Prometheus defines them: each counts values up to its bound, inclusive.
@Suite struct HistogramTests {
    @Test("a value equal to a bound is counted in the bound's bucket, a greater value in the next bucket")
    func aBoundBelongsToItsBucket() {
        for (index, bound) in Histogram.bounds.enumerated() {
            let histogram = Histogram()
            histogram.record(bound)
            histogram.record(bound + 1)
            var expected = [UInt64](repeating: 0, count: Histogram.bounds.count + 1)
            expected[index] += 1
            expected[index + 1] += 1
            #expect(histogram.buckets == expected, "\(bound)")
            #expect(histogram.sum == 2 * bound + 1)
        }
    }

    @Test("zero and the largest integer are counted, and the sum wraps without a trap")
    func theExtremesAreCounted() {
        let histogram = Histogram()
        histogram.record(0)
        histogram.record(.max)
        #expect(histogram.buckets.first == 1)
        #expect(histogram.buckets.last == 1)
        // The sum wraps around, like counters; it does not trap.
        histogram.record(2)
        #expect(histogram.sum == 1)
    }

    @Test("the bucket bounds strictly increase")
    func theBoundsRise() {
        #expect(zip(Histogram.bounds, Histogram.bounds.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("values recorded by eight concurrent tasks are all counted")
    func manyThreadsLoseNothing() async {
        let histogram = Histogram()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { for turn in 0..<10_000 { histogram.record(UInt64(task * 10_000 + turn)) } }
            }
        }
        #expect(histogram.buckets.reduce(0, +) == 80_000)
        #expect(histogram.sum == (0..<80_000).reduce(0) { $0 + UInt64($1) })
    }
}
