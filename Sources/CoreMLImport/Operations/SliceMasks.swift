/// The masks of a slice along all axes.
struct SliceMasks {
    /// Axes that begin at their first element, or the last one where the step is negative.
    var begin: [Bool]
    /// Axes that end behind their last element, or before the first one.
    var end: [Bool]
    /// Axes of which one element is taken, and that are removed.
    var squeeze: [Bool]

    var squeezed: [Int] { squeeze.indices.filter { squeeze[$0] } }

    /// The begins and ends of axes with these steps that the masks stand for.
    static func whole(_ steps: [Int]) -> (begins: [Int], ends: [Int]) {
        let limit = Int(Int32.max)
        return (steps.map { $0 > 0 ? 0 : limit }, steps.map { $0 > 0 ? limit : -limit })
    }

    /// The begins, ends and steps of the axes, as Python counts.
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
