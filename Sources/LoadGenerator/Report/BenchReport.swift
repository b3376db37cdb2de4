/// The results of `ocelli load`.
package struct BenchReport: Sendable {
    package var url: String
    package var isLocal: Bool
    package var keepAlive: Bool
    /// The names and sizes of the pictures.
    package var pictures: [(name: String, bytes: Int)]
    /// The time of the measurement, in ISO 8601 format.
    package var date: String
    /// The number of processors that the generator's process may use.
    package var processors: Double
    /// The load average of this machine before the measurement.
    package var loadBefore: Double?
    package var steps: [StepResult] = []
    /// The objective, if one was requested.
    package var objective: ServiceObjective?

    // Wide: a record, in the order of its fields.
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

    /// True if requests were sent at their due times.
    package var isOpenLoop: Bool { steps.first?.offeredRate != nil }

    /// The result for the objective: whether it is met, and up to which rate; nil without an objective.
    package var verdict: (holds: Bool, rate: Double?, text: String)? {
        guard let objective else { return nil }
        let judged = steps.sorted { ($0.offeredRate ?? 0) < ($1.offeredRate ?? 0) }.map {
            ($0, objective.objection(to: $0))
        }
        func rate(_ step: StepResult) -> String {
            step.offeredRate.map { "\(NumberText.decimal($0))/s" } ?? "this load"
        }
        // If a rate fails, a higher one that passes did so by chance.
        let holding = judged.prefix { $0.1 == nil }
        let first = judged.dropFirst(holding.count).first
        let reason = first.flatMap { step, objection in objection.map { "; at \(rate(step)): \($0)" } } ?? ""
        guard let best = holding.last?.0 else {
            return (false, nil, "\(objective.text) does not hold at any rate that was tried\(reason)")
        }
        return (true, best.offeredRate, "\(objective.text) holds up to \(rate(best))\(reason)")
    }

    /// Warnings, each with its load: first those that make a figure wrong, then those that make it imprecise.
    package var warnings: [String] {
        var warnings: [String] = []
        // A warning common to several loads is reported once, with the text of the highest load.
        let stepWarnings = steps.map { (step: $0, all: StepWarnings.about($0)) }
        // A search includes loads that fail on purpose: warn only about the best one.
        let best = verdict?.rate
        func add(_ kind: StepWarnings.Warning.Kind) {
            let found = stepWarnings.compactMap { entry in
                objective != nil && entry.step.offeredRate != best
                    ? nil : entry.all.first { $0.kind == kind }.map { (entry.step, $0.text) }
            }
            guard let last = found.last else { return }
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
        for kind in StepWarnings.Warning.Kind.allCases where kind != .samples { add(kind) }
        if let loadBefore, loadBefore > 0.25 * processors {
            warnings.append(
                "other programs were running here: the load average was \(NumberText.fixed(loadBefore, places: 2)) on "
                    + "\(NumberText.fixed(processors, places: 1)) processors before the measurement")
        }
        if isLocal, let maximum = steps.map(\.generatorCPU).max(), maximum > 0.1 * processors {
            warnings.append(
                "the server is on this machine: the generator took \(Int((maximum / processors * 100).rounded()))% of the "
                    + "processors, which a server on a machine of its own would have")
        }
        add(.samples)
        return warnings
    }
}
