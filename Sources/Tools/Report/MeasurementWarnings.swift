internal import Settings

/// Decides whether the machine was too busy or too uneven for reliable figures.
package struct MeasurementWarnings: Sendable {
    /// The load average of the last minute before the measurement: the number of processes that needed a processor.
    package var loadBefore: Double?
    /// The number of processors that this process may use.
    package var processors: Double
    /// The median of each repetition of the same measurement.
    package var medians: [Double] = []
    /// The statistics of all latencies.
    package var latency: SampleStatistics?
    /// The tolerated difference between repetitions, relative to their median.
    package static let toleratedSpread = 0.10
    /// The tolerated ratio of the 99th percentile to the median.
    package static let toleratedTail = 3.0
    /// The tolerated load of other processes, as a share of the processors.
    package static let toleratedLoad = 0.25

    /// Creates an object without measurements.
    package init(processors: Double) { self.processors = processors }

    /// A sentence for each reason to doubt the figures; empty for a quiet machine.
    package var warnings: [String] {
        var warnings: [String] = []
        if let loadBefore, loadBefore > Self.toleratedLoad * processors {
            warnings.append(
                "other programs were running: the load average was \(Units.decimal(loadBefore, places: 2)) on "
                    + "\(Units.decimal(processors, places: 1)) processors before the measurement; times are too long")
        }
        let spread = SampleStatistics.spread(of: medians)
        if spread > Self.toleratedSpread {
            warnings.append(
                "repetitions differ by \(Units.decimal(spread * 100, places: 0))% of their median (more than "
                    + "\(Units.decimal(Self.toleratedSpread * 100, places: 0))%): run it again when the machine is quiet"
            )
        }
        if let latency, latency.p50 > 0, Double(latency.p99) > Self.toleratedTail * Double(latency.p50) {
            warnings.append(
                "the slowest hundredth took \(Units.decimal(Double(latency.p99) / Double(latency.p50), places: 1)) times "
                    + "the median: something interrupts the measurement")
        }
        return warnings
    }
}
