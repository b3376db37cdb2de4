/// Embeddings with their classes, in the order used for all computations. The order does not depend on the order of
/// teaching.
package struct ExampleSet: Sendable {
    /// The number of elements of an embedding.
    package let dimension: Int
    /// The names of the classes, sorted by their bytes; each class has an example.
    package private(set) var labels: [String]
    /// The embeddings, class by class.
    package private(set) var rows: [[Float]]
    /// The class of each row, in ascending order.
    package private(set) var classes: [Int]

    /// Creates a set from examples that are sorted by class. Fails without examples, or if a row has another dimension
    /// or the order is wrong.
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

    /// The part of the examples used for training.
    struct Part {
        /// The fold of each row; nil without folds.
        let folds: [Int]?
        /// The fold that is left out.
        let leftOut: Int

        /// All examples.
        static let all = Part(folds: nil, leftOut: 0)

        /// True if the row is used for training.
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

    /// Splits sorted rows into one slice per class.
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
    /// Inserts a class; an example of it must be inserted next.
    mutating func insert(class name: String, at label: Int) {
        labels.insert(name, at: label)
        for row in classes.indices where classes[row] >= label { classes[row] += 1 }
    }

    /// Inserts an example of a class, at a place among those of the class.
    mutating func insert(_ row: [Float], of label: Int, at place: Int) {
        rows.insert(row, at: place)
        classes.insert(label, at: place)
    }

    /// Removes an example; removes its class too if it was the last one.
    mutating func remove(at place: Int) {
        let label = classes.remove(at: place)
        rows.remove(at: place)
        guard rows(of: label).isEmpty else { return }
        labels.remove(at: label)
        for row in place..<classes.count { classes[row] -= 1 }
    }
}

extension RandomAccessCollection where Index == Int {
    /// The index of the first element for which `isBefore` is false. All elements for which it is true must come first.
    func place(where isBefore: (Element) -> Bool) -> Int {
        var low = startIndex, high = endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
