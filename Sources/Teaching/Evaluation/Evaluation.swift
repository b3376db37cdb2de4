/// The accuracy of a taught model, measured on examples that were left out of training.
package struct Evaluation: Sendable, Equatable {
    /// The result of a class: the number of its examples that were tested, and of those that were answered correctly.
    package struct ClassResult: Sendable, Equatable {
        package let label: String
        package let examples: Int
        package let tested: Int
        package let correct: Int
        /// The accuracy; nil for a class with one example, which cannot be tested without it.
        package var accuracy: Double? { tested > 0 ? Double(correct) / Double(tested) : nil }

        package init(label: String, examples: Int, tested: Int, correct: Int) {
            self.label = label
            self.examples = examples
            self.tested = tested
            self.correct = correct
        }
    }

    /// The number of examples of one class that were answered as another class.
    package struct Confusion: Sendable, Equatable {
        package let label: String
        package let answer: String
        package let count: Int

        package init(label: String, answer: String, count: Int) {
            self.label = label
            self.answer = answer
            self.count = count
        }
    }

    package let method: TeachingMethod
    package let kind: Folds.Kind
    package let folds: Int
    package let classes: [ClassResult]
    /// The most frequent pairs, in descending order.
    package let confusions: [Confusion]
    /// The distance above which a picture counts as unknown; nil until a class has two examples.
    package let threshold: Float?
    /// The scores of the examples of a `normal` model; nil for other methods.
    package let leftOut: LeftOutScores?
    /// The patches that are compared, of a `normal` model with more than `taught_max_patches`; nil for all.
    package let kept: PatchSelection?

    /// The maximum number of listed pairs.
    package static let maximumConfusions = 10

    /// Wide: a record, in the order of its fields.
    package init(
        method: TeachingMethod, kind: Folds.Kind, folds: Int, classes: [ClassResult], confusions: [Confusion],
        threshold: Float?, leftOut: LeftOutScores? = nil, kept: PatchSelection? = nil
    ) {
        self.method = method
        self.kind = kind
        self.folds = folds
        self.classes = classes
        self.confusions = confusions
        self.threshold = threshold
        self.leftOut = leftOut
        self.kept = kept
    }

    /// The evaluation of a `normal` model: no example can be answered wrongly, so there is no
    /// accuracy.
    package init(_ leftOut: LeftOutScores, examples: Int, kept: PatchSelection? = nil) {
        self.init(
            method: .normal, kind: .leaveOneOut, folds: leftOut.count,
            classes: [
                ClassResult(label: TaughtClassifier.normalLabel, examples: examples, tested: 0, correct: 0)
            ],
            confusions: [], threshold: leftOut.threshold.map { Float($0) }, leftOut: leftOut,
            kept: kept)
    }

    /// The number of tested examples.
    package var examples: Int { leftOut?.count ?? classes.reduce(0) { $0 + $1.tested } }
    package var correct: Int { classes.reduce(0) { $0 + $1.correct } }
    package var accuracy: Double? {
        leftOut == nil && examples > 0 ? Double(correct) / Double(examples) : nil
    }
    /// Wilson's 95 % interval of the accuracy.
    package var interval: (low: Double, high: Double)? {
        leftOut == nil ? WilsonInterval.of(correct, of: examples) : nil
    }

    /// The advice on how to improve the model.
    package var advice: String? {
        if let leftOut {
            let missing = leftOut.needed - classes.reduce(0) { $0 + $1.examples }
            return missing > 0 ? Self.advice(missing, leftOut.falseAlarms) : nil
        }
        guard classes.count > 1 else { return "teach a second class: with one there is nothing to confuse it with" }
        // The class that was never tested, otherwise the one with the lowest accuracy, then with the fewest examples.
        let neediest = classes.min { one, other in
            (one.accuracy ?? -1, one.examples) < (other.accuracy ?? -1, other.examples)
        }
        if neediest?.accuracy == 1 {
            return "every picture was recognized: more pictures make the interval narrower"
        }
        return neediest.map { "three more pictures of \($0.label) would help most" }
    }

    private static func advice(_ missing: Int, _ falseAlarms: Double) -> String {
        "\(missing) more normal \(missing == 1 ? "picture is" : "pictures are") needed to tell anomalies with "
            + "\"false_alarms\" of \(falseAlarms)"
    }
}
