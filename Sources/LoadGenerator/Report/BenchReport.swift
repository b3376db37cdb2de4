/// All that `ocelli bench URL` has measured.
package struct BenchReport: Sendable {
    package var url: String
    package var isLocal: Bool
    package var keepAlive: Bool
    /// The pictures' names and sizes.
    package var pictures: [(name: String, bytes: Int)]
    /// When, as a date of ISO 8601.
    package var date: String
    /// The processors that the generator's process may use.
    package var processors: Double
    /// The load average of this machine before.
    package var loadBefore: Double?
    package var steps: [StepResult] = []

    package init(
        url: String, isLocal: Bool, keepAlive: Bool, pictures: [(name: String, bytes: Int)], date: String,
        processors: Double, loadBefore: Double?
    ) {
        self.url = url
        self.isLocal = isLocal
        self.keepAlive = keepAlive
        self.pictures = pictures
        self.date = date
        self.processors = processors
        self.loadBefore = loadBefore
    }

    /// The reported percentiles, in order.
    package static let percentiles: [(name: String, percent: Double)] = [
        ("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9),
    ]

    /// True if requests were sent when they were due.
    package var isOpenLoop: Bool { steps.first?.offeredRate != nil }

    /// Reasons for doubt, each with the load that it is about.
    package var warnings: [String] {
        var warnings: [String] = []
        if let loadBefore, loadBefore > 0.25 * processors {
            warnings.append(
                "other programs were running here: the load average was \(NumberText.fixed(loadBefore, places: 2)) on "
                    + "\(NumberText.fixed(processors, places: 1)) processors before the measurement")
        }
        // What several loads have in common is reported once, in the words of the highest of them.
        let doubts = steps.map { (step: $0, all: StepDoubts.about($0)) }
        for kind in StepDoubts.Doubt.Kind.allCases {
            let found = doubts.compactMap { entry in
                entry.all.first { $0.kind == kind }.map { (entry.step, $0.text) }
            }
            guard let last = found.last else { continue }
            let rates = found.compactMap { $0.0.offeredRate }.map { NumberText.decimal($0) }
            let highest = found.count > 1 ? ", here of the highest" : ""
            let subject =
                steps.count == 1
                ? ""
                : rates.count == steps.count
                    ? "at every rate\(highest): "
                    : "at \(rates.joined(separator: ", "))/s\(highest): "
            warnings.append(subject + last.1)
        }
        if isLocal, let most = steps.map(\.generatorCPU).max(), most > 0.1 * processors {
            warnings.append(
                "the server is on this machine: the generator took \(Int((most / processors * 100).rounded()))% of the "
                    + "processors, which a server on a machine of its own would have")
        }
        return warnings
    }
}
