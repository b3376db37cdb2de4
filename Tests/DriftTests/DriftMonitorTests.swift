import Drift
import Foundation
import TestSupport
import Testing

@Suite struct DriftMonitorTests {
    private static let plan = DriftMonitor.Plan(reference: 100, pictures: 3_600_000)

    private static func brightness(_ value: Double) -> DriftObservation {
        var observation = DriftObservation()
        observation[.brightness] = value
        return observation
    }

    @Test("a monitor learns, is steady, and drifts once; it stays drifted although the pictures return")
    func states() {
        var random = SplitMix(seed: SplitMix.seed(for: "states"))
        var monitor = DriftMonitor(at: 10)
        func picture(around mean: Double) -> DriftObservation {
            Self.brightness(mean + Double.random(in: -0.1...0.1, using: &random))
        }
        var changes: [Int] = []
        for index in 1...1_500 {
            let isChanged = (500..<1_000).contains(index)
            let u = Double.random(in: 0..<1, using: &random)
            if monitor.observe(picture(around: isChanged ? 0.2 : 0.5), at: index, u: u, plan: Self.plan) {
                changes.append(index)
            }
        }
        #expect(changes.first == 100 && changes.count == 2 && (500..<700).contains(changes[1]), "\(changes)")
        #expect(monitor.state == .drifted && monitor.since == changes.last)
        #expect(monitor.reference.pictures == 100 && monitor.reference.from == 1 && monitor.reference.to == 100)
        #expect(monitor.recent.pictures == 200 && monitor.recent.from == 1_301 && monitor.recent.to == 1_500)
        let reading = monitor.readings.first
        #expect(monitor.readings.count == 1 && reading?.signal == .brightness && reading?.hasDrifted == true)
        #expect(abs((reading?.reference ?? 0) - 0.5) < 0.05 && abs((reading?.recent ?? 0) - 0.5) < 0.05)
        #expect(monitor.finding.hasPrefix("signal brightness: 0.") && monitor.finding.hasSuffix(" recently"))
    }

    /// All in one cell: the p-value is u, and the evidence that of uniform numbers.
    @Test("pictures that are all the same are no evidence of a change")
    func ties() {
        var random = SplitMix(seed: SplitMix.seed(for: "ties"))
        var monitor = DriftMonitor(at: 0)
        for index in 0..<20_000 {
            _ = monitor.observe(
                Self.brightness(0.25), at: index, u: Double.random(in: 0..<1, using: &random), plan: Self.plan)
        }
        #expect(monitor.state == .steady)
    }

    @Test("values outside of 0 to 1 count as the nearest, and one that is no number does not count")
    func strangeValues() {
        var strange = DriftMonitor(at: 0), plain = DriftMonitor(at: 0)
        let values: [(Double, Double)] = [
            (-3, 0), (7, 1), (.infinity, 1), (-.infinity, 0), (0.5, 0.5), (-0.0, 0), (1e300, 1),
        ]
        for index in 0..<700 {
            let (value, nearest) = values[index % values.count], u = Double(index % 10) / 10
            _ = strange.observe(Self.brightness(value), at: index, u: u, plan: Self.plan)
            _ = plain.observe(Self.brightness(nearest), at: index, u: u, plan: Self.plan)
        }
        #expect(strange.readings == plain.readings)
        let before = strange.readings
        _ = strange.observe(Self.brightness(.nan), at: 700, u: 0.5, plan: Self.plan)
        #expect(strange.readings == before)
        // A random number outside of 0 to 1 does not either make evidence that is not a number.
        _ = strange.observe(Self.brightness(0.5), at: 701, u: 1e9, plan: Self.plan)
        #expect(strange.readings.allSatisfy { $0.evidence.isFinite && $0.evidence >= 0 })
    }

    /// A lens that is covered for a week: the evidence reaches the largest number that it may have, and stays a number.
    @Test("evidence never becomes infinite")
    func evidenceIsFinite() {
        var monitor = DriftMonitor(at: 0)
        let plan = DriftMonitor.Plan(reference: 1_000_000, pictures: 1e308)
        for index in 0..<1_000_000 { _ = monitor.observe(Self.brightness(0.9), at: index, u: 0.5, plan: plan) }
        var largest = 0.0
        for index in 0..<20_000 {
            _ = monitor.observe(Self.brightness(0.1), at: index, u: 0.5, plan: plan)
            largest = max(largest, monitor.readings.first?.evidence ?? .nan)
        }
        #expect(largest > 1e298 && largest <= 1e300 && monitor.state == .drifted, "\(largest)")
    }

    @Test("the threshold is the planned number of pictures by the signals that the pictures have")
    func threshold() {
        var monitor = DriftMonitor(at: 0)
        #expect(monitor.threshold(Self.plan) == 3_600_000)
        var observation = Self.brightness(0.5)
        observation.setSize(width: 1_024, height: 1_024)
        observation.setLabel(2, of: 4)
        observation.setLabel(4, of: 4)
        observation.setDistance(0.5)
        #expect(observation[.size] == 20.0 / 32 && observation[.labels] == 0.625 && observation[.known] == 0.25)
        _ = monitor.observe(observation, at: 0, u: 0, plan: Self.plan)
        #expect(monitor.threshold(Self.plan) == 4 * 3_600_000)
    }

    /// The first twenty make the direction and are not in the reference: 100 pictures leave 80.
    @Test("a vector is compared with the direction of the first ones, whatever its length")
    func vectors() {
        var monitor = DriftMonitor(at: 0)
        for index in 0..<100 {
            var observation = DriftObservation()
            observation.vector = index.isMultiple(of: 2) ? [3, 0] : [0, 0.5]
            _ = monitor.observe(observation, at: index, u: 0.5, plan: Self.plan)
            #expect(monitor.readings.isEmpty == (index < 20), "\(index)")
        }
        // The cosine of 45 degrees.
        let mean = monitor.readings.first?.reference ?? 0
        #expect(abs(mean - (1 + 0.5.squareRoot()) / 2) < 1e-9)
        let before = monitor.readings
        for vector in [[], [0, 0], [.nan, 1], [1, 2, 3], [.infinity, 0]] as [[Float]] {
            var observation = DriftObservation()
            observation.vector = vector
            _ = monitor.observe(observation, at: 100, u: 0.5, plan: Self.plan)
        }
        #expect(monitor.readings == before)
    }
}
