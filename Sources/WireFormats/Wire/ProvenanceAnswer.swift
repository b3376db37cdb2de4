package import Inference
package import JSON

/// Writes the source of each value of a model without model.json: in `/v1/models/{name}`, and as lines of
/// `ocelli check`.
package enum ProvenanceAnswer {
    /// Writes `"facts": { "normalize": { "mean": { "value": …, "from": …, "key": … } } }`, and the members `missing`
    /// and `remarks`.
    package static func write(_ provenance: ModelProvenance, to writer: inout JSONWriter) {
        writer.key("facts")
        writer.object { writer in
            for line in provenance.lines {
                writer.key(line.name)
                writer.object { writer in
                    writer.key("value")
                    writer.raw(Array(line.value.utf8))
                    writer.member("from", line.source)
                    writer.member("key", line.key)
                }
            }
        }
        for (key, texts) in [("missing", provenance.missing), ("remarks", provenance.remarks)] where !texts.isEmpty {
            writer.key(key)
            writer.array { writer in for text in texts { writer.string(text) } }
        }
    }

    /// One line for each value, each missing value and each remark.
    package static func lines(_ provenance: ModelProvenance) -> [String] {
        provenance.lines.map { "  \($0.name): \($0.value), from \($0.source) (\($0.key))" }
            + provenance.missing.map { "  not specified: \($0)" } + provenance.remarks.map { "  note: \($0)" }
    }
}
