internal import Glibc

/// The temperature of a classifier: the number that the logarithms of its confidences are divided by, so that the
/// confidences are as often right as they say (C. Guo et al., "On calibration of modern neural networks", 2017).
package enum Temperature {
    /// The temperatures that are searched. Pictures that are all answered right have their minimum at 0, and right
    /// labels without any relation to the answers at infinity.
    package static let range = 0.05...100.0

    /// The confidences at a temperature, softmax(log p / T); nil if one is not a number.
    /// - Parameter floor: the least confidence above 0. Those below it, 0 among them, count as this number, so that no
    ///   logarithm is infinite.
    package static func applied(
        _ temperature: Double, to confidences: UnsafeBufferPointer<Float>, floor: Float = .leastNonzeroMagnitude
    ) -> [Float]? {
        guard !confidences.contains(where: \.isNaN), let highest = confidences.max() else { return nil }
        let top = logarithm(highest, floor)
        var sum = 0.0
        let powers = confidences.map { confidence in
            let power = exp((logarithm(confidence, floor) - top) / temperature)
            sum += power
            return power
        }
        return powers.map { Float($0 / sum) }
    }

    static func logarithm(_ confidence: Float, _ floor: Float) -> Double {
        log(Double(max(confidence, floor, .leastNonzeroMagnitude)))
    }
}

/// The answers to pictures with known labels, from which a calibration is computed.
package struct LabelledAnswers: Sendable {
    /// The number of classes; at least 1.
    package let classes: Int
    /// The least confidence above 0: see ``Temperature/applied(_:to:floor:)``.
    private let floor: Float
    /// The index of each picture's right class.
    package private(set) var right: [Int] = []
    /// The uncalibrated confidences of each picture, one row after the other.
    package private(set) var confidences: [Float] = []

    /// No answers.
    package init(classes: Int, floor: Float = .leastNonzeroMagnitude) {
        self.classes = max(1, classes)
        self.floor = floor
    }

    package var count: Int { right.count }

    /// Adds the answer to a picture.
    /// - Returns: false if the confidences are not as many as the classes, one is not a number, or there is no such
    ///   class; the answer is then not added.
    package mutating func add(_ row: [Float], right index: Int) -> Bool {
        guard row.count == classes, row.indices.contains(index), !row.contains(where: \.isNaN) else { return false }
        right.append(index)
        confidences += row
        return true
    }

    /// The answer to a picture.
    package func row(_ index: Int) -> ArraySlice<Float> { confidences[index * classes..<(index + 1) * classes] }

    /// The share of pictures with the highest confidence for the right class; of equal confidences, the first counts.
    package var accuracy: Double {
        guard count > 0 else { return 0 }
        let correct = right.indices.count { index in
            let row = row(index)
            return row.max().flatMap { row.firstIndex(of: $0) } == row.startIndex + right[index]
        }
        return Double(correct) / Double(count)
    }

    /// 1 - the confidence of each right class, ascending.
    package var scores: [Double] {
        right.indices.map { Nonconformity.score(confidences[$0 * classes + right[$0]]) }.sorted()
    }

    /// The mean of -log of the right class's confidence at a temperature.
    package func logLoss(at temperature: Double) -> Double {
        guard count > 0 else { return 0 }
        var loss = 0.0
        forEachRow { logits, right in
            let highest = logits.max() ?? 0
            var sum = 0.0
            for logit in logits { sum += exp((logit - highest) / temperature) }
            loss += log(sum) - (logits[right] - highest) / temperature
        }
        return loss / Double(count)
    }

    /// The temperature that minimises ``logLoss(at:)`` within ``Temperature/range``; 1 without pictures, and if the
    /// loss does not depend on it, as with a single class.
    ///
    /// The loss is convex in b = 1 / T, so its derivative ascends: Newton's steps, within the bounds that bisection
    /// keeps. About ten passes over the confidences.
    package var bestTemperature: Double {
        guard count > 0 else { return 1 }
        var low = 1 / Temperature.range.upperBound, high = 1 / Temperature.range.lowerBound
        let (first, last) = (slope(at: low), slope(at: high))
        if first.slope == 0, last.slope == 0 { return 1 }
        if first.slope >= 0 { return Temperature.range.upperBound }
        if last.slope <= 0 { return Temperature.range.lowerBound }
        var inverse = 1.0
        for _ in 0..<Self.steps {
            let (slope, curvature) = slope(at: inverse)
            if slope == 0 { break }
            if slope < 0 { low = inverse } else { high = inverse }
            var next = inverse - slope / curvature
            // In the middle of the logarithms, because the bounds are far apart.
            if !(next > low && next < high) { next = (low * high).squareRoot() }
            let isClose = abs(next - inverse) <= Self.precision * inverse
            inverse = next
            if isClose { break }
        }
        return 1 / inverse
    }

    private static let steps = 200, precision = 1e-12

    /// The derivative of the mean loss by b = 1 / T, and the second one: the mean of E[log p] - log p of the right
    /// class, and of the variance of log p, under the calibrated confidences.
    private func slope(at inverse: Double) -> (slope: Double, curvature: Double) {
        var slope = 0.0, curvature = 0.0
        forEachRow { logits, right in
            let highest = logits.max() ?? 0
            var sum = 0.0, first = 0.0, second = 0.0
            for logit in logits {
                let distance = logit - highest, weight = exp(distance * inverse)
                sum += weight
                first += weight * distance
                second += weight * distance * distance
            }
            let mean = first / sum
            slope += mean - (logits[right] - highest)
            curvature += max(0, second / sum - mean * mean)
        }
        return (slope / Double(count), curvature / Double(count))
    }

    /// Calls `body` with the logarithms of each picture's confidences, and the index of its right class.
    private func forEachRow(_ body: (_ logits: UnsafeMutableBufferPointer<Double>, _ right: Int) -> Void) {
        withUnsafeTemporaryAllocation(of: Double.self, capacity: classes) { logits in
            logits.initialize(repeating: 0)
            confidences.withUnsafeBufferPointer { confidences in
                for (index, right) in right.enumerated() {
                    let start = index * classes
                    for number in 0..<classes {
                        logits[number] = Temperature.logarithm(confidences[start + number], floor)
                    }
                    body(logits, right)
                }
            }
        }
    }
}
