/// The left-out scores of normal examples with patches, kept up to date: the distance of each example's farthest patch
/// to the nearest patch of the others.
///
/// It works as ``LeftOutUpkeep`` does, with the nearest patch of each patch: an example that comes or goes is compared
/// with each other one, and then only patches that lost their nearest one are compared with all again. The scores do
/// not depend on the history.
package struct LeftOutPatches: Sendable {
    private struct Row: Sendable {
        let id: ExampleID
        let vectors: PatchVectors
        var nearest: PatchBlock.Nearest
        /// The patches that lost their nearest one.
        var stale: [Int] = []

        init(_ id: ExampleID, _ vectors: PatchVectors) {
            (self.id, self.vectors, nearest) = (id, vectors, PatchBlock.Nearest(vectors.count))
        }

        /// The distance of the farthest patch.
        var score: Double { nearest.distances.max() ?? 0 }
    }

    /// When an update ends early.
    package struct Limits {
        /// True from when on it makes way for other work: what is half done is completed first.
        package var isOver: () -> Bool = { false }
        /// True if it is no longer wanted: what is half done is lost.
        package var isCancelled: () -> Bool = { false }

        package init() {}
    }

    /// The examples, sorted by digest.
    private var rows: [Row] = []

    package init() {}

    /// Changes the examples to these, which are sorted by digest. Takes long.
    /// - Returns: their scores; nil if it ended early, which keeps the progress.
    package mutating func update(
        to examples: [(id: ExampleID, patches: PatchVectors)], _ limits: Limits = Limits()
    ) -> [Double]? {
        let wanted = Dictionary(examples.map { ($0.id, $0.patches) }) { first, _ in first }
        let gone = rows.filter { wanted[$0.id] != $0.vectors }.map(\.id)
        // Then most of the rest would be compared again anyway.
        if gone.count > rows.count / 2 {
            rows = []
        } else {
            for id in gone {
                if limits.isOver() || !remove(id, limits) { return nil }
            }
        }
        for place in rows.indices where !rows[place].stale.isEmpty {
            if limits.isOver() || !renew(place, limits) { return nil }
        }
        let known = Set(rows.map(\.id))
        for (id, patches) in examples where !known.contains(id) {
            if limits.isOver() || !insert(Row(id, patches), limits) { return nil }
        }
        return rows.map(\.score)
    }

    /// The place of an example, or where it would be.
    private func place(of id: ExampleID) -> Int { rows.place { $0.id < id } }

    /// Each returns false if cancelled, and then changes nothing.
    private mutating func remove(_ id: ExampleID, _ limits: Limits) -> Bool {
        let place = place(of: id)
        guard place < rows.count, rows[place].id == id else { return true }
        let block = PatchBlock(rows[place].vectors)
        var stale: [[Int]] = []
        for (index, other) in rows.enumerated() {
            if limits.isCancelled() { return false }
            var lost: [Int] = []
            if index != place {
                var own = PatchBlock.Nearest(block.count)
                block.compare(with: other.vectors, own: &own) { row, cosine in
                    if cosine >= other.nearest.cosines[row] { lost.append(row) }
                }
            }
            stale.append(lost)
        }
        for (index, lost) in stale.enumerated() where !lost.isEmpty {
            rows[index].stale = Set(rows[index].stale).union(lost).sorted()
        }
        rows.remove(at: place)
        return true
    }

    /// Compares patches, after their nearest ones have gone, with those of all others.
    private mutating func renew(_ place: Int, _ limits: Limits) -> Bool {
        let row = rows[place], block = PatchBlock(row.vectors, row.stale)
        var nearest = PatchBlock.Nearest(block.count)
        for (index, other) in rows.enumerated() where index != place {
            if limits.isCancelled() { return false }
            block.compare(with: other.vectors, own: &nearest) { _, _ in }
        }
        for (patch, cosine) in zip(row.stale, nearest.cosines) { rows[place].nearest.cosines[patch] = cosine }
        rows[place].stale = []
        return true
    }

    private mutating func insert(_ row: Row, _ limits: Limits) -> Bool {
        var row = row
        let block = PatchBlock(row.vectors)
        var theirs: [PatchBlock.Nearest] = []
        for other in rows {
            if limits.isCancelled() { return false }
            var nearest = other.nearest
            block.compare(with: other.vectors, own: &row.nearest) { patch, cosine in
                nearest.cosines[patch] = max(nearest.cosines[patch], cosine)
            }
            theirs.append(nearest)
        }
        for (index, nearest) in theirs.enumerated() { rows[index].nearest = nearest }
        rows.insert(row, at: place(of: row.id))
        return true
    }
}
