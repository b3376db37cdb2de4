/// Tests methods on left-out examples.
package enum Evaluator {
    /// The share of the pictures of known classes that lie within the threshold, as estimated from the examples.
    static let acceptedShare = 0.95

    /// A method's answer to each left-out example.
    struct Outcome {
        let folds: Folds
        /// The answer to each example; nil for an untested one.
        let answers: [Int?]
        let evaluation: Evaluation

        /// True if the method is right for more examples than the other, by more than two standard errors.
        func isBetter(than other: Outcome, _ set: ExampleSet) -> Bool {
            var gained = 0, lost = 0
            for (row, label) in set.classes.enumerated() {
                guard let after = answers[row], let before = other.answers[row] else { continue }
                if after == label, before != label { gained += 1 }
                if before == label, after != label { lost += 1 }
            }
            return Double(gained - lost) > 2 * Double(gained + lost).squareRoot()
        }
    }

    /// Tests one method; nil if cancelled.
    package static func evaluate(
        _ method: TeachingMethod, _ set: ExampleSet, isCancelled: () -> Bool = { false }
    ) -> Evaluation? {
        outcome(of: method, set, isCancelled)?.evaluation
    }

    /// The tested methods, and the preferred one.
    package struct Comparison: Sendable {
        package let preferred: TeachingMethod
        package let evaluations: [TeachingMethod: Evaluation]
        /// The preferred method's answer to each example; nil for an untested one.
        package let answers: [Int?]
    }

    /// Tests one method, as a comparison without other methods; nil if cancelled.
    package static func test(
        _ method: TeachingMethod, _ set: ExampleSet, isCancelled: () -> Bool = { false }
    ) -> Comparison? {
        outcome(of: method, set, isCancelled).map {
            Comparison(preferred: method, evaluations: [method: $0.evaluation], answers: $0.answers)
        }
    }

    /// Tests the affordable methods and the current one; nil if cancelled.
    ///
    /// The nearest mean is preferred unless another method is right for significantly more examples: by more than two
    /// standard errors of the difference. Without this rule, the best of three would look better than it is.
    package static func compare(
        _ set: ExampleSet, current: TeachingMethod, isCancelled: () -> Bool = { false }
    ) -> Comparison? {
        guard var best = outcome(of: .nearestMean, set, isCancelled) else { return nil }
        var evaluations = [TeachingMethod.nearestMean: best.evaluation]
        let isWorthIt = set.labels.count > 1 && best.evaluation.examples > 0
        for method in [TeachingMethod.logistic, .nearestNeighbors] {
            let isCandidate = isWorthIt && isAffordable(method, set)
            guard isCandidate || method == current else { continue }
            guard let other = outcome(of: method, set, isCancelled) else { return nil }
            evaluations[method] = other.evaluation
            if isCandidate, other.isBetter(than: best, set) { best = other }
        }
        return Comparison(preferred: best.evaluation.method, evaluations: evaluations, answers: best.answers)
    }

    /// True if, with this method, a change (which trains) and its evaluation in the background take seconds, not
    /// minutes.
    static func isAffordable(_ method: TeachingMethod, _ set: ExampleSet) -> Bool {
        let rows = Double(set.rows.count), dimension = Double(set.dimension)
        return switch method {
        case .normal: false
        case .nearestMean: true
        case .logistic: rows * dimension * Double(set.labels.count) <= 1e7
        case .nearestNeighbors: rows * rows * dimension <= 2e10
        }
    }

    private static func outcome(of method: TeachingMethod, _ set: ExampleSet, _ isCancelled: () -> Bool) -> Outcome? {
        let folds = Folds(set, method: method)
        var answers = [Int?](repeating: nil, count: set.rows.count)
        var distances: [Float] = []
        var rowsOf = [[Int]](repeating: [], count: folds.count)
        for (row, fold) in folds.ofRow.enumerated() where fold >= 0 { rowsOf[fold].append(row) }
        let isOfMeans = method == .nearestMean && folds.kind == .leaveOneOut
        let means = isOfMeans ? LeaveOneOutMeans(set) : nil
        for (fold, rows) in rowsOf.enumerated() {
            let part = ExampleSet.Part(folds: folds.ofRow, leftOut: fold)
            if let means {
                for row in rows {
                    if isCancelled() { return nil }
                    let answer = means.answer(to: row, of: set, part)
                    answers[row] = answer.first
                    distances.append(answer.distance)
                }
                continue
            }
            guard let head = TaughtClassifier(method, set, part: part, isCancelled: isCancelled) else { return nil }
            for row in rows {
                // Nearest neighbours read all examples for one answer: a fold of a hundred thousand takes minutes.
                if isCancelled() { return nil }
                guard let answer = head.answer(set.rows[row]) else { continue }
                answers[row] = answer.first
                distances.append(answer.distance)
            }
        }
        let evaluation = Evaluation(
            method: method, kind: folds.kind, folds: folds.count, classes: results(set, answers),
            confusions: confusions(set, answers), threshold: threshold(distances))
        return Outcome(folds: folds, answers: answers, evaluation: evaluation)
    }

    private static func results(_ set: ExampleSet, _ answers: [Int?]) -> [Evaluation.ClassResult] {
        var tested = [Int](repeating: 0, count: set.labels.count), correct = tested
        for (row, label) in set.classes.enumerated() {
            guard let answer = answers[row] else { continue }
            tested[label] += 1
            if answer == label { correct[label] += 1 }
        }
        let counts = set.counts
        return set.labels.indices.map {
            Evaluation.ClassResult(
                label: set.labels[$0], examples: counts[$0], tested: tested[$0], correct: correct[$0])
        }
    }

    private static func confusions(_ set: ExampleSet, _ answers: [Int?]) -> [Evaluation.Confusion] {
        struct Pair: Hashable { let label: Int, answer: Int }
        var counts: [Pair: Int] = [:]
        for (row, label) in set.classes.enumerated() {
            guard let answer = answers[row], answer != label else { continue }
            counts[Pair(label: label, answer: answer), default: 0] += 1
        }
        let worst = counts.sorted { one, other in
            (-one.value, one.key.label, one.key.answer) < (-other.value, other.key.label, other.key.answer)
        }
        return worst.prefix(Evaluation.maximumConfusions).map {
            Evaluation.Confusion(label: set.labels[$0.key.label], answer: set.labels[$0.key.answer], count: $0.value)
        }
    }

    /// The distance that the next picture of these classes exceeds with a probability of 5 %, interpolated between two
    /// examples; with few examples the maximum. (Weibull's quantile; Hyndman and Fan's sixth.)
    static func threshold(_ distances: [Float]) -> Float? {
        guard let greatest = distances.max() else { return nil }
        let rank = Double(distances.count + 1) * acceptedShare
        guard rank < Double(distances.count) else { return greatest }
        let (sorted, place) = (distances.sorted(), max(1, Int(rank)))
        return sorted[place - 1] + Float(rank - Double(place)) * (sorted[place] - sorted[place - 1])
    }
}
