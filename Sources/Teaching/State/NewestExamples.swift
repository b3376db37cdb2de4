/// The examples of the newest version, in the order used for all computations, and the sum of each class's embeddings.
/// An update reads only the embeddings of the changed classes. A sum is computed from all rows of its class in order,
/// so its bits do not depend on the history.
struct NewestExamples: Sendable {
    private(set) var set: ExampleSet
    /// The digests of the rows.
    private var ids: [ExampleID]
    /// The sums of the classes.
    private var sums: [[Double]]

    /// The maximum number of changed examples for an update; with more it costs as much as reading all.
    private static let maximum = 100

    /// Fails without examples, or if two labels are equal as strings but have different bytes: then the first example
    /// names the class.
    init?(_ state: TaughtState) {
        guard let newest = state.versions.last, let set = state.exampleSet(of: newest.number) else { return nil }
        var groups: [[UInt8]: [ExampleID]] = [:]
        for example in state.examples { groups[Array(example.label.utf8), default: []].append(example.id) }
        guard groups.count == set.labels.count else { return nil }
        self.set = set
        ids = set.labels.flatMap { groups[Array($0.utf8)] ?? [] }
        sums = set.labels.indices.map { Centering.sum(of: set.rows(of: $0), set) }
    }

    /// The centering with all examples.
    var centering: Centering { Centering(sums: sums, count: ids.count, dimension: set.dimension) }

    /// Applies the changes of some examples. Returns false if it cannot; the object must then not be used any more.
    mutating func update(_ changed: [ExampleID], from old: TaughtState, to new: TaughtState) -> Bool {
        guard changed.count <= Self.maximum else { return false }
        var touched: Set<String> = []
        for id in Set(changed) {
            let before = old.examples[id], after = new.examples[id]
            guard before?.label != after?.label else { continue }
            if let before, !remove(before) { return false }
            if let after, !insert(after) { return false }
            touched.formUnion([before?.label, after?.label].compactMap { $0 })
        }
        for label in sums.indices where touched.contains(set.labels[label]) {
            sums[label] = Centering.sum(of: set.rows(of: label), set)
        }
        return true
    }

    /// The index of a class among the labels, and whether it exists.
    private func find(_ name: String) -> (label: Int, isKnown: Bool) {
        let label = set.labels.place { $0.utf8.lexicographicallyPrecedes(name.utf8) }
        return (label, label < set.labels.count && set.labels[label].utf8.elementsEqual(name.utf8))
    }

    private mutating func insert(_ example: Example) -> Bool {
        let (label, isKnown) = find(example.label)
        guard isKnown || !set.labels.contains(example.label) else { return false }
        if !isKnown {
            set.insert(class: example.label, at: label)
            sums.insert([], at: label)
        }
        let place = ids[set.rows(of: label)].place { $0 < example.id }
        ids.insert(example.id, at: place)
        set.insert(example.embedding, of: label, at: place)
        return true
    }

    private mutating func remove(_ example: Example) -> Bool {
        let (label, isKnown) = find(example.label)
        guard isKnown else { return false }
        let rows = set.rows(of: label), place = ids[rows].place { $0 < example.id }
        guard place < rows.upperBound, ids[place] == example.id else { return false }
        ids.remove(at: place)
        if rows.count == 1 { sums.remove(at: label) }
        set.remove(at: place)
        return true
    }
}
