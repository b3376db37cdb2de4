package import Inference
package import JSON
internal import Observations

/// Writes the text side of a model for `/v1/models` and `ocelli check --json`.
package enum WordsAnswer {
    /// Writes the member `texts` of the open object, and `zero_shot` for a model that classifies by labels.
    package static func write(_ words: Words, to writer: inout JSONWriter) {
        let report = words.textModel.loadReport
        writer.key("texts")
        writer.object { writer in
            writer.member("file", words.description[.texts] ?? "")
            writer.member("dimension", words.dimension)
            writer.member("max_tokens", words.longestText)
            writer.member("device", report.device)
            if let engine = report.engine {
                writer.key("engine")
                writer.object { writer in
                    writer.member("name", engine.name)
                    writer.member("version", engine.version)
                }
            }
            writer.member("confirmation", report.confirmation.text)
        }
        guard words.description.takesPictures else { return }
        if let file = words.description[.pictures] { writer.member("pictures_file", file) }
        guard let scoring = words.scoring else { return }
        writer.key("zero_shot")
        writer.object { writer in
            writer.member("scale", scoring.scale)
            writer.member("bias", scoring.bias)
            writer.member("activation", "\(scoring.activation)")
        }
    }
}
