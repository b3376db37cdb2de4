#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// TensorFlow Lite's operators NON_MAX_SUPPRESSION_V4 and V5: of overlapping boxes, the one with the highest score is
/// kept. V5 can reduce scores instead of dropping boxes (Soft-NMS, arXiv 1704.04503).
struct NonMaxSuppression: Sendable {
    /// The maximum number of boxes that are kept.
    let maximum: Int
    /// The overlap (intersection over union) from which a box is dropped, and the score that a box must exceed.
    let iou: Float, threshold: Float
    /// The sigma of Soft-NMS, which determines how fast scores fall with the overlap; 0 disables it.
    let sigma: Float

    /// The boxes that are kept, in the order of their selection.
    struct Selection {
        var indices: [Int32] = []
        var scores: [Float] = []
    }

    private struct Candidate {
        let index: Int
        var score: Float
        /// The number of selected boxes that this one has already been compared with.
        var compared = 0

        func precedes(_ other: Candidate) -> Bool { score == other.score ? index < other.index : score > other.score }
    }

    /// - Parameters:
    ///   - boxes: two opposite corners of each box, y before x.
    ///   - scores: one score for each box.
    ///   - isCancelled: called regularly; returns true to stop.
    func select(boxes: [Float], scores: [Float], isCancelled: () -> Bool) -> Selection {
        var queue = Queue(
            scores.indices.filter { scores[$0] > threshold && 4 * $0 + 3 < boxes.count }
                .map { Candidate(index: $0, score: scores[$0]) })
        var selection = Selection()
        let scale = sigma > 0 ? -0.5 / sigma : 0
        var rounds = 0
        while selection.indices.count < maximum, var next = queue.popFirst() {
            rounds += 1
            if rounds & 63 == 0, isCancelled() { break }
            let before = next.score
            var isDropped = false
            for place in (next.compared..<max(next.compared, selection.indices.count)).reversed() {
                let overlap = Self.overlap(boxes, next.index, Int(selection.indices[place]))
                if overlap >= iou {
                    isDropped = true
                    break
                }
                if sigma > 0 { next.score *= exp(scale * overlap * overlap) }
                if next.score <= threshold { break }
            }
            if isDropped { continue }
            next.compared = selection.indices.count
            if next.score == before {
                selection.indices.append(Int32(truncatingIfNeeded: next.index))
                selection.scores.append(next.score)
            } else if next.score > threshold {
                // A box with a reduced score is considered again later.
                queue.insert(next)
            }
        }
        return selection
    }

    /// Intersection over union as in TensorFlow Lite: any two opposite corners, and 0 if a box has no area.
    private static func overlap(_ boxes: [Float], _ one: Int, _ other: Int) -> Float {
        func sides(_ index: Int) -> (top: Float, left: Float, bottom: Float, right: Float) {
            let (a, b, c, d) = (boxes[4 * index], boxes[4 * index + 1], boxes[4 * index + 2], boxes[4 * index + 3])
            return (min(a, c), min(b, d), max(a, c), max(b, d))
        }
        let (first, second) = (sides(one), sides(other))
        let area = (first.bottom - first.top) * (first.right - first.left)
        let otherArea = (second.bottom - second.top) * (second.right - second.left)
        guard area > 0, otherArea > 0 else { return 0 }
        let height = max(0, min(first.bottom, second.bottom) - max(first.top, second.top))
        let width = max(0, min(first.right, second.right) - max(first.left, second.left))
        return height * width / (area + otherArea - height * width)
    }

    /// The candidates, the best first: a sorted list, and a heap of those that return with a reduced score.
    private struct Queue {
        private var sorted: ArraySlice<Candidate>
        private var heap: [Candidate] = []

        init(_ all: [Candidate]) { sorted = all.sorted { $0.precedes($1) }[...] }

        mutating func popFirst() -> Candidate? {
            guard let top = heap.first else { return sorted.popFirst() }
            if let first = sorted.first, first.precedes(top) { return sorted.popFirst() }
            let last = heap.removeLast()
            guard !heap.isEmpty else { return top }
            heap[0] = last
            var place = 0
            while true {
                let left = 2 * place + 1, right = left + 1
                var best = place
                if left < heap.count, heap[left].precedes(heap[best]) { best = left }
                if right < heap.count, heap[right].precedes(heap[best]) { best = right }
                guard best != place else { return top }
                heap.swapAt(place, best)
                place = best
            }
        }

        mutating func insert(_ candidate: Candidate) {
            heap.append(candidate)
            var place = heap.count - 1
            while place > 0, heap[place].precedes(heap[(place - 1) / 2]) {
                heap.swapAt(place, (place - 1) / 2)
                place = (place - 1) / 2
            }
        }
    }
}
