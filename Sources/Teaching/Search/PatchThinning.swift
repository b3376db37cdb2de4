/// Chooses some of many patches such that each patch is near to a chosen one: the greedy algorithm for k centres
/// (Gonzalez 1985), as PatchCore thins its memory. It begins with the first patch; the next one is always the farthest
/// from those so far, the first of equally far ones. So the choice depends on the examples only.
package struct PatchThinning: Sendable {
    /// The examples' patches, and the number of the first patch of each.
    private let groups: [PatchVectors]
    private let starts: [Int]
    /// The digests of the examples.
    private let ids: [ExampleID]
    private let maximum: Int
    /// For each patch the distance to the nearest chosen one, and the place of that among the chosen ones.
    private var distances: [Float], owners: [Int32]
    /// The chosen patches, in order.
    private(set) var chosen: [Int] = []

    /// - Parameters:
    ///   - examples: sorted by digest.
    ///   - maximum: the number of patches to choose, at least 1.
    package init(_ examples: [(id: ExampleID, patches: PatchVectors)], maximum: Int) {
        groups = examples.map(\.patches)
        ids = examples.map(\.id)
        self.maximum = maximum
        var starts: [Int] = [], count = 0
        for group in groups {
            starts.append(count)
            count += group.count
        }
        self.starts = starts
        distances = [Float](repeating: .infinity, count: count)
        owners = [Int32](repeating: 0, count: count)
    }

    /// The number of patches.
    package var count: Int { distances.count }

    /// True if it chooses among these patches.
    func isOf(_ examples: [(id: ExampleID, patches: PatchVectors)], maximum: Int) -> Bool {
        self.maximum == maximum && ids == examples.map(\.id) && groups == examples.map(\.patches)
    }

    /// Goes on until all are chosen, or no patch has a distance; takes long.
    /// - Returns: nil if cancelled, which keeps the progress.
    package mutating func selection(isCancelled: () -> Bool = { false }) -> PatchSelection? {
        while chosen.count < min(maximum, count) {
            if isCancelled() { return nil }
            var farthest = 0
            for row in distances.indices where distances[row] > distances[farthest] { farthest = row }
            guard distances[farthest] > 0 else { break }
            choose(farthest)
        }
        return PatchSelection(chosen, of: count)
    }

    private mutating func choose(_ row: Int) {
        let centre = WidePatch(groups[group(of: row)], row - starts[group(of: row)])
        let between = chosen.map { distance(of: $0, from: centre) }
        let number = Int32(truncatingIfNeeded: chosen.count)
        for (group, first) in starts.enumerated() {
            for patch in 0..<groups[group].count {
                let place = first + patch, old = distances[place]
                // The triangle inequality of chords (the square of one is twice the distance): a patch cannot be nearer
                // to the new centre if that is at least twice as far from its own one as the patch is.
                if old.isFinite, between[Int(owners[place])] >= 4 * old + Self.slack { continue }
                let distance = PatchVectors.distance(centre.cosine(with: groups[group], patch))
                guard distance < old else { continue }
                distances[place] = distance
                owners[place] = number
            }
        }
        distances[row] = 0
        owners[row] = number
        chosen.append(row)
    }

    private func group(of row: Int) -> Int { starts.place { $0 <= row } - 1 }

    private func distance(of row: Int, from centre: WidePatch) -> Float {
        let group = group(of: row)
        return PatchVectors.distance(centre.cosine(with: groups[group], row - starts[group]))
    }

    /// More than the error of the distances in the inequality.
    private static let slack: Float = 1e-4
}
