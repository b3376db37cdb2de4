/// The vector of a text.
package struct TextEmbedding: Sendable, Hashable {
    package let vector: [Float]
    /// The number of ids that the model read, those around the text counted, padding not.
    package let tokens: Int
    /// True if a part of the text was left out, because the text is longer than the model's longest.
    package let isTruncated: Bool

    package init(vector: [Float], tokens: Int, isTruncated: Bool) {
        (self.vector, self.tokens, self.isTruncated) = (vector, tokens, isTruncated)
    }
}

/// The vectors of some texts.
package struct TextEmbeddings: Sendable {
    /// One for each text, in their order.
    package let embeddings: [TextEmbedding]
    /// The times of all inferences; `decode` is the time of the tokenizer. All are 0 if every vector was known.
    package let times: StageTimes
}
