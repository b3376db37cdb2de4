/// A row and class whose score is over the threshold.
struct Candidate {
    /// `row` is counted over all levels.
    var score: Float, row: Int32, label: Int32

    /// True if it comes first: more confident; of equals, the one whose row and class come first.
    @inline(__always)
    func precedes(_ other: Candidate) -> Bool {
        if score != other.score { return score > other.score }
        if row != other.row { return row < other.row }
        return label < other.label
    }
}

/// The best candidates, of any number that is added. Up to twice `most` are held. When there are that many, the worse
/// half is dropped, and then only what is better than the worst of the rest is taken: memory for a few thousand.
struct Candidates {
    let most: Int
    private(set) var held: [Candidate] = []
    /// The value that a score must exceed; NaN until something has been dropped.
    private var floor = -Float.infinity

    init(most: Int) { self.most = max(1, most) }

    /// True if ``sorted()`` has all that were added.
    var isComplete: Bool { floor == -.infinity && held.count <= most }

    @inline(__always)
    mutating func add(_ score: Float, row: Int, label: Int) {
        guard score > floor else { return }
        held.append(
            Candidate(
                score: min(max(score, 0), 1), row: Int32(truncatingIfNeeded: row),
                label: Int32(truncatingIfNeeded: label)))
        if held.count >= 2 &* most { drop() }
    }

    private mutating func drop() {
        Self.select(&held, most)
        held.removeLast(held.count - most)
        floor = held.reduce(Float.infinity) { min($0, $1.score) }
    }

    /// The best, in order.
    consuming func sorted() -> [Candidate] {
        held.sort { $0.precedes($1) }
        if held.count > most { held.removeLast(held.count - most) }
        return held
    }

    /// Brings the first `count` in order to the front, in any order (quickselect; a sort where that goes badly).
    private static func select(_ values: inout [Candidate], _ count: Int) {
        var low = 0, high = values.count - 1, rounds = 0
        values.withUnsafeMutableBufferPointer { values in
            while low < high {
                rounds += 1
                if rounds > 64 {
                    values.sort { $0.precedes($1) }
                    return
                }
                // The median of three: sorted scores are common.
                let middle = low + (high - low) / 2
                if values[middle].precedes(values[low]) { values.swapAt(middle, low) }
                if values[high].precedes(values[low]) { values.swapAt(high, low) }
                if values[high].precedes(values[middle]) { values.swapAt(high, middle) }
                let pivot = values[middle]
                var left = low, right = high
                while left <= right {
                    while values[left].precedes(pivot) { left += 1 }
                    while pivot.precedes(values[right]) { right -= 1 }
                    if left <= right {
                        values.swapAt(left, right)
                        left += 1
                        right -= 1
                    }
                }
                if count - 1 <= right {
                    high = right
                } else if count - 1 >= left {
                    low = left
                } else {
                    return
                }
            }
        }
    }
}
