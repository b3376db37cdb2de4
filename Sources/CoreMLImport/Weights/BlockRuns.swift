/// The division of a tensor into groups, with each axis cut into equal blocks: each group has one scale or lookup table
/// of compressed weights.
struct BlockRuns {
    /// A run of consecutive elements of one group.
    struct Run {
        var start: Int
        var count: Int
        var group: Int
    }

    private let shape: [Int]
    private let groups: [Int]

    /// Throws if the extents of `groups` do not divide those of `shape`.
    init(shape: [Int], groups: [Int]) throws(Problem) {
        guard shape.count == groups.count, zip(shape, groups).allSatisfy({ $1 > 0 && $0 % $1 == 0 }) else {
            throw Problem("groups of shape \(groups) do not divide weights of shape \(shape)")
        }
        self.shape = shape
        self.groups = groups
    }

    /// Calls `body` for all runs, in the order of the elements.
    func forEach(_ body: (Run) -> Void) {
        let extent = shape.last ?? 1
        let parts = groups.last ?? 1
        let rows = shape.dropLast().reduce(1, *)
        guard extent > 0, rows > 0 else { return }
        // A run ends with the row, unless the whole row and the next one are in one group.
        let length = extent / parts
        var place = [Int](repeating: 0, count: max(shape.count - 1, 0))
        for row in 0..<rows {
            var group = 0
            for axis in place.indices { group = group * groups[axis] + place[axis] / (shape[axis] / groups[axis]) }
            for part in 0..<parts {
                body(Run(start: row * extent + part * length, count: length, group: group * parts + part))
            }
            for axis in place.indices.reversed() {
                place[axis] += 1
                if place[axis] < shape[axis] { break }
                place[axis] = 0
            }
        }
    }
}
