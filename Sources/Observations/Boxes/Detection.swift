/// A box in pixels of the input tensor, from its top left corner. `right` and `bottom` are outside.
package struct Box: Sendable, Hashable {
    package var left: Float, top: Float, right: Float, bottom: Float

    /// A box.
    package init(left: Float, top: Float, right: Float, bottom: Float) {
        (self.left, self.top, self.right, self.bottom) = (left, top, right, bottom)
    }

    /// The area; 0 for a box whose sides are the wrong way round.
    package var area: Float { max(0, right - left) * max(0, bottom - top) }

    /// Coordinates beyond this, either way, are cut to it: areas stay finite, and the boxes cover any tensor anyway.
    static let farthest: Float = 1e9

    /// The part within a picture of this size.
    func cut(width: Float, height: Float) -> Box {
        Box(
            left: min(max(left, 0), width), top: min(max(top, 0), height), right: min(max(right, 0), width),
            bottom: min(max(bottom, 0), height))
    }

    /// The box with its coordinates cut to ±``farthest``; nil if one is NaN.
    var bounded: Box? {
        func cut(_ value: Float) -> Float { min(max(value, -Self.farthest), Self.farthest) }
        guard !left.isNaN, !top.isNaN, !right.isNaN, !bottom.isNaN else { return nil }
        return Box(left: cut(left), top: cut(top), right: cut(right), bottom: cut(bottom))
    }
}

/// One thing that a detector found.
package struct Detection: Sendable, Hashable {
    package var box: Box
    /// The class, background not counted, and its confidence, 0 to 1.
    package var index: Int, confidence: Float
    /// The numbers after the classes in its row: coefficients of its mask, its keypoints.
    package var extras: [Float] = []
    /// The row of the outputs that it was read from, counted over all levels.
    package var row = 0

    /// A detection.
    package init(box: Box, index: Int, confidence: Float, extras: [Float] = [], row: Int = 0) {
        (self.box, self.index, self.confidence, self.extras, self.row) = (box, index, confidence, extras, row)
    }
}
