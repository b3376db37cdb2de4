package import Inference
package import JSON

/// Writes the vectors of texts.
package enum TextWriter {
    /// Writes the members `embedding`, `dimension`, `tokens` and `truncated` of the open object.
    package static func write(
        _ embedding: TextEmbedding, _ encoding: ObservationWriter.Encoding, to writer: inout JSONWriter
    ) {
        ObservationWriter.write(embedding.vector, encoding, to: &writer)
        writer.member("tokens", embedding.tokens)
        writer.key("truncated")
        writer.bool(embedding.isTruncated)
    }
}
