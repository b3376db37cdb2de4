/// The partition of the examples for testing a method: each example is answered by a model that was trained without its
/// fold.
package struct Folds: Sendable, Equatable {
    /// One fold per example, or ten folds.
    package enum Kind: String, Sendable {
        case leaveOneOut = "leave_one_out"
        case tenFold = "10_fold"
    }

    package let kind: Kind
    /// The number of folds.
    package let count: Int
    /// The fold of each example; -1 for an example that is always used for training, because it is the only one of its
    /// class.
    let ofRow: [Int]

    /// The maximum number of examples for leave-one-out.
    package static let maximumLeaveOneOut = 2_000

    /// Creates the folds for a method.
    init(_ set: ExampleSet, method: TeachingMethod) {
        let counts = set.counts
        let isTested = set.classes.map { counts[$0] >= 2 }
        let isAlone = method != .logistic && set.rows.count <= Self.maximumLeaveOneOut
        kind = isAlone ? .leaveOneOut : .tenFold
        let limit = isAlone ? Int.max : min(10, counts.filter { $0 >= 2 }.min() ?? 10)
        var next = 0
        ofRow = isTested.map { isTested in
            guard isTested else { return -1 }
            defer { next += 1 }
            // Successive examples are of one class, so each fold gets its share of every class.
            return next % limit
        }
        count = min(next, limit)
    }
}
