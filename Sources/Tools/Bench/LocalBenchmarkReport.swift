internal import InferenceService
internal import Settings

/// The measurements of `ocelli bench`: how near the way through the socket comes to what the parts can do.
package struct LocalBenchmarkReport: Sendable {
    package var model = "", path = ""
    /// The route of the requests through the socket.
    package var route = "/v1/classify"
    package var processors = 1.0
    package var instances = 0
    package var concurrency = 0
    package var pictures: [(name: String, bytes: Int)] = []
    /// One entry for each round; all sides have run in each.
    package var rounds: [[LocalBenchmarkSide: LocalBenchmarkRound]] = []
    package var loadBefore: Double?

    package init() {}

    /// A figure of every round: the middle one, and the least and the greatest.
    package struct Figure: Sendable, Hashable {
        package let median: Double, least: Double, most: Double

        init(_ values: [Double]) {
            let sorted = values.sorted()
            let count = sorted.count
            median =
                count == 0 ? 0 : count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2
            least = sorted.first ?? 0
            most = sorted.last ?? 0
        }

        /// The difference between the rounds, as a part of the median.
        var spread: Double { median > 0 ? (most - least) / median : 0 }
    }

    private func figure(_ value: ([LocalBenchmarkSide: LocalBenchmarkRound]) -> Double?) -> Figure {
        Figure(rounds.compactMap(value))
    }

    /// Requests a second.
    package func rate(_ side: LocalBenchmarkSide) -> Figure { figure { $0[side]?.rate } }
    /// Microseconds of processor time for each request, without the generator's.
    package func cpu(_ side: LocalBenchmarkSide) -> Figure { figure { $0[side]?.cpuMicroseconds } }
    /// The part of the processors that was busy.
    package func busy(_ side: LocalBenchmarkSide) -> Figure { figure { $0[side]?.busy(processors: processors) } }
    /// Microseconds of the generator for each request.
    package var generatorCPU: Figure {
        figure { round in
            round[.socket].flatMap { $0.requests > 0 ? $0.generatorSeconds * 1e6 / Double($0.requests) : nil }
        }
    }

    /// Requests a second through the socket, the generator counted out.
    package var rateWithoutGenerator: Figure {
        figure { $0[.socket]?.rateWithoutGenerator(processors: processors) }
    }

    /// Through the socket as a part of in process, the generator counted out: each round by itself, so that what
    /// disturbs the machine disturbs both.
    package var ratio: Figure {
        figure { round in
            guard let pipeline = round[.pipeline]?.rate, pipeline > 0, let socket = round[.socket] else { return nil }
            return socket.rateWithoutGenerator(processors: processors) / pipeline
        }
    }

    /// The same with the generator as part of the load.
    package var ratioWithGenerator: Figure {
        figure { round in
            guard let pipeline = round[.pipeline]?.rate, pipeline > 0, let socket = round[.socket] else { return nil }
            return socket.rate / pipeline
        }
    }

    /// Microseconds of sockets, HTTP, routing and JSON: through the socket less in process.
    package var transport: Figure {
        figure { round in
            guard let socket = round[.socket], let pipeline = round[.pipeline] else { return nil }
            return socket.cpuMicroseconds - pipeline.cpuMicroseconds
        }
    }

    /// Microseconds of slots, pools and the change of threads, and of the parts' getting in each other's way: in
    /// process less engine and decoder.
    package var flow: Figure {
        figure { round in
            guard let pipeline = round[.pipeline], let engine = round[.engine], let decode = round[.decode] else {
                return nil
            }
            return pipeline.cpuMicroseconds - engine.cpuMicroseconds - decode.cpuMicroseconds
        }
    }

    /// Microseconds of everything but engine and decoder.
    package var overhead: Figure {
        figure { round in
            guard let socket = round[.socket], let engine = round[.engine], let decode = round[.decode] else {
                return nil
            }
            return socket.cpuMicroseconds - engine.cpuMicroseconds - decode.cpuMicroseconds
        }
    }

    /// Reasons to doubt.
    package var warnings: [String] {
        var doubts = MeasurementDoubts(processors: processors)
        doubts.loadBefore = loadBefore
        var warnings = doubts.warnings
        for side in LocalBenchmarkSide.allCases where rate(side).spread > 2 * MeasurementDoubts.toleratedSpread {
            warnings.append(
                "\(side.rawValue): the rounds differ by \(Units.decimal(rate(side).spread * 100, places: 0))% of their "
                    + "median; run it again when the machine is quiet, or longer (--seconds)")
        }
        for side in [LocalBenchmarkSide.pipeline, .socket] where busy(side).median < 0.9 {
            warnings.append(
                "\(side.rawValue): the processors were busy for \(Units.decimal(busy(side).median * 100, places: 0))% of "
                    + "the time only: another program had the rest, or more requests at once are needed (--concurrency)"
            )
        }
        if rounds.contains(where: { $0.values.contains { $0.requests < 20 } }) {
            warnings.append("a round had fewer than 20 requests: measure longer (--seconds)")
        }
        return warnings
    }
}
