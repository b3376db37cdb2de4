/// A row and a class with a score over the threshold.
struct Candidate {
    /// `row` is the index among the rows of all levels.
    var score: Float, row: Int32, label: Int32

    /// True if it precedes the other: more confident or, if equal, with the lower row, then class.
    @inline(__always)
    func precedes(_ other: Candidate) -> Bool {
        if score != other.score { return score > other.score }
        if row != other.row { return row < other.row }
        return label < other.label
    }
}

/// The best candidates of any number added. Holds up to twice `maximum`: when full, it drops the worse half, then
/// accepts only candidates better than the worst one kept. Memory is bounded by a few thousand candidates.
struct Candidates {
    let maximum: Int
    private(set) var kept: [Candidate] = []
    /// True if a score was found that is not a number: the best candidates are not known then.
    var hasNaN = false
    /// The value that scores must exceed; -infinity until a candidate is dropped.
    private var floor = -Float.infinity

    init(maximum: Int) { self.maximum = max(1, maximum) }

    /// True if ``sorted()`` returns all candidates added.
    var isComplete: Bool { floor == -.infinity && kept.count <= maximum }

    @inline(__always)
    mutating func add(_ score: Float, row: Int, label: Int) {
        guard score > floor else { return }
        kept.append(
            Candidate(
                score: min(max(score, 0), 1), row: Int32(truncatingIfNeeded: row),
                label: Int32(truncatingIfNeeded: label)))
        if kept.count >= 2 &* maximum { drop() }
    }

    private mutating func drop() {
        Self.select(&kept, maximum)
        kept.removeLast(kept.count - maximum)
        floor = kept.reduce(Float.infinity) { min($0, $1.score) }
    }

    /// The best candidates, sorted.
    consuming func sorted() -> [Candidate] {
        kept.sort { $0.precedes($1) }
        if kept.count > maximum { kept.removeLast(kept.count - maximum) }
        return kept
    }

    /// Moves the first `count` by order to the front, unsorted (quickselect; falls back to sorting in bad cases).
    private static func select(_ values: inout [Candidate], _ count: Int) {
        var low = 0, high = values.count - 1, rounds = 0
        values.withUnsafeMutableBufferPointer { values in
            while low < high {
                rounds += 1
                if rounds > 64 {
                    values.sort { $0.precedes($1) }
                    return
                }
                // Median of three, because sorted scores are common.
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
