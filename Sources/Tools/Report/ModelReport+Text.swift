internal import Inference
internal import Settings
internal import SystemSupport

extension ModelReport {
    /// The report as text, for people.
    package var text: String {
        var lines = [
            "\(model)  (\(path))",
            "  \(engine) on \(device); hint \(hint), precision \(precision); "
                + "\(Units.decimal(processors, places: 1)) processors, \(instances) infer requests, \(slots) slots",
            "",
            "Load                     read    compile    warm-up      total",
            Self.row("  uncached", uncached),
            Self.row(cached.isCached ? "  cached" : "  again (not cached)", cached),
            "",
            "Prediction",
        ]
        if let firstPrediction { lines.append("  first      " + Self.milliseconds(firstPrediction)) }
        if let latency {
            lines += [
                "  median     \(Self.milliseconds(latency.p50))   of \(latency.count), one after another",
                "  p90        \(Self.milliseconds(latency.p90))",
                "  p99        \(Self.milliseconds(latency.p99))",
                "  least      \(Self.milliseconds(latency.minimum))   most \(Self.milliseconds(latency.maximum))",
            ]
        }
        if let singleStream {
            let times = Units.decimal(Double(singleStream.latency.p50) / Double(max(1, latency?.p50 ?? 0)), places: 2)
            lines.append(
                "  lone       \(Self.milliseconds(singleStream.latency.p50))   median on \(singleStream.threads) threads (lone_threads): "
                    + "\(times) times; its load \(Self.milliseconds(singleStream.load))")
        }
        lines += ["", "In flight   predictions/s        median           p99"]
        for entry in throughput {
            lines.append(
                "\(entry.inFlight)".right(9) + Units.decimal(entry.perSecond, places: 1).right(16)
                    + Self.milliseconds(entry.latency.p50).right(14) + Self.milliseconds(entry.latency.p99).right(14))
        }
        lines += ["", "Memory"]
        lines.append("  model, loaded                " + (modelBytes.map { Units.bytes($0) } ?? "not known"))
        if let singleStream {
            lines.append(
                "  the variant for single-stream requests  "
                    + (singleStream.bytes.map { Units.bytes($0) } ?? "not known"))
        }
        lines.append("  each prediction in flight    " + (predictionBytes.map { Units.bytes($0) } ?? "not known"))
        if !layers.isEmpty {
            lines += ["", "Time by type of layer"]
            for type in layerTypes.prefix(8) {
                lines.append(
                    Self.share(type.share) + Self.microseconds(type.microseconds).right(12)
                        + "  \(type.type) (\(type.count))")
            }
            lines += ["", "The \(layers.count) slowest of \(layerCount) layers"]
            for layer in layers {
                lines.append(
                    Self.share(layer.share) + Self.microseconds(layer.microseconds).right(12)
                        + "  \(layer.type)  \(layer.name)  [\(layer.execution)]")
            }
        }
        for warning in warnings { lines += ["", "Warning: \(warning)"] }
        return lines.joined(separator: "\n")
    }

    private static func row(_ title: String, _ load: LoadReport) -> String {
        title.left(19)
            + [load.read, load.compile, load.warmUp, load.total].map { milliseconds($0).right(10) }.joined(
                separator: " ")
    }

    private static func share(_ share: Double) -> String { Units.decimal(share * 100, places: 1).right(7) + "%" }

    private static func milliseconds(_ nanoseconds: UInt64) -> String {
        Units.decimal(Double(nanoseconds) / 1e6, places: nanoseconds < 100_000_000 ? 2 : 0) + " ms"
    }

    private static func microseconds(_ value: Double) -> String { Units.decimal(value, places: 0) + " µs" }
}
