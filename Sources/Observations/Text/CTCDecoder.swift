/// A class that a recognizer of text found in a step of its output.
package struct TextStep: Sendable, Hashable {
    /// The class, more than 0.
    package let index: Int
    /// The step, from 0: the first of the run of equal steps.
    package let step: Int
    /// The probability, 0 to 1.
    package let confidence: Float
}

/// Reads the best path of an output of Connectionist Temporal Classification (Graves et al. 2006): the class of the
/// highest probability in each step, runs of one class as one, without class 0, the blank.
package enum CTCDecoder {
    /// The classes of one text, in the order of its steps.
    /// - Parameters:
    ///   - values: probabilities, step after step, at each step one for each class; or logits, which are recognized by
    ///     their values.
    ///   - classes: the number of classes, more than 0.
    ///   - isCancelled: asked at every 64th step.
    /// - Throws: `notNumbers` if a step has NaN.
    package static func steps(
        _ values: UnsafeBufferPointer<Float>, classes: Int, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [TextStep] {
        var steps: [TextStep] = [], last = 0
        for step in 0..<values.count / max(classes, 1) {
            if step % 64 == 0, isCancelled() { throw .cancelled }
            let row = UnsafeBufferPointer(rebasing: values[step * classes..<(step + 1) * classes])
            let (best, least, sum) = extremes(row)
            guard best.isFinite, !sum.isNaN, let index = row.firstIndex(of: best) else {
                throw .notNumbers(role: "read")
            }
            defer { last = index }
            guard index != 0, index != last else { continue }
            let confidence = least >= 0 && best <= 1.001 ? min(best, 1) : share(row, best)
            steps.append(TextStep(index: index, step: step, confidence: confidence))
        }
        return steps
    }

    /// The largest and the smallest of some values, and their sum, which is NaN if one of them is. Dictionaries have
    /// tens of thousands of classes: vectors of 8 values are compared at a time.
    private static func extremes(_ row: UnsafeBufferPointer<Float>) -> (best: Float, least: Float, sum: Float) {
        typealias Vector = SIMD8<Float>
        var high = Vector(repeating: -.infinity), low = Vector(repeating: .infinity), sums = Vector.zero
        let raw = UnsafeRawBufferPointer(row), whole = row.count / Vector.scalarCount * Vector.scalarCount
        for place in stride(from: 0, to: whole, by: Vector.scalarCount) {
            let next = raw.loadUnaligned(fromByteOffset: 4 * place, as: Vector.self)
            high.replace(with: next, where: next .> high)
            low.replace(with: next, where: next .< low)
            sums += next
        }
        var best = high.max(), least = low.min(), sum = sums.sum()
        for value in row[whole...] {
            sum += value
            least = min(least, value)
            best = max(best, value)
        }
        return (best, least, sum)
    }

    /// The softmax of the largest logit.
    private static func share(_ row: UnsafeBufferPointer<Float>, _ best: Float) -> Float {
        var sum: Float = 0
        for value in row { sum += ScoreScan.exponential(value - best) }
        return sum > 0 ? 1 / sum : 0
    }
}
