/// The masks of a slice over all axes.
struct SliceMasks {
    /// Axes that begin at the first element, or at the last one if the step is negative.
    var begin: [Bool]
    /// Axes that end after the last element, or before the first one if the step is negative.
    var end: [Bool]
    /// Axes from which one element is taken, and which are removed.
    var squeeze: [Bool]

    var squeezed: [Int] { squeeze.indices.filter { squeeze[$0] } }

    /// The begins and ends that cover whole axes with these steps.
    static func whole(_ steps: [Int]) -> (begins: [Int], ends: [Int]) {
        let limit = Int(Int32.max)
        return (steps.map { $0 > 0 ? 0 : limit }, steps.map { $0 > 0 ? limit : -limit })
    }

    /// The begins, ends and steps of the axes with the masks applied, in Python's convention.
    func applied(begins: [Int], ends: [Int], steps: [Int]) throws(Problem) -> (
        starts: [Int], ends: [Int], steps: [Int]
    ) {
        let rank = squeeze.count
        guard begins.count == rank, ends.count == rank, steps.count == rank else {
            throw Problem("there are \(begins.count) begins and \(ends.count) ends for \(rank) axes")
        }
        let whole = Self.whole(steps)
        let starts = begins.indices.map { begin[$0] ? (squeeze[$0] ? 0 : whole.begins[$0]) : begins[$0] }
        let stops = ends.indices.map { axis in
            squeeze[axis]
                ? (starts[axis] == -1 ? Int(Int32.max) : starts[axis] &+ 1) : end[axis] ? whole.ends[axis] : ends[axis]
        }
        return (starts, stops, steps.indices.map { squeeze[$0] ? 1 : steps[$0] })
    }
}
