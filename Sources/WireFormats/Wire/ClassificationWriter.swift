package import ImagePipeline
package import Inference
package import JSON

/// Writes the parts of a classification's answer that the daemon and `ocelli classify` share (docs/http-api.md,
/// "Classify").
package enum ClassificationWriter {
    /// Writes the members `classifications`, `image` and `timing_ms` of the open object, `scores` if the values are not
    /// confidences, and `distance` and `known` for taught classes.
    package static func write(_ result: ClassificationResult, total: UInt64, to writer: inout JSONWriter) {
        writeClasses(of: result, to: &writer)
        writer.key("image")
        writer.object { write(result.image, to: &$0) }
        writer.key("timing_ms")
        write(result.times, total: total, to: &writer)
    }

    /// Writes the classes, with the members that belong to them, into the open object.
    static func writeClasses(of result: ClassificationResult, to writer: inout JSONWriter) {
        writer.key("classifications")
        writer.array { writer in
            for entry in result.classifications {
                writer.object { writer in
                    writer.key("index")
                    writer.integer(entry.index)
                    writer.key("label")
                    writer.string(entry.label)
                    writer.key("confidence")
                    writer.number(entry.confidence)
                }
            }
        }
        if !result.areConfidences { writer.member("scores", "logits") }
        if let taught = result.taught {
            writer.key("distance")
            writer.number(taught.distance)
            writer.key("known")
            if let isKnown = taught.isKnown { writer.bool(isKnown) } else { writer.null() }
        }
    }

    /// Writes the facts of a picture's header, as members of the open object.
    package static func write(_ image: ImageInfo, to writer: inout JSONWriter) {
        writer.key("format")
        writer.string(image.format.rawValue)
        writer.key("width")
        writer.integer(image.width)
        writer.key("height")
        writer.integer(image.height)
        writer.key("orientation")
        writer.integer(image.orientation)
    }

    /// Writes the times of the stages, as an object.
    package static func write(_ times: StageTimes, total: UInt64, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("queue")
            writer.milliseconds(times.queue)
            writer.key("decode")
            writer.milliseconds(times.decode)
            writer.key("inference")
            writer.milliseconds(times.inference)
            if times.postprocess > 0 {
                writer.key("postprocess")
                writer.milliseconds(times.postprocess)
            }
            writer.key("total")
            writer.blank(OwnValue.total.rawValue) { OwnValue.total.write(total: total, to: &$0) }
            guard !times.stages.isEmpty else { return }
            writer.key("stages")
            writer.object { writer in
                for stage in times.stages {
                    writer.key(stage.name)
                    writer.milliseconds(stage.nanoseconds)
                }
            }
        }
    }
}
