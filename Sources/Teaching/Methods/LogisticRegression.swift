#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// Multinomial logistic regression on centred and normalised embeddings: with intercepts, the squares of the weights as
/// penalty, and examples weighted so that all classes count equally. Equivalent to scikit-learn's
/// `LogisticRegression(C=10, class_weight="balanced")`.
struct LogisticRegression {
    /// A row of weights for each class, one after another.
    let weights: [Float]
    /// The intercept of each class.
    let intercepts: [Float]

    /// The inverse of the penalty's weight.
    static let c = 10.0

    /// Fails if cancelled.
    init?(_ set: ExampleSet, rows: [Int], centering: Centering, isCancelled: () -> Bool) {
        let classes = set.labels.count, dimension = set.dimension, stride = dimension + 1
        // The intercept is the weight of a constant 1 after each embedding.
        var inputs = [Double](repeating: 1, count: rows.count * stride)
        inputs.withUnsafeMutableBufferPointer { inputs in
            for (place, row) in rows.enumerated() {
                let part = UnsafeMutableBufferPointer(rebasing: inputs[place * stride..<place * stride + dimension])
                set.rows[row].withUnsafeBufferPointer { centering.apply($0, part) }
            }
        }
        let targets = rows.map { set.classes[$0] }
        var counts = [Int](repeating: 0, count: classes)
        for target in targets { counts[target] += 1 }
        let present = counts.count { $0 > 0 }
        let shares = counts.map { $0 > 0 ? Double(rows.count) / Double(present * $0) : 0 }
        // With two classes scikit-learn learns one row: the difference of these two. Its square is twice the sum of
        // their squares.
        let penalty = (present == 2 ? 2 : 1) / Self.c
        let found = LimitedMemoryBFGS().minimum(count: classes * stride, isCancelled: isCancelled) { place, gradient in
            Self.loss(place, &gradient, inputs, targets, shares, penalty, stride)
        }
        guard let found else { return nil }
        weights = (0..<classes).flatMap { label in
            found[label * stride..<label * stride + dimension].map { Float($0) }
        }
        intercepts = (0..<classes).map { Float(found[$0 * stride + dimension]) }
    }

    /// The sum of the losses and the penalty. Writes the gradient.
    private static func loss(
        _ place: [Double], _ gradient: inout [Double], _ inputs: [Double], _ targets: [Int], _ shares: [Double],
        _ penalty: Double, _ stride: Int
    ) -> Double {
        let classes = shares.count
        var scores = [Double](repeating: 0, count: classes)
        var sum = 0.0
        place.withUnsafeBufferPointer { place in
            gradient.withUnsafeMutableBufferPointer { gradient in
                for index in gradient.indices {
                    let isWeight = index % stride != stride - 1
                    gradient[index] = isWeight ? penalty * place[index] : 0
                    if isWeight { sum += penalty / 2 * place[index] * place[index] }
                }
                inputs.withUnsafeBufferPointer { inputs in
                    for (number, target) in targets.enumerated() {
                        let input = UnsafeBufferPointer(rebasing: inputs[number * stride..<(number + 1) * stride])
                        for label in 0..<classes {
                            let row = UnsafeBufferPointer(rebasing: place[label * stride..<(label + 1) * stride])
                            // A class without examples in this part gets no probability.
                            scores[label] = shares[label] > 0 ? Vectors.dot(row, input) : -.infinity
                        }
                        let own = scores[target]
                        let total = Softmax.apply(&scores)
                        sum += shares[target] * (total - own)
                        for label in 0..<classes where shares[label] > 0 {
                            let row = UnsafeMutableBufferPointer(
                                rebasing: gradient[label * stride..<(label + 1) * stride])
                            let error = scores[label] - (label == target ? 1 : 0)
                            Vectors.add(shares[target] * error, input, to: row)
                        }
                    }
                }
            }
        }
        return sum
    }
}

/// Converts scores to probabilities.
enum Softmax {
    /// Replaces the scores by probabilities. Returns the logarithm of the sum of their exponentials.
    @discardableResult
    static func apply(_ scores: inout [Double]) -> Double {
        let highest = scores.max() ?? 0
        var sum = 0.0
        for index in scores.indices {
            scores[index] = exp(scores[index] - highest)
            sum += scores[index]
        }
        for index in scores.indices { scores[index] /= sum }
        return highest + log(sum)
    }
}
