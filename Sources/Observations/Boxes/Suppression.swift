/// Non-maximum suppression: of overlapping boxes, the most confident is kept.
package enum Suppression {
    /// Processes boxes from the most to the least confident, and drops a box if its overlap with a kept one exceeds
    /// `iou`. Two boxes without area do not overlap.
    /// - Parameters:
    ///   - boxes: finite, the most confident first.
    ///   - labels: the class of each box; boxes of different classes do not suppress each other. Nil: all do.
    ///   - iou: the intersection over union above which a box is dropped.
    ///   - maximum: the maximum number of boxes to keep; `maximumPerClass`: that for each class.
    /// - Returns: the indices of the kept boxes, in order.
    package static func survivors(
        of boxes: [Box], labels: [Int32]?, iou: Float, maximum: Int, maximumPerClass: Int? = nil,
        isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Int] {
        var kept: [Int] = []
        kept.reserveCapacity(min(maximum, boxes.count))
        guard maximum > 0 else { return kept }
        // Compare a box with eight kept ones at a time, only of its class: each class has a linked list of blocks.
        var blocks: [Block] = []
        var latest: [Int32: Int] = [:], counts: [Int32: Int] = [:]
        for index in boxes.indices {
            if index & 63 == 63, isCancelled() { throw .cancelled }
            let box = boxes[index]
            let label = labels.map { $0[index] } ?? 0
            if let maximumPerClass, counts[label, default: 0] >= maximumPerClass { continue }
            let start = latest[label] ?? -1
            let isDropped = blocks.withUnsafeBufferPointer { blocks in
                let wide = Block(repeating: box)
                var next = start
                while next >= 0 {
                    if blocks[next].overlaps(wide, iou) { return true }
                    next = blocks[next].previous
                }
                return false
            }
            if isDropped { continue }
            kept.append(index)
            if maximumPerClass != nil { counts[label, default: 0] += 1 }
            if kept.count == maximum { break }
            if start >= 0, blocks[start].count < Block.lanes {
                blocks[start].add(box)
            } else {
                latest[label] = blocks.count
                blocks.append(Block(box, previous: start))
            }
        }
        return kept
    }

    /// Merges each detection, the most confident first, with the others of its class that overlap it by more than
    /// `iou`. Box and extras become the mean weighted by confidence; the confidence is that of the most confident one.
    static func means(
        of detections: [Detection], iou: Float, maximum: Int, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Detection] {
        var means: [Detection] = []
        var rest = detections
        while let best = rest.first, means.count < maximum {
            if isCancelled() { throw .cancelled }
            var mean = best, weight: Float = 0, sides = SIMD4<Float>.zero
            mean.extras = mean.extras.map { _ in 0 }
            var others: [Detection] = []
            for (place, one) in rest.enumerated() {
                guard place == 0 || one.index == best.index && overlap(one.box, best.box) > iou else {
                    others.append(one)
                    continue
                }
                let share = max(one.confidence, .leastNormalMagnitude)
                weight += share
                sides += share * SIMD4(one.box.left, one.box.top, one.box.right, one.box.bottom)
                for index in mean.extras.indices { mean.extras[index] += share * one.extras[index] }
            }
            sides /= weight
            mean.box = Box(left: sides[0], top: sides[1], right: sides[2], bottom: sides[3])
            mean.extras = mean.extras.map { $0 / weight }
            means.append(mean)
            rest = others
        }
        return means
    }

    /// Intersection over union; 0 if the boxes do not intersect, even where their areas have no union.
    private static func overlap(_ one: Box, _ other: Box) -> Float {
        let both = Box(
            left: max(one.left, other.left), top: max(one.top, other.top), right: min(one.right, other.right),
            bottom: min(one.bottom, other.bottom)
        ).area
        return both > 0 ? both / (one.area + other.area - both) : 0
    }

    private typealias Lanes = SIMD8<Float>

    /// Up to eight kept boxes of one class, or one box in all lanes. Empty lanes overlap nothing.
    private struct Block {
        static let lanes = Lanes.scalarCount
        private var left = Lanes(repeating: 4 * Box.farthest), top = Lanes(repeating: 4 * Box.farthest)
        private var right = Lanes(repeating: -4 * Box.farthest), bottom = Lanes(repeating: -4 * Box.farthest)
        private var area = Lanes.zero
        private(set) var count = 0
        /// The index of the previous block of the class; -1 if this is the first one.
        let previous: Int

        init(_ box: Box, previous: Int) {
            self.previous = previous
            add(box)
        }

        /// A block with the box in every lane.
        init(repeating box: Box) {
            (left, top) = (Lanes(repeating: box.left), Lanes(repeating: box.top))
            (right, bottom) = (Lanes(repeating: box.right), Lanes(repeating: box.bottom))
            (area, previous) = (Lanes(repeating: box.area), -1)
        }

        mutating func add(_ box: Box) {
            left[count] = box.left
            top[count] = box.top
            right[count] = box.right
            bottom[count] = box.bottom
            area[count] = box.area
            count += 1
        }

        /// True if the overlap of the box with one of these exceeds `iou`.
        @inline(__always)
        func overlaps(_ box: Block, _ iou: Float) -> Bool {
            let width = Self.minimum(right, box.right) - Self.greatest(left, box.left)
            // Most boxes are side by side and end here.
            guard Self.isAnyOver(width) else { return false }
            let height = Self.minimum(bottom, box.bottom) - Self.greatest(top, box.top)
            let intersection = width * height
            let excess = intersection - iou * (area + box.area - intersection)
            // All three are greater than 0 if their minimum is.
            return Self.isAnyOver(Self.minimum(Self.minimum(width, height), excess))
        }

        /// True if a lane is greater than 0.
        @inline(__always)
        private static func isAnyOver(_ lanes: Lanes) -> Bool {
            // Lanes of the mask are all ones or all zeros.
            let words = unsafeBitCast(lanes .> 0, to: SIMD4<UInt64>.self)
            return words[0] | words[1] | words[2] | words[3] != 0
        }

        @inline(__always)
        private static func minimum(_ a: Lanes, _ b: Lanes) -> Lanes { a.replacing(with: b, where: b .< a) }

        @inline(__always)
        private static func greatest(_ a: Lanes, _ b: Lanes) -> Lanes { a.replacing(with: b, where: b .> a) }
    }
}
