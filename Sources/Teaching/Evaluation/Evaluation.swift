/// The accuracy of a taught model, by examples that it was not trained with.
package struct Evaluation: Sendable, Equatable {
    /// A class: how many of its examples were tested, and how many of those had the right answer.
    package struct ClassResult: Sendable, Equatable {
        package let label: String
        package let examples: Int
        package let tested: Int
        package let correct: Int
        /// nil for a class with one example: it can't be tested without it.
        package var accuracy: Double? { tested > 0 ? Double(correct) / Double(tested) : nil }

        package init(label: String, examples: Int, tested: Int, correct: Int) {
            self.label = label
            self.examples = examples
            self.tested = tested
            self.correct = correct
        }
    }

    /// Examples of one class that were taken for another.
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
    /// The worst pairs first.
    package let confusions: [Confusion]
    /// The distance beyond which pictures count as strangers; nil until a class has two examples.
    package let threshold: Float?

    /// The most pairs that are listed.
    package static let mostConfusions = 10

    package init(
        method: TeachingMethod, kind: Folds.Kind, folds: Int, classes: [ClassResult], confusions: [Confusion],
        threshold: Float?
    ) {
        self.method = method
        self.kind = kind
        self.folds = folds
        self.classes = classes
        self.confusions = confusions
        self.threshold = threshold
    }

    /// The examples that were tested.
    package var examples: Int { classes.reduce(0) { $0 + $1.tested } }
    package var correct: Int { classes.reduce(0) { $0 + $1.correct } }
    package var accuracy: Double? { examples > 0 ? Double(correct) / Double(examples) : nil }
    /// Wilson's interval of the accuracy, at 95 %.
    package var interval: (low: Double, high: Double)? { WilsonInterval.of(correct, of: examples) }

    /// The advice for a better model.
    package var advice: String? {
        guard classes.count > 1 else { return "teach a second class: with one there is nothing to confuse it with" }
        // A class that was never tested may be the worst; then the one that is recognized least, then the smallest.
        let neediest = classes.min { one, other in
            (one.accuracy ?? -1, one.examples) < (other.accuracy ?? -1, other.examples)
        }
        if neediest?.accuracy == 1 {
            return "every picture was recognized: more pictures make the interval narrower"
        }
        return neediest.map { "three more pictures of \($0.label) would help most" }
    }
}
