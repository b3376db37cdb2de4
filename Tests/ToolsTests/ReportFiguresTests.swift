import Tools
import Testing

/// The arithmetic of `ocelli report`.
@Suite struct ReportFiguresTests {
    @Test("percentiles are measured values by nearest rank")
    func percentilesAreMeasuredValuesByNearestRank() throws {
        let hundred = try #require(SampleStatistics((1...100).map { UInt64($0) }.shuffled()))
        #expect(hundred.count == 100)
        #expect([hundred.p50, hundred.p90, hundred.p99] == [50, 90, 99])
        #expect([hundred.minimum, hundred.maximum] == [1, 100])
        #expect(hundred.mean == 50.5)
        let two = try #require(SampleStatistics([20, 10] as [UInt64]))
        #expect([two.p50, two.p90, two.p99] == [10, 20, 20])
        let one = try #require(SampleStatistics([7] as [UInt64]))
        #expect([one.p50, one.p90, one.p99, one.minimum, one.maximum] == [7, 7, 7, 7, 7])
        #expect(SampleStatistics([] as [UInt64]) == nil)
        // Sums that overflow UInt64 do not stop the report.
        #expect(SampleStatistics([.max, .max] as [UInt64])?.p50 == .max)
    }

    @Test("spread is relative to the median")
    func spreadIsRelativeToTheMedian() {
        #expect(SampleStatistics.spread(of: []) == 0)
        #expect(SampleStatistics.spread(of: [5]) == 0)
        #expect(SampleStatistics.spread(of: [11, 9, 10]) == 0.2)
        #expect(SampleStatistics.spread(of: [0, 0]) == 0)
    }

    @Test("measurements on a quiet machine raise no warning")
    func aQuietMachineIsBelieved() {
        var measurement = MeasurementWarnings(processors: 2)
        measurement.loadBefore = 0.1
        measurement.medians = [100, 101, 99, 100, 102]
        measurement.latency = SampleStatistics([100, 100, 100, 110] as [UInt64])
        #expect(measurement.warnings == [])
    }

    @Test("each reason to doubt a measurement is named")
    func eachReasonToDoubtIsNamed() {
        var measurement = MeasurementWarnings(processors: 2)
        measurement.loadBefore = 1.5
        #expect(measurement.warnings.count == 1)
        #expect(measurement.warnings.first?.contains("load average was 1.50 on 2.0 processors") == true)
        measurement.medians = [100, 100, 150]
        #expect(measurement.warnings.count == 2)
        #expect(measurement.warnings.last?.contains("50%") == true)
        measurement.latency = SampleStatistics([100, 100, 400] as [UInt64])
        #expect(measurement.warnings.count == 3)
        #expect(measurement.warnings.last?.contains("4.0 times the median") == true)
    }
}
