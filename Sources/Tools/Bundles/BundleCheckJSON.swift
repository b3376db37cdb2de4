internal import Inference
internal import JSON
internal import WireFormats

/// The result of `ocelli check --json`: one object for each bundle, with the members of `/v1/models/{name}` where both
/// have them.
enum BundleCheckJSON {
    /// A bundle that can be served.
    static func text(_ model: Model, path: String) -> String {
        let report = model.loadReport, description = model.description
        return object(path, isGood: report.undecided.isEmpty) { writer in
            writer.member("name", description.name)
            writer.member("version", description.version)
            writer.member("backend", description.backend)
            writer.member("device", report.device)
            for (key, features) in [("inputs", description.inputs), ("outputs", description.outputs)] {
                writer.key(key)
                writer.array { writer in for feature in features { write(feature, to: &writer) } }
            }
            writer.member("answers", BundleCheck.routes(of: model))
            writer.member("pictures", SendingAdvice.takesPictures(model))
            if let pipeline = model.pipeline { PipelineAnswer.write(pipeline, to: &writer) }
            if let reader = model.reader { ReaderAnswer.write(reader, to: &writer) }
            if let words = model.words { WordsAnswer.write(words, to: &writer) }
            if let engine = report.engine {
                writer.key("engine")
                writer.object { writer in
                    writer.member("name", engine.name)
                    writer.member("version", engine.version)
                    if let reason = engine.reason { writer.member("reason", reason) }
                }
            }
            if model.pipeline == nil, model.reader == nil {
                writer.member("confirmation", report.confirmation.text)
            }
            if let goldens = report.goldens {
                writer.key("goldens")
                writer.object { writer in
                    writer.member("compared", goldens.compared)
                    writer.member("agreed", goldens.agreed)
                }
            }
            if let provenance = model.provenance { ProvenanceAnswer.write(provenance, to: &writer) }
            writer.member("warnings", report.advice)
            writer.member("undecided", report.undecided)
        }
    }

    /// A bundle that has no model yet.
    static func text(placeholder labels: [String], path: String) -> String {
        object(path, isGood: true) { writer in
            writer.member("placeholder", true)
            writer.member("classes", labels)
        }
    }

    /// A bundle that cannot be served.
    static func text(_ error: InferenceError, path: String) -> String {
        object(path, isGood: false) { writer in
            guard case .invalidBundle(_, let problems) = error else {
                return writer.member("problems", [error.message])
            }
            writer.member("problems", problems.map(\.description))
        }
    }

    private static func object(_ path: String, isGood: Bool, _ members: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("bundle", path)
            writer.member("good", isGood)
            members(&writer)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ feature: FeatureDescription, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", feature.name)
            writer.member("type", feature.kind.rawValue)
            writer.member("dtype", feature.elementType.rawValue)
            writer.key("shape")
            writer.array { writer in for extent in feature.shape.dimensions { writer.integer(extent) } }
            if let labels = feature.labels { writer.member("labels", labels.count) }
        }
    }
}
