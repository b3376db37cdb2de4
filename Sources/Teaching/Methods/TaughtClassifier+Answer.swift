/// The answer of a taught head to one embedding.
package struct TaughtAnswer: Sendable, Equatable {
    /// The confidence of each class; the sum is 1.
    package let confidences: [Float]
    /// The class with the greatest confidence; the first of equal ones.
    package let first: Int
    /// The cosine distance, 0 to 2, to the first class: to its nearest example for nearest neighbours, otherwise to its
    /// mean.
    package let distance: Float
    /// True if the distance is at most the threshold; nil if the threshold is unknown.
    package let isKnown: Bool?
    /// The verdict of a `normal` model; nil for others.
    package var anomaly: AnomalyAnswer?
}

extension TaughtClassifier {
    /// The answer of a model that compares patches, from the distance of each of a picture's patches to the nearest
    /// normal one; nil for other models, and without distances.
    package func answer(patchDistances distances: [Double]) -> TaughtAnswer? {
        guard let normal, normal.patches != nil, let score = distances.max() else { return nil }
        return Self.answer(normal.answer(score: score))
    }

    private static func answer(_ anomaly: AnomalyAnswer) -> TaughtAnswer {
        TaughtAnswer(
            confidences: [1], first: 0, distance: Float(anomaly.score), isKnown: anomaly.isAnomaly.map { !$0 },
            anomaly: anomaly)
    }

    /// The answer for an embedding; nil if it has another dimension, or elements that are not finite, and of a model
    /// that compares patches.
    package func answer(_ embedding: UnsafeBufferPointer<Float>) -> TaughtAnswer? {
        guard embedding.count == dimension, embedding.allSatisfy(\.isFinite) else { return nil }
        if let normal { return normal.patches == nil ? Self.answer(normal.answer(embedding)) : nil }
        var direction = [Double](repeating: 0, count: dimension)
        direction.withUnsafeMutableBufferPointer { Centering(center: center).apply(embedding, $0) }
        return direction.withUnsafeBufferPointer { method == .nearestNeighbors ? vote($0) : scores($0) }
    }

    /// The answer for an embedding in an array.
    package func answer(_ embedding: [Float]) -> TaughtAnswer? { embedding.withUnsafeBufferPointer { answer($0) } }

    /// The class and the distance of an example that was left out of the means, as a head with one more example would
    /// give them.
    /// - Parameter factors: the factor for the cosine to each mean.
    func answer(
        leftOut embedding: [Float], factors: [Double]
    ) -> (first: Int, distance: Float) {
        let direction = Centering(center: center).apply(embedding)
        let cosines = direction.withUnsafeBufferPointer { zip(products($0, means), factors).map { $0 * $1 } }
        let first = Self.first(cosines)
        return (first, Float(min(max(1 - cosines[first], 0), 2)))
    }

    /// The answer by the means, or by the regression.
    private func scores(_ direction: UnsafeBufferPointer<Double>) -> TaughtAnswer {
        var scores =
            method == .logistic
            ? zip(products(direction, weights), intercepts).map { $0 + Double($1) }
            : products(direction, means).map { $0 * Self.scale }
        Softmax.apply(&scores)
        let first = Self.first(scores)
        let mean = means[first * dimension..<(first + 1) * dimension]
        let cosine = mean.withUnsafeBufferPointer { Vectors.dot(direction, $0) }
        return answer(scores, first, cosine)
    }

    /// The answer by the nearest examples, each weighted by the inverse of its distance; examples at distance 0 decide
    /// without the others.
    private func vote(_ direction: UnsafeBufferPointer<Double>) -> TaughtAnswer {
        let cosines = products(direction, examples)
        var nearest: [Int] = []
        let count = neighbors
        for index in cosines.indices {
            // Of examples at the same distance the first ones vote.
            guard nearest.count < count || cosines[index] > cosines[nearest[count - 1]] else { continue }
            let place = nearest.firstIndex { cosines[$0] < cosines[index] } ?? nearest.count
            nearest.insert(index, at: place)
            if nearest.count > count { nearest.removeLast() }
        }
        var votes = [Double](repeating: 0, count: labels.count)
        let distances = nearest.map { max(0, 1 - cosines[$0]) }
        // The directions have seven significant digits, so smaller distances count as 0.
        let isExact = distances.contains { $0 < 1e-6 }
        for (index, distance) in zip(nearest, distances) where !isExact || distance < 1e-6 {
            votes[exampleClasses[index]] += isExact ? 1 : 1 / distance
        }
        let sum = votes.reduce(0, +)
        for index in votes.indices { votes[index] /= sum }
        let first = Self.first(votes)
        let own = nearest.first { exampleClasses[$0] == first }
        return answer(votes, first, own.map { cosines[$0] } ?? 0)
    }

    /// The number of neighbours that vote: at most the number of examples of the smallest class.
    package var neighbors: Int {
        var counts = [Int](repeating: 0, count: labels.count)
        for label in exampleClasses { counts[label] += 1 }
        return max(1, min(Self.maximumNeighbors, counts.min() ?? 1))
    }

    private func answer(_ confidences: [Double], _ first: Int, _ cosine: Double) -> TaughtAnswer {
        let distance = Float(min(max(1 - cosine, 0), 2))
        return TaughtAnswer(
            confidences: confidences.map { Float($0) }, first: first, distance: distance,
            isKnown: threshold.map { distance <= $0 })
    }

    private func products(_ direction: UnsafeBufferPointer<Double>, _ rows: [Float]) -> [Double] {
        rows.withUnsafeBufferPointer { rows in
            (0..<rows.count / dimension).map { row in
                Vectors.dot(direction, UnsafeBufferPointer(rebasing: rows[row * dimension..<(row + 1) * dimension]))
            }
        }
    }

    private static func first(_ values: [Double]) -> Int {
        var first = 0
        for index in values.indices where values[index] > values[first] { first = index }
        return first
    }
}
