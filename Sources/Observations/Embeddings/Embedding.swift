package enum EmbeddingNormalization: String, Sendable, CaseIterable {
    /// Divides by the length; leaves the embedding unchanged.
    case l2, none

    /// Normalizes an embedding; one of length 0 is unchanged. Nil if a number is not finite.
    package func apply(_ values: UnsafeBufferPointer<Float>) -> [Float]? {
        // Squares of 32-bit floats do not overflow.
        let sum = values.reduce(0.0) { $0 + Double($1) * Double($1) }
        guard sum.isFinite else { return nil }
        guard self == .l2, sum > 0 else { return Array(values) }
        let factor = 1 / sum.squareRoot()
        return values.map { Float(Double($0) * factor) }
    }
}

/// Zero-shot classification: compares an embedding with the vectors of classes.
package struct EmbeddingClasses: Sendable {
    /// The length of a vector, and the number of classes.
    package let dimension: Int, count: Int
    /// The factor of cosines before softmax: e to the power of CLIP's `logit_scale`, usually 100.
    package let scale: Float
    /// The vectors normalized to length 1, concatenated.
    private let vectors: [Float]

    /// Classes with these vectors; nil if a vector has length 0, or there are no vectors.
    /// - Parameter vectors: `count * dimension` numbers, class by class, of any length.
    package init?(vectors: [Float], dimension: Int, scale: Float) {
        guard dimension > 0, !vectors.isEmpty, vectors.count % dimension == 0, scale.isFinite, scale > 0 else {
            return nil
        }
        var normalized: [Float] = []
        normalized.reserveCapacity(vectors.count)
        for start in stride(from: 0, to: vectors.count, by: dimension) {
            let vector = vectors[start..<start + dimension]
            let length = vector.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
            guard length > 0, length.isFinite else { return nil }
            normalized += vector.map { Float(Double($0) / length) }
        }
        (self.vectors, self.dimension, self.scale) = (normalized, dimension, scale)
        count = normalized.count / dimension
    }

    /// The probability of each class: softmax of `scale` times the cosine. All are 0 if the embedding has no direction.
    /// Nil if a number is not finite.
    /// - Parameter embedding: `dimension` numbers, of any length.
    package func probabilities(_ embedding: UnsafeBufferPointer<Float>) -> [Float]? {
        var result = [Float](repeating: 0, count: count)
        guard embedding.count == dimension else { return result }
        let length = embedding.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
        guard length.isFinite else { return nil }
        guard length > 0 else { return result }
        vectors.withUnsafeBufferPointer { vectors in
            for index in 0..<count {
                var sum = 0.0
                for element in 0..<dimension {
                    sum += Double(vectors[index &* dimension &+ element]) * Double(embedding[element])
                }
                result[index] = scale * Float(sum / length)
            }
        }
        let highest = result.max() ?? 0
        for index in result.indices { result[index] = ScoreScan.exponential(result[index] - highest) }
        let sum = result.reduce(0, +)
        for index in result.indices { result[index] /= sum }
        return result
    }
}
