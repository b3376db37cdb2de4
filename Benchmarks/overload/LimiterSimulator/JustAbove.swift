import FlowControl

/// A model, by its time and capacity.
struct SimulatedModel {
    let name: String
    let serviceSeconds: Double

    /// The two models of the measurements: MobileNetV2 over HTTP, and the model of the other tables.
    static let all = [
        SimulatedModel(name: "494/s", serviceSeconds: 2 / 494.0), SimulatedModel(name: "111/s", serviceSeconds: 0.018),
    ]

    var capacity: Double { 2 / serviceSeconds }

    /// The default policy, or a limit of 32 requests that wait, picked by hand.
    func limiter(_ policy: String) -> LimiterConfiguration {
        LimiterConfiguration(
            limit: 6, queueCapacity: policy == "32 wait" ? 32 : 256,
            expectedServiceTime: .nanoseconds(Int64(serviceSeconds * 3e9)),
            overloadTarget: policy == "32 wait" ? .zero : .milliseconds(400))
    }
}

/// The outcomes of one load with several seeds.
private struct Outcomes {
    let all: [Outcome]

    init(_ load: Load, _ limiter: LimiterConfiguration, seeds: Range<UInt64>) {
        all = seeds.map { seed in
            var simulation = Simulation(load: load, limiter: limiter, seed: seed)
            return simulation.run()
        }
    }

    func mean(_ value: (Outcome) -> Double) -> Double { all.map(value).reduce(0, +) / Double(all.count) }
    func maximum(_ value: (Outcome) -> Double) -> Double { all.map(value).max() ?? 0 }
    func quantile(_ q: Double, _ values: (Outcome) -> [Double]) -> Double {
        Outcome.quantile(q, of: all.flatMap(values)) * 1000
    }
}

/// Prints what happens at 1 to 1.5 times the capacity, on a machine whose pace changes by up to 30 % every 100 ms; and
/// closed loops and bursts there, which are no overload.
func printJustAbove(seed: UInt64) {
    let seeds = seed..<seed + 20
    printFirstSeconds(seed: seed)
    printOpenLoops(seeds)
    printClosedLoops(seeds)
    printVolleys(seeds)
}

private let bothPolicies = ["32 wait", "default"]

/// The number of connections, the time over which they start, and the think time of each, in seconds.
private let closedLoops: [(Int, Double, Double)] = [
    (64, 0.05, 0.001), (64, 3, 0.001), (100, 0.05, 0.001), (100, 3, 0.001), (200, 0.05, 0.001),
    (200, 1, 0.001), (200, 3, 0.001), (200, 5, 0.001), (200, 20, 0.001), (250, 0.05, 0.001), (250, 1, 0.001),
    (250, 3, 0.001), (250, 20, 0.001), (200, 1, 1),
]

private func printFirstSeconds(seed: UInt64) {
    let moments = [0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8]
    print("\nThe first seconds: requests that wait, in seconds of the capacity (!: overloaded)\n")
    print("| model, load | " + moments.map { "\($0) s" }.joined(separator: " | ") + " |")
    print("| --- |" + moments.map { _ in " --- |" }.joined())
    for model in SimulatedModel.all {
        for times in [1, 1.05, 1.1, 1.2, 1.4, 1.5] {
            let load = Load(
                name: "", rate: times * model.capacity, seconds: 9, serviceSeconds: model.serviceSeconds,
                unsteadiness: 0.3)
            var simulation = Simulation(load: load, limiter: model.limiter("default"), seed: seed)
            let samples = simulation.run().samples
            let cells = moments.map { moment in
                guard let sample = samples.first(where: { $0.at >= moment }) else { return "" }
                return cell(Double(sample.waiting) / model.capacity) + (sample.isOverloaded ? "!" : "")
            }
            print("| \(model.name), \(times) | " + cells.joined(separator: " | ") + " |")
        }
    }
}

