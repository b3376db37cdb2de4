/// The division of the examples by which a method is tested: each is answered by what was trained without its fold.
package struct Folds: Sendable, Equatable {
    /// Each example alone, or ten parts.
    package enum Kind: String, Sendable {
        case leaveOneOut = "leave_one_out"
        case tenFold = "10_fold"
    }

    package let kind: Kind
    /// The number of folds.
    package let count: Int
    /// The fold of each example; -1 for those that are always trained with: the only ones of their class.
    let ofRow: [Int]

    /// The most examples that are left out one by one.
    package static let mostLeftOutAlone = 2_000

    /// The folds for a method.
    init(_ set: ExampleSet, method: TeachingMethod) {
        let counts = set.counts
        let isTested = set.classes.map { counts[$0] >= 2 }
        let isAlone = method != .logistic && set.rows.count <= Self.mostLeftOutAlone
        kind = isAlone ? .leaveOneOut : .tenFold
        let limit = isAlone ? Int.max : min(10, counts.filter { $0 >= 2 }.min() ?? 10)
        var next = 0
        ofRow = isTested.map { isTested in
            guard isTested else { return -1 }
            defer { next += 1 }
            // The examples of a class follow each other: each fold gets its share of every class.
            return next % limit
        }
        count = min(next, limit)
    }
}
