/// The patches of normal pictures, with which each patch of a picture is compared.
package struct NormalPatches: Sendable, Equatable {
    /// The patches of an example, or some others.
    struct Group: Sendable {
        let vectors: PatchVectors
        /// The first version that has the example.
        var since = 0
        /// The patches that are compared; nil for all.
        var kept: [Int32]?

        var count: Int { kept?.count ?? vectors.count }
    }

    package let grid: PatchGrid
    private(set) var groups: [Group]

    /// Fails without patches, or if one has another number of elements.
    init?(_ groups: [Group], grid: PatchGrid) {
        guard groups.contains(where: { $0.count > 0 }), groups.allSatisfy({ $0.vectors.width == grid.width }) else {
            return nil
        }
        self.grid = grid
        self.groups = groups
    }

    /// Some patches that are all compared, of a file. Fails as ``init(_:grid:)`` does.
    package init?(_ pieces: [PatchVectors], grid: PatchGrid) {
        self.init(pieces.map { Group(vectors: $0) }, grid: grid)
    }

    /// The patches of examples in the order of their digests, or a selection of them.
    package init?(_ examples: [PatchVectors], keeping selection: PatchSelection?, grid: PatchGrid) {
        self.init(examples, grid: grid)
        if let selection { keep(selection, of: 0) }
    }

    package static func == (one: NormalPatches, other: NormalPatches) -> Bool {
        // However they are divided.
        one.grid == other.grid && one.pieces.flatMap(\.bytes) == other.pieces.flatMap(\.bytes)
    }

    /// The patches that are compared, in order.
    package var pieces: [PatchVectors] {
        groups.map { group in group.kept.map { group.vectors.chosen($0.map { Int($0) }) } ?? group.vectors }
    }

    /// The number of patches that are compared with each of a picture's.
    package var count: Int { groups.reduce(0) { $0 + $1.count } }

    /// Compares only the patches of a selection among those of the examples up to a version, and all of later ones.
    mutating func keep(_ selection: PatchSelection, of version: Int) {
        var next = 0
        for index in groups.indices where groups[index].since <= version {
            let count = groups[index].vectors.count
            groups[index].kept = selection.rows(from: next, count: count)
            next += count
        }
    }
}

/// A picture's patches, to be compared with normal ones.
package struct PatchQuery: Sendable {
    private let patches: NormalPatches
    private let block: PatchBlock

    /// Fails if the picture has other patches.
    package init?(_ vectors: PatchVectors, among patches: NormalPatches) {
        guard vectors.count == patches.grid.count, vectors.width == patches.grid.width else { return nil }
        self.patches = patches
        block = PatchBlock(vectors)
    }

    /// The number of products of numbers to compute.
    package var work: Int {
        let (products, isLarge) = (block.count * patches.grid.width).multipliedReportingOverflow(by: patches.count)
        return isLarge ? .max : products
    }

    /// The cosines of the nearest patches of a share of all.
    package struct Share: Sendable {
        fileprivate var nearest: PatchBlock.Nearest
    }

    /// Compares with a share of all patches; nil if cancelled. Takes long.
    /// - Parameters:
    ///   - share: the number of the share, from 0.
    ///   - shares: the number of shares, which together have all patches.
    package func nearest(inShare share: Int, of shares: Int, isCancelled: () -> Bool) -> Share? {
        var nearest = PatchBlock.Nearest(block.count)
        for index in Swift.stride(from: share, to: patches.groups.count, by: max(1, shares)) {
            if isCancelled() { return nil }
            let group = patches.groups[index]
            block.compare(with: group.vectors, group.kept, own: &nearest) { _, _ in }
        }
        return Share(nearest: nearest)
    }

    /// The cosine distance of each patch to the nearest normal one, row by row, from all shares.
    package static func distances(_ shares: [Share]) -> [Double] {
        guard var all = shares.first else { return [] }
        for share in shares.dropFirst() { all.nearest.merge(share.nearest) }
        return all.nearest.distances
    }
}

extension PatchBlock.Nearest {
    /// The distances that belong to the cosines; 2 for a patch that was compared with none.
    var distances: [Double] { cosines.map { Double(PatchVectors.distance($0)) } }
}
