internal import JSON
internal import Settings
internal import Teaching

/// The report of `ocelli teach --normal`: the threshold of anomalies, or the number of pictures that it needs.
struct NormalReport: Sendable {
    let name: String
    let embedder: Embedder
    let dimension: Int
    let evaluation: Evaluation
    let leftOut: LeftOutScores
    /// The folder that was written.
    let bundle: String
    let failures: [TeachReport.Failure]

    private var examples: Int { evaluation.classes.reduce(0) { $0 + $1.examples } }

    /// The report as lines of text.
    var text: String {
        var lines = [
            "\(name): \(TeachReport.count(examples, "normal picture")), on embeddings of \(embedder.model) "
                + "(\(dimension) numbers)"
        ]
        if let threshold = leftOut.threshold {
            lines.append(
                "beyond a distance of \(Units.decimal(threshold, places: 3)) to the nearest of them a picture is an anomaly "
                    + "(share of false alarms: \(leftOut.falseAlarms))")
        }
        if let advice = evaluation.advice { lines.append(advice) }
        if !failures.isEmpty { lines.append("\(TeachReport.count(failures.count, "picture")) left out: see above") }
        return lines.joined(separator: "\n")
    }

    /// The report as one JSON object.
    var json: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("name", name)
            writer.member("bundle", bundle)
            TeachReport.write(embedder, to: &writer)
            writer.member("dimension", dimension)
            writer.member("method", TeachingMethod.normal.rawValue)
            writer.member("examples", examples)
            writer.key("false_alarms")
            writer.number(leftOut.falseAlarms)
            writer.key("threshold")
            if let threshold = leftOut.threshold { writer.number(threshold) } else { writer.null() }
            writer.key("advice")
            if let advice = evaluation.advice { writer.string(advice) } else { writer.null() }
            TeachReport.write(failures, to: &writer)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
