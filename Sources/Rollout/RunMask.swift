/// A mask in COCO's format: lengths of alternating runs of 0 and 1, beginning with 0, down the columns from left to
/// right.
package struct RunMask: Sendable, Hashable {
    package let width: Int, height: Int
    package let counts: [UInt32]

    package init(width: Int, height: Int, counts: [UInt32]) {
        self.width = width
        self.height = height
        self.counts = counts
    }

    /// Reads COCO's compressed text: groups of 5 bits, the lowest first; from the fourth on, each length is the
    /// difference to the one two before.
    /// - Returns: nil if the text is invalid, or the lengths do not add up to the size of the picture.
    package init?(width: Int, height: Int, compressed text: String) {
        let (pixels, isTooMany) = width.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0, !isTooMany, pixels <= Int(UInt32.max) else { return nil }
        var counts: [UInt32] = []
        var value = 0, shift = 0, sum = 0
        for byte in text.utf8 {
            // Seven groups hold 35 bits, more than any length needs.
            guard (48..<112).contains(byte), shift < 35 else { return nil }
            let group = Int(byte) - 48
            value |= (group & 0x1F) << shift
            shift += 5
            guard group & 0x20 == 0 else { continue }
            if group & 0x10 != 0 { value -= 1 << shift }
            if counts.count > 2 { value += Int(counts[counts.count - 2]) }
            guard value >= 0, value <= pixels - sum else { return nil }
            sum += value
            counts.append(UInt32(value))
            (value, shift) = (0, 0)
        }
        guard shift == 0, sum == pixels else { return nil }
        self.init(width: width, height: height, counts: counts)
    }

    /// The number of pixels in the mask.
    package var area: Int {
        stride(from: 1, to: counts.count, by: 2).reduce(0) { $0 &+ Int(counts[$1]) }
    }

    /// The number of pixels in both masks.
    package func intersection(with other: RunMask) -> Int {
        var (i, j, common) = (0, 0, 0)
        var left = counts.first.map(Int.init) ?? 0, right = other.counts.first.map(Int.init) ?? 0
        while i < counts.count, j < other.counts.count {
            let step = min(left, right)
            if i & 1 == 1, j & 1 == 1 { common &+= step }
            left -= step
            right -= step
            if left == 0 {
                i += 1
                if i < counts.count { left = Int(counts[i]) }
            }
            if right == 0 {
                j += 1
                if j < other.counts.count { right = Int(other.counts[j]) }
            }
        }
        return common
    }

    /// The intersection over union of the pixels; 1 for two empty masks, 0 for masks of different sizes.
    package func overlap(with other: RunMask) -> Double {
        guard width == other.width, height == other.height else { return 0 }
        let common = intersection(with: other), all = area &+ other.area &- common
        return all == 0 ? 1 : Double(common) / Double(all)
    }
}
