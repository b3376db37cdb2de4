/// Embeddings with their classes, in the one order in which everything is computed from them: it does not depend on the
/// order in which they were taught.
package struct ExampleSet: Sendable {
    /// Numbers of an embedding.
    package let dimension: Int
    /// The names of the classes, sorted by their bytes; each has an example.
    package private(set) var labels: [String]
    /// The embeddings, class after class.
    package private(set) var rows: [[Float]]
    /// The class of each row: never less than that of the row before.
    package private(set) var classes: [Int]

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

    /// The rows of a class.
    func rows(of label: Int) -> Range<Int> { classes.place { $0 < label }..<classes.place { $0 <= label } }

    /// Rows that are in their order, class by class.
    func groups(of rows: [Int]) -> [ArraySlice<Int>] {
        var groups: [ArraySlice<Int>] = [], first = 0
        for next in rows.indices.dropFirst() where classes[rows[next]] != classes[rows[first]] {
            groups.append(rows[first..<next])
            first = next
        }
        if first < rows.count { groups.append(rows[first...]) }
        return groups
    }
}

extension ExampleSet {
    /// Adds a class; an example of it has to follow.
    mutating func insert(class name: String, at label: Int) {
        labels.insert(name, at: label)
        for row in classes.indices where classes[row] >= label { classes[row] += 1 }
    }

    /// Adds an example of a class, at a place among those of the class.
    mutating func insert(_ row: [Float], of label: Int, at place: Int) {
        rows.insert(row, at: place)
        classes.insert(label, at: place)
    }

    /// Removes an example, and with the last one its class.
    mutating func remove(at place: Int) {
        let label = classes.remove(at: place)
        rows.remove(at: place)
        guard rows(of: label).isEmpty else { return }
        labels.remove(at: label)
        for row in place..<classes.count { classes[row] -= 1 }
    }
}

extension RandomAccessCollection where Index == Int {
    /// The place of the first element that is not before something, where all that are come first.
    func place(where isBefore: (Element) -> Bool) -> Int {
        var low = startIndex, high = endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
