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

/// From the cosines of an embedding with the vectors of classes to confidences.
package struct SimilarityScoring: Sendable, Hashable {
    /// The factor of cosines: e to the power of CLIP's `logit_scale`, usually 100.
    package var scale: Float
    /// The number that is added to scaled cosines.
    package var bias: Float
    package var activation: Activation

    package enum Activation: Sendable, Hashable {
        /// The confidences of all classes add up to 1 (CLIP).
        case softmax
        /// Each class has its own confidence (SigLIP).
        case sigmoid
    }

    package init(scale: Float, bias: Float = 0, activation: Activation = .softmax) {
        (self.scale, self.bias, self.activation) = (scale, bias, activation)
    }

    /// The confidences of cosines.
    package func confidences(_ similarities: [Float]) -> [Float] {
        let scores = similarities.map { scale * $0 + bias }
        switch activation {
        case .sigmoid: return scores.map(ScoreScan.sigmoid)
        case .softmax:
            let highest = scores.max() ?? 0
            let powers = scores.map { ScoreScan.exponential($0 - highest) }
            let sum = powers.reduce(0, +)
            return powers.map { $0 / sum }
        }
    }
}

/// Zero-shot classification: compares an embedding with the vectors of classes.
package struct EmbeddingClasses: Sendable {
    /// The length of a vector, and the number of classes.
    package let dimension: Int, count: Int
    private let scoring: SimilarityScoring
    /// The vectors normalized to length 1, concatenated.
    private let vectors: [Float]

    /// Classes with these vectors; nil if a vector has length 0, or there are no vectors.
    /// - Parameter vectors: `count * dimension` numbers, class by class, of any length.
    package init?(vectors: [Float], dimension: Int, scoring: SimilarityScoring) {
        guard dimension > 0, !vectors.isEmpty, vectors.count % dimension == 0, scoring.scale.isFinite,
            scoring.scale > 0, scoring.bias.isFinite
        else { return nil }
        var normalized: [Float] = []
        normalized.reserveCapacity(vectors.count)
        for start in stride(from: 0, to: vectors.count, by: dimension) {
            let vector = vectors[start..<start + dimension]
            let length = vector.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
            guard length > 0, length.isFinite else { return nil }
            normalized += vector.map { Float(Double($0) / length) }
        }
        (self.vectors, self.dimension, self.scoring) = (normalized, dimension, scoring)
        count = normalized.count / dimension
    }

    /// Classes with the softmax of scaled cosines.
    package init?(vectors: [Float], dimension: Int, scale: Float) {
        self.init(vectors: vectors, dimension: dimension, scoring: SimilarityScoring(scale: scale))
    }

    /// The mean of vectors brought to length 1, which a class with several prompts is compared by.
    package static func mean(_ vectors: [[Float]]) -> [Float] {
        guard let first = vectors.first, vectors.count > 1 else { return vectors.first ?? [] }
        var sum = [Double](repeating: 0, count: first.count)
        for vector in vectors {
            let length = vector.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
            guard length > 0 else { continue }
            for (index, number) in vector.enumerated() where index < sum.count { sum[index] += Double(number) / length }
        }
        let length = sum.reduce(0.0) { $0 + $1 * $1 }.squareRoot()
        return sum.map { Float(length > 0 ? $0 / length : 0) }
    }

    /// The cosine of an embedding with each class; an empty list if the embedding has no direction. Nil if a number is
    /// not finite.
    /// - Parameter embedding: `dimension` numbers, of any length.
    package func similarities(_ embedding: UnsafeBufferPointer<Float>) -> [Float]? {
        guard embedding.count == dimension else { return [] }
        let length = embedding.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
        guard length.isFinite else { return nil }
        guard length > 0 else { return [] }
        return vectors.withUnsafeBufferPointer { vectors in
            (0..<count).map { index in
                var sum = 0.0
                for element in 0..<dimension {
                    sum += Double(vectors[index &* dimension &+ element]) * Double(embedding[element])
                }
                return Float(sum / length)
            }
        }
    }

    /// The confidence of each class. All are 0 if the embedding has no direction.
    /// - Parameter similarities: those of ``similarities(_:)``.
    package func confidences(_ similarities: [Float]) -> [Float] {
        similarities.isEmpty ? [Float](repeating: 0, count: count) : scoring.confidences(similarities)
    }

    /// The confidence of each class: ``confidences(_:)`` of ``similarities(_:)``. Nil if a number is not finite.
    package func probabilities(_ embedding: UnsafeBufferPointer<Float>) -> [Float]? {
        similarities(embedding).map(confidences)
    }
}
