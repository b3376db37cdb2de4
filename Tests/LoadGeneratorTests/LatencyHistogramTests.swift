import LoadGenerator
import Testing

@Suite struct LatencyHistogramTests {
    @Test("the upper end of a bucket is at most 1/128 above any of its values")
    func everyValueIsInItsBucketAndNoFurtherThanTheBound() {
        // Around every power of two, where the width of buckets changes.
        for power in 0..<43 {
            for offset in [-1, 0, 1, 37] {
                let value = UInt64(max(0, (1 << power) + offset))
                let index = LatencyHistogram.index(of: value)
                let upper = LatencyHistogram.upperEnd(of: index)
                #expect(upper >= value && Double(upper - value) <= Double(value) / 128, "\(value): \(upper)")
                if index > 0 { #expect(LatencyHistogram.upperEnd(of: index - 1) < value) }
            }
        }
    }

    /// 999 of 1000 values are at most 1, so the 99.9th percentile is, too.
    @Test("if 999 of 1,000 values are small, the 99.9th percentile is small", arguments: [1, 2, 10, 41])
    func aPercentileThatFallsOnAValueIsThatValue(_ thousands: Int) {
        var histogram = LatencyHistogram()
        for _ in 0..<thousands * 999 { histogram.record(1) }
        for _ in 0..<thousands { histogram.record(200) }
        #expect(histogram.percentile(99.9) == 1 && histogram.percentile(99.91) == 200)
    }

    @Test("percentiles equal those of the sorted values within 1/128")
    func percentilesAreThoseOfTheSortedValues() {
        let seed = UInt64.random(in: 1...UInt64.max)
        var state = seed
        var values: [UInt64] = []
        var histogram = LatencyHistogram()
        for _ in 0..<5000 {
            // xorshift64: values over many powers of two.
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            let value = state >> (22 + state % 40)
            values.append(value)
            histogram.record(value)
        }
        values.sort()
        for tenths in [1, 10, 500, 900, 990, 999, 1000] {
            let percent = Double(tenths) / 10
            let exact = values[(tenths * 5000 + 999) / 1000 - 1]
            let reported = histogram.percentile(percent)
            #expect(reported >= exact, "seed \(seed), p\(percent)")
            #expect(Double(reported) <= Double(exact) * (1 + 1.0 / 128) + 1, "seed \(seed), p\(percent)")
        }
        #expect(histogram.minimum == values.first && histogram.greatest == values.last && histogram.count == 5000)
        #expect(histogram.percentile(100) == values.last)
    }

    @Test("an empty histogram reports zeros")
    func anEmptyOneHasZeros() {
        let histogram = LatencyHistogram()
        #expect(histogram.percentile(99) == 0 && histogram.mean == 0 && histogram.greatest == 0)
    }

    @Test("a value beyond the last bucket is kept as the exact maximum")
    func valuesBeyondTheLastBucketKeepTheirMaximum() {
        var histogram = LatencyHistogram()
        histogram.record(.max / 2)
        histogram.record(5)
        #expect(histogram.greatest == .max / 2 && histogram.minimum == 5 && histogram.percentile(50) == 5)
    }

    @Test("merged histograms equal a histogram that recorded all values")
    func mergingIsAsRecordingAllInOne() {
        var (one, other, all) = (LatencyHistogram(), LatencyHistogram(), LatencyHistogram())
        for value: UInt64 in 1...1000 {
            if value % 3 == 0 { one.record(value * 1000) } else { other.record(value * 1000) }
            all.record(value * 1000)
        }
        one.merge(other)
        one.merge(LatencyHistogram())
        #expect(one == all)
        var none = LatencyHistogram()
        none.merge(all)
        #expect(none == all && none.minimum == all.minimum)
    }
}
