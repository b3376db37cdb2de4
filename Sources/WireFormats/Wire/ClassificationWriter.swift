package import ImagePipeline
package import Inference
package import JSON

/// Writes the parts of a classification's answer that the daemon and `ocelli classify` share (docs/http-api.md,
/// "Classify").
package enum ClassificationWriter {
    /// Writes the members `classifications`, `image` and `timing_ms` of the open object, `scores` if the values are not
    /// confidences, `set` and `abstain` with a coverage, `distance` and `known` for taught classes, and `anomaly` of
    /// `normal` models.
    /// - Parameter showsMap: whether `anomaly` has the member `map`, if the model compares patches.
    package static func write(
        _ result: ClassificationResult, total: UInt64, showsMap: Bool = false, to writer: inout JSONWriter
    ) {
        writeClasses(of: result, showsMap: showsMap, to: &writer)
        writer.key("image")
        writer.object { write(result.image, to: &$0) }
        writer.key("timing_ms")
        write(result.times, total: total, to: &writer)
    }

    /// Writes the classes, with the members that belong to them, into the open object.
    static func writeClasses(of result: ClassificationResult, showsMap: Bool = false, to writer: inout JSONWriter) {
        writer.key("classifications")
        writer.array { writer in
            for entry in result.classifications {
                writer.object { writer in
                    writer.member("index", entry.index)
                    writer.member("label", entry.label)
                    writer.member("confidence", entry.confidence)
                    if let similarity = entry.similarity { writer.member("similarity", similarity) }
                    if entry.isTruncated { writer.member("truncated", true) }
                }
            }
        }
        if !result.areConfidences { writer.member("scores", "logits") }
        if let set = result.set { writer.member("set", set) }
        if let abstain = result.abstain { writer.member("abstain", abstain) }
        if let taught = result.taught {
            writer.member("distance", taught.distance)
            writer.key("known")
            if let isKnown = taught.isKnown { writer.bool(isKnown) } else { writer.null() }
            if let anomaly = taught.anomaly {
                writer.key("anomaly")
                writer.object { writer in
                    write(anomaly, to: &writer)
                    if showsMap, let map = anomaly.map { write(map, to: &writer) }
                }
            }
        }
    }

    private static func write(_ anomaly: AnomalyMark, to writer: inout JSONWriter) {
        writer.key("score")
        writer.number(anomaly.score)
        for (name, value) in [("threshold", anomaly.threshold), ("p", anomaly.p)] {
            writer.key(name)
            if let value { writer.number(value) } else { writer.null() }
        }
        writer.key("is_anomaly")
        if let isAnomaly = anomaly.isAnomaly { writer.bool(isAnomaly) } else { writer.null() }
    }

    /// Writes the distances as `map`, a list for each row.
    private static func write(_ map: AnomalyMap, to writer: inout JSONWriter) {
        writer.key("map")
        writer.array { writer in
            for row in 0..<map.rows {
                writer.array { writer in
                    for column in 0..<map.columns { writer.number(map.distances[row * map.columns + column]) }
                }
            }
        }
    }

    /// Writes the facts of a picture's header, as members of the open object.
    package static func write(_ image: ImageInfo, to writer: inout JSONWriter) {
        writer.member("format", image.format.rawValue)
        writer.member("width", image.width)
        writer.member("height", image.height)
        writer.member("orientation", image.orientation)
    }

    /// Writes the times of the stages, as an object.
    package static func write(_ times: StageTimes, total: UInt64, to writer: inout JSONWriter) {
        writer.object { writer in
            if times.load > 0 { writer.member("load", milliseconds: times.load) }
            writer.member("queue", milliseconds: times.queue)
            writer.member("decode", milliseconds: times.decode)
            writer.member("inference", milliseconds: times.inference)
            if times.postprocess > 0 {
                writer.member("postprocess", milliseconds: times.postprocess)
            }
            writer.key("total")
            writer.placeholder(PerRequestField.total.rawValue) { PerRequestField.total.write(total: total, to: &$0) }
            guard !times.stages.isEmpty else { return }
            writer.key("stages")
            writer.object { writer in
                for stage in times.stages {
                    writer.member(stage.name, milliseconds: stage.nanoseconds)
                }
            }
        }
    }
}
