package import Inference
package import JSON

/// Writes a pipeline for `/v1/models`: as in its model.json, with the version of each model.
package enum PipelineAnswer {
    /// Writes the member `pipeline` of the open object.
    /// - Parameter taughtVersion: the version of a taught model that serves, by its name; nil if it has no version.
    package static func write(
        _ pipeline: Pipeline, taughtVersion: (String) -> String? = { _ in nil }, to writer: inout JSONWriter
    ) {
        let description = pipeline.description
        writer.key("pipeline")
        writer.object { writer in
            writer.member("model", description.model)
            writer.member("version", pipeline.detector.description.version)
            writer.member("task", PipelineDescription.Task.detect.rawValue)
            number("threshold", description.threshold, to: &writer)
            number("iou", description.iou, to: &writer)
            if let classes = description.classes { writer.member("classes", classes) }
            if let tiles = description.tiles {
                writer.key("tiles")
                writer.object { writer in
                    writer.member("size", tiles.size)
                    writer.member("overlap", tiles.overlap)
                }
            }
            if let maximum = description.maximum { writer.member("most", maximum) }
            write(pipeline.stages, taughtVersion, to: &writer)
        }
    }

    private static func write(
        _ stages: [Pipeline.Stage], _ taughtVersion: (String) -> String?, to writer: inout JSONWriter
    ) {
        guard !stages.isEmpty else { return }
        writer.key("each")
        writer.array { writer in
            for stage in stages {
                let description = stage.description
                writer.object { writer in
                    writer.member("as", description.name)
                    writer.member("model", description.model)
                    if let model = stage.model {
                        writer.member("version", model.description.version)
                    } else {
                        writer.member("taught", true)
                        writer.key("version")
                        if let version = taughtVersion(description.model) {
                            writer.string(version)
                        } else {
                            writer.null()
                        }
                    }
                    writer.member("task", description.task.rawValue)
                    if let classes = description.classes { writer.member("classes", classes) }
                    if let top = description.top { writer.member("top", top) }
                    number("threshold", description.threshold, to: &writer)
                    number("iou", description.iou, to: &writer)
                    writer.key("crop")
                    write(description.crop, to: &writer)
                    if let maximum = description.maximum { writer.member("most", maximum) }
                    write(stage.each, taughtVersion, to: &writer)
                }
            }
        }
    }

    private static func write(_ crop: PipelineDescription.Crop, to writer: inout JSONWriter) {
        writer.object { writer in
            if let alignment = crop.alignment { writer.member("align", alignment.rawValue) }
            if crop.alignment != .fivePoints {
                writer.member("margin", crop.margin)
                writer.member("square", crop.isSquare)
            }
            if let side = crop.side {
                writer.key("size")
                writer.array { writer in
                    writer.integer(side)
                    writer.integer(side)
                }
            }
            if crop.isMasked { writer.member("mask", true) }
        }
    }

    private static func number(_ name: String, _ value: Float?, to writer: inout JSONWriter) {
        guard let value else { return }
        writer.member(name, value)
    }
}
