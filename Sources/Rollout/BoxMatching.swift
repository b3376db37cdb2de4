/// A maximum matching of agreeing boxes of two answers: each box is in at most one pair.
///
/// Pairing each box with the nearest one is not enough: a box may be the only candidate of another. Pairs are changed
/// along augmenting paths until the matching is maximal (Kuhn's algorithm), in time proportional to boxes times
/// candidates.
struct BoxMatching {
    private(set) var pairs = 0
    /// The indices of unmatched boxes.
    private(set) var unmatchedLeft: [Int] = []
    private(set) var unmatchedRight: [Int] = []

    init(_ left: [ComparableAnswer.FoundBox], _ right: [ComparableAnswer.FoundBox], side: Double) {
        let byLabel = Dictionary(grouping: right.indices) { right[$0].label }
        let candidates = left.map { box in
            (byLabel[box.label] ?? []).filter { Self.agree(box, right[$0], side: side) }
        }
        var partner = [Int?](repeating: nil, count: right.count)
        for start in left.indices {
            if Self.match(start, candidates, &partner) { pairs += 1 } else { unmatchedLeft.append(start) }
        }
        unmatchedRight = right.indices.filter { partner[$0] == nil }
    }

    /// Finds a partner for a box; other boxes may change theirs. Searches breadth-first without recursion, because a
    /// path can be as long as the number of boxes.
    private static func match(_ start: Int, _ candidates: [[Int]], _ partner: inout [Int?]) -> Bool {
        var cameFrom: [Int: Int] = [:]
        var next = [start], place = 0
        while place < next.count {
            let box = next[place]
            place += 1
            for candidate in candidates[box] where cameFrom[candidate] == nil {
                cameFrom[candidate] = box
                guard partner[candidate] == nil else {
                    if let other = partner[candidate] { next.append(other) }
                    continue
                }
                var free: Int? = candidate
                while let here = free, let from = cameFrom[here] {
                    let before = partner.firstIndex(of: from)
                    partner[here] = from
                    free = before
                }
                return true
            }
        }
        return false
    }

    private static func agree(
        _ a: ComparableAnswer.FoundBox, _ b: ComparableAnswer.FoundBox, side: Double
    ) -> Bool {
        guard overlap(a, b) >= Agreement.boxOverlap else { return false }
        switch (a.mask, b.mask) {
        case (nil, nil): break
        case (let one?, let other?): guard one.overlap(with: other) >= Agreement.maskOverlap else { return false }
        default: return false
        }
        return Agreement.distant(a.points ?? [], b.points ?? [], side: side) == nil
    }

    /// The intersection over union. Two boxes without area overlap if they are equal, unlike in suppression: an answer
    /// agrees with itself.
    static func overlap(_ a: ComparableAnswer.FoundBox, _ b: ComparableAnswer.FoundBox) -> Double {
        if a.corners != nil || b.corners != nil {
            let (one, other) = (ConvexShape(a), ConvexShape(b)), common = one.common(with: other)
            let all = one.area + other.area - common
            return all > 0 ? common / all : one == other ? 1 : 0
        }
        let width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
        let height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
        let common = max(0, width) * max(0, height)
        let all = a.width * a.height + b.width * b.height - common
        if all > 0 { return common / all }
        return (a.x, a.y, a.width, a.height) == (b.x, b.y, b.width, b.height) ? 1 : 0
    }
}
