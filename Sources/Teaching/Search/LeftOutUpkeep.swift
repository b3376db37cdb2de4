/// The left-out scores of normal examples, kept up to date: the cosine distance of each example to the nearest of the
/// others, computed in 64 bits.
///
/// An example that comes is compared with each other one. One that goes is, too: those to which it was the nearest are
/// then compared with all others again. So a change reads each embedding once for every example that came, went or lost
/// its nearest one, and the scores do not depend on the history. Each step leaves scores that are right for the
/// examples so far, so a cancelled update loses nothing.
package struct LeftOutUpkeep: Sendable {
    private struct Row: Sendable {
        let id: ExampleID
        let embedding: [Float]
        /// The square of its length.
        let square: Double
        /// The distance to the nearest other one; infinite without one.
        var score: Double
        /// True if the nearest one has gone.
        var isStale = false

        init(_ id: ExampleID, _ embedding: [Float], score: Double = .infinity) {
            (self.id, self.embedding, self.score) = (id, embedding, score)
            square = embedding.withUnsafeBufferPointer { Vectors.square($0) }
        }
    }

    /// The examples, sorted by digest.
    private var rows: [Row] = []

    package init() {}

    /// Takes over the scores of the newest version that has an evaluation.
    init(_ state: TaughtState) {
        guard let version = state.versions.last(where: { $0.evaluation?.leftOut != nil }),
            let scores = version.evaluation?.leftOut?.scores
        else { return }
        let examples = state.examples.filter { $0.since <= version.number }
        // A single example has no score. Other counts do not belong to these examples.
        guard examples.count == scores.count else { return }
        rows = zip(examples, scores).map { Row($0.id, $0.embedding, score: $1) }
    }

    /// Changes the examples to these, which are sorted by digest. May take long.
    /// - Returns: their scores; nil if cancelled, which keeps the progress.
    package mutating func update(
        to examples: [(id: ExampleID, embedding: [Float])], isCancelled: () -> Bool = { false }
    ) -> [Double]? {
        let (gone, come) = changes(to: examples)
        // Then most of the rest would be compared again anyway, or has another dimension.
        if gone.count > rows.count / 2 { return update(toOnly: examples, isCancelled) }
        for id in gone {
            if isCancelled() { return nil }
            remove(id)
        }
        for place in rows.indices where rows[place].isStale {
            if isCancelled() { return nil }
            renew(place)
        }
        for (id, embedding) in come {
            if isCancelled() { return nil }
            insert(Row(id, embedding))
        }
        return rows.map(\.score)
    }

    private mutating func update(
        toOnly examples: [(id: ExampleID, embedding: [Float])], _ isCancelled: () -> Bool
    ) -> [Double]? {
        rows = []
        return update(to: examples, isCancelled: isCancelled)
    }

    /// The examples that must be removed and inserted: one with another embedding is in both.
    private func changes(
        to examples: [(id: ExampleID, embedding: [Float])]
    ) -> (gone: [ExampleID], come: [(id: ExampleID, embedding: [Float])]) {
        var gone: [ExampleID] = [], come: [(id: ExampleID, embedding: [Float])] = []
        var old = rows[...]
        for example in examples {
            while let first = old.first, first.id < example.id {
                gone.append(first.id)
                old = old.dropFirst()
            }
            guard let first = old.first, first.id == example.id else {
                come.append(example)
                continue
            }
            if first.embedding != example.embedding {
                gone.append(first.id)
                come.append(example)
            }
            old = old.dropFirst()
        }
        return (gone + old.map(\.id), come)
    }

    private mutating func remove(_ id: ExampleID) {
        let place = rows.place { $0.id < id }
        guard place < rows.count, rows[place].id == id else { return }
        let row = rows.remove(at: place)
        let distances = distances(from: row)
        for place in rows.indices where distances[place] <= rows[place].score { rows[place].isStale = true }
    }

    /// Compares an example, after its nearest one has gone, with all others.
    private mutating func renew(_ place: Int) {
        let distances = distances(from: rows[place])
        var nearest = Double.infinity
        for other in rows.indices where other != place { nearest = min(nearest, distances[other]) }
        rows[place].score = nearest
        rows[place].isStale = false
    }

    private mutating func insert(_ row: Row) {
        var row = row
        let distances = distances(from: row)
        for place in rows.indices {
            rows[place].score = min(rows[place].score, distances[place])
            row.score = min(row.score, distances[place])
        }
        rows.insert(row, at: rows.place { $0.id < row.id })
    }

    /// The distance of an example to each of the rows.
    private func distances(from row: Row) -> [Double] {
        let numbers = row.embedding.map { Double($0) }
        return numbers.withUnsafeBufferPointer { numbers in
            rows.map { other in
                other.embedding.withUnsafeBufferPointer {
                    1 - Vectors.cosine(numbers, square: row.square, $0, square: other.square)
                }
            }
        }
    }
}
