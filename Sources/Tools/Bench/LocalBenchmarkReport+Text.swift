internal import Settings

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
            Self.left("", 40) + Self.right("requests/s", 12) + Self.right("CPU µs/request", 17)
                + Self.right("busy", 8),
        ]
        let titles: [(LocalBenchmarkSide, String)] = [
            (.engine, "engine alone, \(instances) infer requests"),
            (.decode, "decoding alone, \(threads) threads"),
            (.pipeline, "pipeline in process"),
            (.socket, "POST \(route)"),
        ]
        for (side, title) in titles {
            lines.append(
                Self.left(title, 40) + Self.right(Units.decimal(rate(side).median, places: 1), 12)
                    + Self.right(Units.decimal(cpu(side).median, places: 0), 17)
                    + Self.right(Units.decimal(busy(side).median * 100, places: 0) + "%", 8))
        }
        lines.append(
            Self.left("  the load generator counted out", 40)
                + Self.right(Units.decimal(rateWithoutGenerator.median, places: 1), 12)
                + Self.right("+ \(Units.decimal(generatorCPU.median, places: 0))", 17))
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
        right(Units.decimal(figure.median, places: places), 8)
            + "  (rounds: \(Units.decimal(figure.least, places: places)) to "
            + "\(Units.decimal(figure.most, places: places)))"
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
