import Drift
import TestSupport
import Testing

/// Simulated streams of pictures: how often a change is reported that is not there, and how soon one that is.
@Suite struct DriftSimulationTests {
    /// One draw of a picture's signals: a continuous one, one of few values, and one with ties.
    private static func picture(_ random: inout SplitMix, shift: Double = 0) -> DriftObservation {
        func uniform() -> Double { Double.random(in: 0..<1, using: &random) }
        var observation = DriftObservation()
        observation[.brightness] = (uniform() + uniform() + uniform()) / 3 + shift
        observation.setLabel(Int(uniform() * uniform() * 10), of: 10)
        observation[.confidence] = (uniform() * 20).rounded() / 20
        return observation
    }

    /// The promise of the test: the evidence of a signal is at least c within n pictures with at most the probability
    /// n / c. 2,500 streams of 200 pictures after a reference of 100.
    @Test("in 2,500 streams without a change, evidence of at least c within n pictures is no more frequent than n / c")
    func falseAlarmsAreRare() {
        let seed = SplitMix.seed(for: "falseAlarmsAreRare"), streams = 2_500, pictures = 200
        var random = SplitMix(seed: seed)
        let plan = DriftMonitor.Plan(reference: 100, pictures: 1e12)
        let thresholds = [250.0, 500, 1_000, 2_000, 5_000, 20_000]
        var reached: [DriftSignal: [Int]] = [:]
        for _ in 0..<streams {
            var monitor = DriftMonitor(at: 0), largest: [DriftSignal: Double] = [:]
            for index in 0..<100 + pictures {
                let u = Double.random(in: 0..<1, using: &random)
                _ = monitor.observe(Self.picture(&random), at: index, u: u, plan: plan)
                for reading in monitor.readings {
                    largest[reading.signal] = max(largest[reading.signal] ?? 0, reading.evidence)
                }
            }
            for (signal, evidence) in largest {
                for (index, threshold) in thresholds.enumerated() where evidence >= threshold {
                    reached[signal, default: [0, 0, 0, 0, 0, 0]][index] += 1
                }
            }
        }
        for (signal, counts) in reached {
            for (threshold, count) in zip(thresholds, counts) {
                let bound = min(1, Double(pictures) / threshold)
                // Four standard deviations of a share in so many streams.
                let slack = 4 * (bound * (1 - bound) * Double(streams)).squareRoot()
                #expect(
                    Double(count) <= bound * Double(streams) + slack,
                    "\(signal.rawValue): \(count) of \(streams) streams reach \(threshold), seed \(seed)")
            }
        }
        #expect(reached.count == 3)
    }

    /// The mean number of pictures is their expected value: the sums are not only below it.
    @Test("the mean evidence of many streams without a change is their number of pictures")
    func evidenceIsCalibrated() {
        let seed = SplitMix.seed(for: "evidenceIsCalibrated")
        var random = SplitMix(seed: seed), sum = 0.0
        let plan = DriftMonitor.Plan(reference: 100, pictures: 1e12), streams = 4_000
        for _ in 0..<streams {
            var monitor = DriftMonitor(at: 0)
            for index in 0..<110 {
                let u = Double.random(in: 0..<1, using: &random)
                _ = monitor.observe(Self.picture(&random), at: index, u: u, plan: plan)
            }
            sum += monitor.readings.reduce(0) { $0 + $1.evidence } / 3
        }
        #expect(abs(sum / Double(streams) - 10) < 1, "\(sum / Double(streams)), seed \(seed)")
    }

    @Test("a shift of half a standard deviation is found within 500 pictures, in each of 100 streams")
    func aShiftIsFound() {
        let seed = SplitMix.seed(for: "aShiftIsFound")
        var random = SplitMix(seed: seed)
        let plan = DriftMonitor.Plan(reference: 2_000, pictures: 3_600_000)
        for stream in 0..<100 {
            var monitor = DriftMonitor(at: 0)
            for index in 0..<2_500 {
                let u = Double.random(in: 0..<1, using: &random)
                // The mean of three uniform numbers has the standard deviation 1 / 6.
                let shift = index < 2_000 ? 0 : 1.0 / 12
                _ = monitor.observe(Self.picture(&random, shift: shift), at: index, u: u, plan: plan)
            }
            #expect(
                monitor.readings.filter(\.hasDrifted).map(\.signal) == [.brightness], "stream \(stream), seed \(seed)")
        }
    }
}
