/// Embeddings with their classes, in the one order in which everything is computed from them: it does not depend on the
/// order in which they were taught.
package struct ExampleSet: Sendable {
    /// Numbers of an embedding.
    package let dimension: Int
    /// The names of the classes, sorted by their bytes; each has an example.
    package let labels: [String]
    /// The embeddings, class after class.
    package let rows: [[Float]]
    /// The class of each row: never less than that of the row before.
    package let classes: [Int]

    /// The examples in the given order, which sorts them by class; nil if a row has another dimension, or there is
    /// none.
    package init?(dimension: Int, labels: [String], rows: [[Float]], classes: [Int]) {
        guard dimension > 0, !rows.isEmpty, rows.count == classes.count, rows.allSatisfy({ $0.count == dimension }),
            classes.first == 0, classes.last == labels.count - 1,
            zip(classes, classes.dropFirst()).allSatisfy({ $1 == $0 || $1 == $0 + 1 })
        else { return nil }
        self.dimension = dimension
        self.labels = labels
        self.rows = rows
        self.classes = classes
    }

    /// The number of examples of each class.
    package var counts: [Int] {
        var counts = [Int](repeating: 0, count: labels.count)
        for label in classes { counts[label] += 1 }
        return counts
    }

    /// The part of the examples that is trained with.
    struct Part {
        /// The fold of each row; nil: there are no folds.
        let folds: [Int]?
        /// The fold that is left out.
        let leftOut: Int

        /// All examples.
        static let all = Part(folds: nil, leftOut: 0)

        /// True if the row is trained with.
        @inline(__always)
        func contains(_ row: Int) -> Bool {
            guard let folds else { return true }
            return folds[row] != leftOut
        }
    }

    /// The rows of a part.
    func rows(of part: Part) -> [Int] { rows.indices.filter(part.contains) }
}
