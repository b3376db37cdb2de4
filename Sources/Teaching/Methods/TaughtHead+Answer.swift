/// The answer of a taught head to one embedding.
package struct TaughtAnswer: Sendable, Equatable {
    /// The confidence of each class; their sum is 1.
    package let confidences: [Float]
    /// The class of the greatest confidence; of equal ones the first.
    package let first: Int
    /// The cosine distance to the first class: to its nearest example with nearest neighbours, else to its mean. From 0
    /// to 2.
    package let distance: Float
    /// True if the distance is at most the threshold; nil if that is not known.
    package let isKnown: Bool?
}

extension TaughtHead {
    /// The answer for an embedding; nil if it has another dimension, or numbers that are not finite.
    package func answer(_ embedding: UnsafeBufferPointer<Float>) -> TaughtAnswer? {
        guard embedding.count == dimension, embedding.allSatisfy(\.isFinite) else { return nil }
        var direction = [Double](repeating: 0, count: dimension)
        direction.withUnsafeMutableBufferPointer { Centering(center: center).apply(embedding, $0) }
        return direction.withUnsafeBufferPointer { method == .nearestNeighbors ? vote($0) : scores($0) }
    }

    /// The same for an array.
    package func answer(_ embedding: [Float]) -> TaughtAnswer? { embedding.withUnsafeBufferPointer { answer($0) } }

    /// The class and the distance of an example that the means were made without, as a head with one more example would
    /// give them.
    /// - Parameter factors: by which the cosine to each mean is multiplied.
    func answer(
        leftOut embedding: [Float], factors: [Double]
    ) -> (first: Int, distance: Float) {
        let direction = Centering(center: center).apply(embedding)
        let cosines = direction.withUnsafeBufferPointer { zip(products($0, means), factors).map { $0 * $1 } }
        let first = Self.first(cosines)
        return (first, Float(min(max(1 - cosines[first], 0), 2)))
    }

    /// By the means, or by the regression.
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

    /// By the nearest examples, each with the inverse of its distance; one at no distance decides alone.
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
        // The directions have seven digits: nearer than that is no distance.
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

    /// The number of neighbours that vote: no more than the smallest class has examples.
    package var neighbors: Int {
        var counts = [Int](repeating: 0, count: labels.count)
        for label in exampleClasses { counts[label] += 1 }
        return max(1, min(Self.mostNeighbors, counts.min() ?? 1))
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
