internal import Settings
internal import SystemSupport

extension LocalBenchmarkReport {
    /// The report as text, for people.
    package var text: String {
        let sizes = pictures.map(\.bytes)
        let seconds = rounds.first?[.pipeline]?.seconds ?? 0
        let threads = max(1, Int(processors.rounded(.up)))
        var lines = [
            "\(model)  (\(path))",
            "  \(pictures.count == 1 ? pictures[0].name : "\(pictures.count) pictures"), "
                + "\(Units.bytes(sizes.min() ?? 0))"
                + (sizes.min() == sizes.max() ? "" : " to \(Units.bytes(sizes.max() ?? 0))")
                + "; \(concurrency) at once; \(Units.decimal(processors, places: 1)) processors; "
                + "\(rounds.count) rounds of \(Units.decimal(seconds, places: 1)) s, the sides in turn",
            "",
            "".left(40) + "requests/s".right(12) + "CPU µs/request".right(17) + "busy".right(8),
        ]
        let titles: [(LocalBenchmarkSide, String)] = [
            (.engine, "engine alone, \(instances) infer requests"),
            (.decode, "decoding alone, \(threads) threads"),
            (.pipeline, "pipeline in process"),
            (.socket, "POST \(route)"),
        ]
        for (side, title) in titles {
            lines.append(
                title.left(40) + Units.decimal(rate(side).median, places: 1).right(12)
                    + Units.decimal(cpu(side).median, places: 0).right(17)
                    + (Units.decimal(busy(side).median * 100, places: 0) + "%").right(8))
        }
        lines.append(
            "  the load generator counted out".left(40)
                + Units.decimal(rateWithoutGenerator.median, places: 1).right(12)
                + "+ \(Units.decimal(generatorCPU.median, places: 0))".right(17))
        lines += [
            "",
            "Through the socket : in process   \(Self.range(ratio, places: 3))",
            "  with the generator              \(Self.range(ratioWithGenerator, places: 3))",
            "Ocelli's part, CPU µs a request   \(Self.range(overhead, places: 0))",
            "  sockets, HTTP, routes, JSON     \(Self.range(transport, places: 0))",
            "  slots, pools, change of threads \(Self.range(flow, places: 0))",
        ]
        for warning in warnings { lines += ["", "Warning: \(warning)"] }
        return lines.joined(separator: "\n")
    }

    private static func range(_ figure: Figure, places: Int) -> String {
        Units.decimal(figure.median, places: places).right(8)
            + "  (rounds: \(Units.decimal(figure.minimum, places: places)) to "
            + "\(Units.decimal(figure.maximum, places: places)))"
    }
}
