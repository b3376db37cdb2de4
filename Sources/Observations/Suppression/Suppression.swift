/// Non-maximum suppression: of boxes that overlap, the most confident stays.
package enum Suppression {
    /// Goes through boxes from the most to the least confident; one that overlaps a box that stayed by more than `iou` is
    /// dropped. Two boxes without area do not overlap.
    ///
    /// - Parameters:
    ///   - boxes: the most confident first. Finite.
    ///   - labels: the class of each; boxes of two classes do not suppress each other. Nil: all do.
    ///   - iou: intersection over union above which a box is dropped.
    ///   - most: the number of boxes after which it ends.
    ///   - isCancelled: asked now and then; true ends it.
    /// - Returns: the places of the boxes that stay, in order.
    package static func survivors(
        of boxes: [Box], labels: [Int32]?, iou: Float, most: Int, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Int] {
        var kept: [Int] = []
        kept.reserveCapacity(min(most, boxes.count))
        guard most > 0 else { return kept }
        // Boxes that stayed, chained by class: only those of its own are compared with a box.
        var keptBoxes: [Box] = []
        var areas: [Float] = []
        var previous: [Int32] = []
        var latest: [Int32: Int32] = [:]
        keptBoxes.reserveCapacity(kept.capacity)
        areas.reserveCapacity(kept.capacity)
        previous.reserveCapacity(kept.capacity)
        for index in boxes.indices {
            if index & 63 == 63, isCancelled() { throw .cancelled }
            let box = boxes[index], area = box.area
            let label = labels.map { $0[index] } ?? 0
            let start = latest[label] ?? -1
            let isDropped = keptBoxes.withUnsafeBufferPointer { keptBoxes in
                areas.withUnsafeBufferPointer { areas in
                    previous.withUnsafeBufferPointer { previous in
                        var next = start
                        while next >= 0 {
                            let other = Int(next)
                            if overlaps(box, area, keptBoxes[other], areas[other], iou) { return true }
                            next = previous[other]
                        }
                        return false
                    }
                }
            }
            if isDropped { continue }
            latest[label] = Int32(truncatingIfNeeded: kept.count)
            kept.append(index)
            keptBoxes.append(box)
            areas.append(area)
            previous.append(start)
            if kept.count == most { break }
        }
        return kept
    }

    @inline(__always)
    private static func overlaps(_ box: Box, _ area: Float, _ other: Box, _ otherArea: Float, _ iou: Float) -> Bool {
        let width = min(box.right, other.right) - max(box.left, other.left)
        guard width > 0 else { return false }
        let height = min(box.bottom, other.bottom) - max(box.top, other.top)
        guard height > 0 else { return false }
        let intersection = width * height
        return intersection > iou * (area + otherArea - intersection)
    }
}
