internal import Settings

/// The measurements of `ocelli bench`: they show how close requests through the socket come to the limits of the parts.
package struct LocalBenchmarkReport: Sendable {
    package var model = "", path = ""
    /// The route of requests through the socket.
    package var route = "/v1/classify"
    package var processors = 1.0
    package var instances = 0
    package var concurrency = 0
    package var pictures: [(name: String, bytes: Int)] = []
    /// One entry for each round; each has all sides.
    package var rounds: [[LocalBenchmarkSide: LocalBenchmarkRound]] = []
    package var loadBefore: Double?

    package init() {}

    /// A figure over all rounds: the median, the minimum and the maximum.
    package struct Figure: Sendable, Hashable {
        package let median: Double, minimum: Double, maximum: Double

        init(_ values: [Double]) {
            let sorted = values.sorted()
            let count = sorted.count
            median =
                count == 0 ? 0 : count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2
            minimum = sorted.first ?? 0
            maximum = sorted.last ?? 0
        }

        /// The difference between the rounds, relative to the median.
        var spread: Double { median > 0 ? (maximum - minimum) / median : 0 }
    }

    private func figure(_ value: ([LocalBenchmarkSide: LocalBenchmarkRound]) -> Double?) -> Figure {
        Figure(rounds.compactMap(value))
    }

    /// The number of requests per second.
    package func rate(_ side: LocalBenchmarkSide) -> Figure { figure { $0[side]?.rate } }
    /// The processor time per request in microseconds, without the generator's.
    package func cpu(_ side: LocalBenchmarkSide) -> Figure { figure { $0[side]?.cpuMicroseconds } }
    /// The share of the processors that was busy.
    package func busy(_ side: LocalBenchmarkSide) -> Figure { figure { $0[side]?.busy(processors: processors) } }
    /// The generator's processor time per request in microseconds.
    package var generatorCPU: Figure {
        figure { round in
            round[.socket].flatMap { $0.requests > 0 ? $0.generatorSeconds * 1e6 / Double($0.requests) : nil }
        }
    }

    /// The number of requests per second through the socket, without the generator's time.
    package var rateWithoutGenerator: Figure {
        figure { $0[.socket]?.rateWithoutGenerator(processors: processors) }
    }

    /// The rate through the socket relative to the rate in process, without the generator's time. Computed per round,
    /// so that a disturbance of the machine affects both rates.
    package var ratio: Figure {
        figure { round in
            guard let pipeline = round[.pipeline]?.rate, pipeline > 0, let socket = round[.socket] else { return nil }
            return socket.rateWithoutGenerator(processors: processors) / pipeline
        }
    }

    /// The rate through the socket relative to the rate in process, with the generator as part of the load.
    package var ratioWithGenerator: Figure {
        figure { round in
            guard let pipeline = round[.pipeline]?.rate, pipeline > 0, let socket = round[.socket] else { return nil }
            return socket.rate / pipeline
        }
    }

    /// The processor time of sockets, HTTP, routing and JSON in microseconds: through the socket less in process.
    package var transport: Figure {
        figure { round in
            guard let socket = round[.socket], let pipeline = round[.pipeline] else { return nil }
            return socket.cpuMicroseconds - pipeline.cpuMicroseconds
        }
    }

    /// The processor time of slots, pools, thread switches and mutual disturbance of the parts in microseconds: in
    /// process less engine and decoder.
    package var flow: Figure {
        figure { round in
            guard let pipeline = round[.pipeline], let engine = round[.engine], let decode = round[.decode] else {
                return nil
            }
            return pipeline.cpuMicroseconds - engine.cpuMicroseconds - decode.cpuMicroseconds
        }
    }

    /// The processor time of everything except engine and decoder, in microseconds.
    package var overhead: Figure {
        figure { round in
            guard let socket = round[.socket], let engine = round[.engine], let decode = round[.decode] else {
                return nil
            }
            return socket.cpuMicroseconds - engine.cpuMicroseconds - decode.cpuMicroseconds
        }
    }

    /// The reasons to doubt the figures.
    package var warnings: [String] {
        var measurement = MeasurementWarnings(processors: processors)
        measurement.loadBefore = loadBefore
        var warnings = measurement.warnings
        for side in LocalBenchmarkSide.allCases where rate(side).spread > 2 * MeasurementWarnings.toleratedSpread {
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
