/// A mask in COCO's format: lengths of alternating runs of 0 and 1, beginning with 0, down the columns from left to
/// right.
package struct RunLengths: Sendable, Hashable {
    package let width: Int, height: Int
    package private(set) var counts: [UInt32] = []
    /// The number of pixels in the mask; the end of the last run of 1, counted down the columns.
    package private(set) var area = 0, end = 0

    /// An empty mask.
    package init(width: Int, height: Int) { (self.width, self.height) = (width, height) }

    /// Adds the pixels `rows` of a column. Columns, and rows of a column, must be added in order.
    package mutating func add(column: Int, rows: Range<Int>) {
        guard !rows.isEmpty else { return }
        let start = column &* height &+ rows.lowerBound
        area &+= rows.count
        if start == end, let last = counts.indices.last, last & 1 == 1 {
            counts[last] &+= UInt32(truncatingIfNeeded: rows.count)
        } else {
            counts.append(UInt32(truncatingIfNeeded: start &- end))
            counts.append(UInt32(truncatingIfNeeded: rows.count))
        }
        end = start &+ rows.count
    }

    /// Adds the last run of 0. Call it once, at the end.
    package mutating func close() {
        let all = width &* height
        if end < all || counts.isEmpty { counts.append(UInt32(truncatingIfNeeded: all &- end)) }
    }

    /// COCO's compressed text (`counts` of pycocotools): from the fourth on, each length is stored as the difference to
    /// the one two before, in groups of 5 bits, the lowest first, each with a bit that is set if more groups follow.
    package var compressed: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(counts.count * 2)
        for index in counts.indices {
            var value = Int(counts[index])
            if index > 2 { value -= Int(counts[index - 2]) }
            var hasMore = true
            while hasMore {
                var group = value & 0x1F
                value >>= 5
                hasMore = group & 0x10 != 0 ? value != -1 : value != 0
                if hasMore { group |= 0x20 }
                bytes.append(UInt8(truncatingIfNeeded: group + 48))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
