/// The examples of a `normal` model: their embeddings or their patches, with which pictures are compared, and their
/// left-out scores.
package struct NormalExamples: Sendable, Equatable {
    /// Some of the embeddings, and their directions in 16 bits in the same order.
    struct Part: Sendable {
        let rows: [[Float]]
        let half: HalfVectors
    }

    /// Empty if patches are compared.
    let parts: [Part]
    /// The patches that are compared; nil if whole pictures are.
    package internal(set) var patches: NormalPatches?
    package let dimension: Int
    /// The share of normal pictures that may be called anomalies.
    package let falseAlarms: Double
    /// The scores of the examples; nil until they are known.
    package var leftOut: LeftOutScores?

    /// Fails without examples, or if one has another dimension.
    init?(_ parts: [Part], dimension: Int, falseAlarms: Double) {
        let parts = parts.filter { !$0.rows.isEmpty }
        guard dimension > 0, !parts.isEmpty,
            parts.allSatisfy({ part in
                part.half.count == part.rows.count && part.rows.allSatisfy { $0.count == dimension }
            })
        else { return nil }
        self.parts = parts
        self.dimension = dimension
        self.falseAlarms = falseAlarms
    }

    /// Fails without examples, or if one has another dimension or a number that is not finite.
    package init?(_ rows: [[Float]], dimension: Int, falseAlarms: Double) {
        guard rows.allSatisfy({ $0.allSatisfy(\.isFinite) }) else { return nil }
        self.init(
            [Part(rows: rows, half: HalfVectors(rows, dimension: dimension))], dimension: dimension,
            falseAlarms: falseAlarms)
    }

    /// - Parameter dimension: the length of the examples' embeddings, which are not compared.
    package init(_ patches: NormalPatches, dimension: Int, falseAlarms: Double) {
        self.patches = patches
        self.dimension = dimension
        self.falseAlarms = falseAlarms
        parts = []
    }

    /// The embeddings of all examples, in order; none if patches are compared.
    package var rows: [[Float]] { parts.flatMap(\.rows) }

    package static func == (one: NormalExamples, other: NormalExamples) -> Bool {
        one.dimension == other.dimension && one.falseAlarms == other.falseAlarms && one.leftOut == other.leftOut
            && one.rows == other.rows && one.patches == other.patches
    }

    /// The answer for an embedding of the right dimension with finite numbers. Reads all examples.
    func answer(_ embedding: UnsafeBufferPointer<Float>) -> AnomalyAnswer {
        answer(score: distance(to: Array(embedding)))
    }

    /// The answer for a score: the distance to the nearest example, or that of the farthest patch.
    package func answer(score: Double) -> AnomalyAnswer {
        let threshold = leftOut?.threshold
        return AnomalyAnswer(
            score: score, threshold: threshold, p: leftOut?.p(of: score), isAnomaly: threshold.map { score > $0 })
    }

    /// The cosine distance to the nearest example, as computed in 64 bits: a first pass over 16-bit numbers finds those
    /// that can be the nearest, which are then compared again.
    func distance(to embedding: [Float]) -> Double {
        let query = HalfVectors.Query(embedding), numbers = embedding.map { Double($0) }
        let square = embedding.withUnsafeBufferPointer { Vectors.square($0) }
        var candidates = NearestCandidates(top: 1)
        for (place, part) in parts.enumerated() {
            for row in part.rows.indices {
                let (value, error) = part.half.cosine(row, query)
                candidates.add(place, row, value, error)
            }
        }
        var nearest = -1.0
        numbers.withUnsafeBufferPointer { numbers in
            for (part, row) in candidates.places {
                parts[part].rows[row].withUnsafeBufferPointer {
                    nearest = max(nearest, Vectors.cosine(numbers, square: square, $0, square: Vectors.square($0)))
                }
            }
        }
        return 1 - nearest
    }
}
