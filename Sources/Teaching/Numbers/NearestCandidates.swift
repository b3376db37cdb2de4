/// The vectors that can be among the nearest, by cosines with errors.
struct NearestCandidates {
    private struct Candidate {
        let part: Int32
        let row: Int32
        /// The bounds of the cosine.
        let lower: Float
        let upper: Float
    }

    private let top: Int
    private var kept: [Candidate] = []
    /// The greatest lower bound of the last place so far: a vector below it is not among the nearest.
    private var last = -Float.infinity
    /// The number of candidates at which those below are dropped.
    private var maximum: Int

    init(top: Int) {
        self.top = top
        maximum = 4 * top + 64
    }

    @inline(__always)
    mutating func add(_ part: Int, _ row: Int, _ value: Float, _ error: Float) {
        guard value + error >= last else { return }
        kept.append(
            Candidate(
                part: Int32(truncatingIfNeeded: part), row: Int32(truncatingIfNeeded: row), lower: value - error,
                upper: value + error))
        if kept.count >= maximum { drop() }
    }

    private mutating func drop() {
        guard kept.count > top else { return }
        kept.sort { $0.lower > $1.lower }
        last = kept[top - 1].lower
        kept.removeAll { $0.upper < last }
        // Where many are equally near, sorting them again and again would take longer than comparing them.
        maximum = max(maximum, 2 * kept.count)
    }

    /// The places of all that can be among the nearest.
    var places: [(part: Int, row: Int)] {
        var all = self
        all.drop()
        return all.kept.map { (Int($0.part), Int($0.row)) }
    }
}