private func printOpenLoops(_ seeds: Range<UInt64>) {
    print("\nOpen loops: mean and most of 20 seeds; in time: within 0.5 s, of the capacity\n")
    print("| model, load | for | policy | in time | late | gone | refused | refused p99, ms | answers p99, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for model in SimulatedModel.all {
        for times in [1, 1.05, 1.1, 1.2, 1.4, 1.5, 2, 3] {
            let steady = Load(
                name: "30 s", rate: times * model.capacity, arrivalSeconds: 30, seconds: 40,
                serviceSeconds: model.serviceSeconds, unsteadiness: 0.3)
            var short = steady, after = steady
            (short.name, short.isEven, short.arrivalSeconds, short.seconds) = ("2 s", true, 2, 12)
            (after.name, after.isEven, after.arrivalSeconds, after.seconds) = ("2 s after 2 s", true, 4, 14)
            after.countedFrom = 2
            for load in [short, after, steady] {
                for policy in bothPolicies {
                    let outcomes = Outcomes(load, model.limiter(policy), seeds: seeds)
                    let inTime = outcomes.mean { Double($0.inTime) / ($0.capacity * $0.seconds) }
                    let late = outcomes.mean { Double($0.late) }, maximumLate = outcomes.maximum { Double($0.late) }
                    let gone = outcomes.mean { Double($0.gone) }
                    let refused = outcomes.mean { Double($0.refusalDelays.count) }
                    print(
                        "| \(model.name), \(times) | \(load.name) | \(policy) | \(cell(inTime)) "
                            + "| \(cell(late, 0)), \(cell(maximumLate, 0)) | \(cell(gone, 0)) | \(cell(refused, 0)) "
                            + "| \(cell(outcomes.quantile(0.99) { $0.refusalDelays }, 1)) "
                            + "| \(cell(outcomes.quantile(0.99) { $0.latencies }, 0)) |")
                }
            }
        }
    }
}

private func printClosedLoops(_ seeds: Range<UInt64>) {
    print("\nClosed loops for 40 s, the default policy: mean of 20 seeds, and the seeds in which any was refused\n")
    print("| model, connections | begun over | answers/s | refused | seeds | answers p50, p99, ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for model in SimulatedModel.all {
        for (clients, ramp, think) in closedLoops {
            let load = Load(
                name: "", closedClients: clients, rampSeconds: ramp, thinkSeconds: think, seconds: 40,
                serviceSeconds: model.serviceSeconds, unsteadiness: 0.3)
            let outcomes = Outcomes(load, model.limiter("default"), seeds: seeds)
            let thinking = think < 0.01 ? "" : " that think for \(think) s"
            print(
                "| \(model.name), \(clients)\(thinking) | \(ramp) s "
                    + "| \(cell(outcomes.mean { Double($0.closedAnswered) / $0.seconds }, 1)) "
                    + "| \(cell(outcomes.mean { Double($0.closedRefused) }, 1)) "
                    + "| \(outcomes.all.filter { $0.closedRefused > 0 }.count) "
                    + "| \(cell(outcomes.quantile(0.5) { $0.latencies }, 0)), "
                    + "\(cell(outcomes.quantile(0.99) { $0.latencies }, 0)) |")
        }
    }
}

private func printVolleys(_ seeds: Range<UInt64>) {
    print("\nRequests within 1 s, the default policy: the fewest that were answered, of 20 seeds\n")
    print("| model, requests | beside | of the first | of as many 8 s later | 16 s later |")
    print("| --- | --- | --- | --- | --- |")
    for model in SimulatedModel.all {
        for volley in [100, 256, 600, 1000, 3000] {
            for beside in [0, 0.5] {
                let load = Load(
                    name: "", rate: beside * model.capacity, volley: volley, volleysAt: [0, 8, 16], seconds: 30,
                    serviceSeconds: model.serviceSeconds, unsteadiness: 0.3)
                let outcomes = Outcomes(load, model.limiter("default"), seeds: seeds)
                let fewest = (0..<3).map { index in outcomes.all.map { $0.answeredOfVolleys[index] }.min() ?? 0 }
                print(
                    "| \(model.name), \(volley) | \(beside) times | "
                        + fewest.map(String.init).joined(separator: " | ") + " |")
            }
        }
    }
}
