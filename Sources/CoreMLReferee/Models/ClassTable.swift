/// The classes of a classifier (`ClassLabels`), and the outputs that follow from their scores.
struct ClassTable: Sendable {
    let labels: [Key]
    private let label: String, probabilities: String
    private let hasDuplicates: Bool

    /// Scores that differ by less, relative to the larger one, do not decide which class is predicted.
    private static let closeness = 1e-6

    init(_ labels: [Key], _ interface: ModelInterface) throws(ImpossibleJudgment) {
        guard !labels.isEmpty else { throw ImpossibleJudgment("a classifier of the file has no classes") }
        self.labels = labels
        label = interface.predicted
        probabilities = interface.probabilities
        hasDuplicates = Set(labels).count < labels.count
    }

    /// Reads a list of labels: a `StringVector` or an `Int64Vector`.
    static func labels(_ field: WireField, areTexts: Bool) throws(ImpossibleJudgment) -> [Key] {
        var labels: [Key] = []
        try field.message().fields { (field) throws(ImpossibleJudgment) in
            guard field.number == 1 else { return }
            if areTexts {
                labels.append(.text(try field.bytes()))
            } else {
                var numbers: [Int64] = []
                try field.append(to: &numbers)
                labels += numbers.map(Key.integer)
            }
        }
        return labels
    }

    /// - Parameters:
    ///   - scores: one for each class.
    ///   - unjudged: the reason why the scores are no probabilities of which the file says how they are computed; only
    ///     the label is judged then.
    func outputs(_ scores: [Number], unjudged: String? = nil) throws(RowProblem) -> RefereeRow {
        guard scores.count == labels.count, scores.allSatisfy(\.isKnown) else {
            throw .unjudged("the scores are not finite")
        }
        var row: RefereeRow = [:]
        if !label.isEmpty { row[label] = .label(best(scores)) }
        if !probabilities.isEmpty {
            if let reason = unjudged ?? (hasDuplicates ? "several classes have the same name" : nil) {
                row[probabilities] = .unjudged(reason)
            } else {
                row[probabilities] = .dictionary(keys: labels, values: scores)
            }
        }
        return row
    }

    /// The class with the greatest score, and those that are too close to it.
    private func best(_ scores: [Number]) -> [Key] {
        var best = 0
        for index in scores.indices where scores[index].value > scores[best].value { best = index }
        let top = scores[best]
        let least = top.value - top.slack - abs(top.value) * Self.closeness
        var keys = [labels[best]]
        for (index, score) in scores.enumerated()
        where index != best && score.value + score.slack >= least && !keys.contains(labels[index]) {
            keys.append(labels[index])
        }
        return keys
    }
}
