import FlowControl
import FoundationEssentials

// Prints how the limiter's policies serve loads from 0.5 to 20 times the capacity, as Markdown, and then the behavior
// just above the capacity. Simulated time: seconds.
// usage: limitersim [SEED [all|just-above]]

let seed = CommandLine.arguments.dropFirst().first.flatMap(UInt64.init) ?? 1

func limiter(wait: Duration = .seconds(30), places: Int = 256, target: Duration = .zero) -> LimiterConfiguration {
    LimiterConfiguration(
        limit: 6, queueCapacity: places, maxWait: wait, expectedServiceTime: .milliseconds(54), overloadTarget: target)
}

let policies: [(String, LimiterConfiguration)] = [
    ("256 places, 30 s (as before)", limiter()),
    ("32 places", limiter(places: 32)),
    ("wait of 400 ms always", limiter(wait: .milliseconds(400))),
    ("overload_target 400 ms (default)", limiter(target: .milliseconds(400))),
]

var loads: [Load] = [0.5, 0.9, 1, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10, 20].map {
    Load(name: "\($0) times", rate: $0 * 111.1)
}
for patience in [0.2, 0.5, 10] {
    loads.append(Load(name: "3 times, leave after \(patience) s", rate: 333.3, patience: patience))
}
loads.append(Load(name: "1.1 times, leave after 10 s", rate: 122.2, patience: 10))
loads.append(Load(name: "3 times, one in ten 5 times as large", rate: 333.3, largeShare: 0.1))
loads.append(
    Load(
        name: "0.5 times, bursts of 4 times for 2 s in 10 s", rate: 55.5, burstFactor: 8, burstSeconds: 2,
        burstPeriod: 10))
loads.append(Load(name: "3 times, model of 200 ms", rate: 30, wanted: 1, seconds: 120, serviceSeconds: 0.2))
for clients in [8, 64, 200, 250, 500] { loads.append(Load(name: "closed loop of \(clients)", closedClients: clients)) }
loads.append(Load(name: "closed loop of 200, begun over 3 s", closedClients: 200, rampSeconds: 3))
loads.append(Load(name: "closed loop of 200, begun over 20 s", closedClients: 200, rampSeconds: 20))
loads.append(Load(name: "closed loop of 64, model of 200 ms", closedClients: 64, seconds: 120, serviceSeconds: 0.2))
loads.append(Load(name: "closed loop of 100 and 2 times", rate: 222.2, closedClients: 100))

func cell(_ value: Double, _ digits: Int = 2) -> String {
    let scale = digits == 0 ? 1.0 : digits == 1 ? 10.0 : 100.0
    let rounded = (value * scale).rounded() / scale
    return digits == 0 ? "\(Int(rounded))" : "\(rounded)"
}

if CommandLine.arguments.dropFirst(2).first != "just-above" {
    print(
        "| load | policy | goodput | late | gone | refused | refused p99, ms | answers p50, p99, ms | closed: answers/s, refused |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for load in loads {
        for (name, configuration) in policies {
            var simulation = Simulation(load: load, limiter: configuration, seed: seed)
            let result = simulation.run()
            let refused = Outcome.quantile(0.99, of: result.refusalDelays) * 1000
            let p50 = Outcome.quantile(0.5, of: result.latencies) * 1000
            let p99 = Outcome.quantile(0.99, of: result.latencies) * 1000
            let closed =
                load.closedClients == 0
                ? "" : "\(cell(Double(result.closedAnswered) / result.seconds, 1)), \(result.closedRefused)"
            let goodput = load.rate == 0 ? "" : cell(result.goodput)
            print(
                "| \(load.name) | \(name) | \(goodput) | \(result.late) | \(result.gone) | \(result.refusalDelays.count) "
                    + "| \(cell(refused, 1)) | \(cell(p50, 0)), \(cell(p99, 0)) | \(closed) |")
        }
    }

    print("\n| requests within 1 s | policy | answered | of as many 8 s later | of as many 16 s later |")
    print("| --- | --- | --- | --- | --- |")
    for volley in [100, 256, 600, 1000, 3000] {
        for (name, configuration) in policies {
            let load = Load(
                name: "", volley: volley, volleysAt: [0, 8, 16], seconds: 30, serviceSeconds: 0.018)
            var simulation = Simulation(load: load, limiter: configuration, seed: seed)
            let answered = simulation.run().answeredOfVolleys.map(String.init).joined(separator: " | ")
            print("| \(volley) | \(name) | \(answered) |")
        }
    }
}

printJustAbove(seed: seed)
