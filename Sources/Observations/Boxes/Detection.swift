/// A box in pixels of the input tensor, from its top left corner. `right` and `bottom` are exclusive.
package struct Box: Sendable, Hashable {
    package var left: Float, top: Float, right: Float, bottom: Float

    package init(left: Float, top: Float, right: Float, bottom: Float) {
        (self.left, self.top, self.right, self.bottom) = (left, top, right, bottom)
    }

    /// The area; 0 if the sides are reversed.
    package var area: Float { max(0, right - left) * max(0, bottom - top) }

    /// The maximum absolute value of coordinates; larger ones are clamped: areas stay finite, and such boxes cover any
    /// tensor anyway.
    static let farthest: Float = 1e9

    /// The box clipped to a picture of this size.
    func cut(width: Float, height: Float) -> Box {
        Box(
            left: min(max(left, 0), width), top: min(max(top, 0), height), right: min(max(right, 0), width),
            bottom: min(max(bottom, 0), height))
    }

    /// The box with its coordinates clamped to ±``farthest``; nil if one is NaN.
    var bounded: Box? {
        func cut(_ value: Float) -> Float { min(max(value, -Self.farthest), Self.farthest) }
        guard !left.isNaN, !top.isNaN, !right.isNaN, !bottom.isNaN else { return nil }
        return Box(left: cut(left), top: cut(top), right: cut(right), bottom: cut(bottom))
    }
}

/// A detected object.
package struct Detection: Sendable, Hashable {
    /// Its box; if it has an angle, as it was before it was turned.
    package var box: Box
    /// The angle by which its box is turned about the center, in radians, clockwise as seen; nil for upright boxes.
    package var angle: Float?
    /// The class index, without background, and the confidence, 0 to 1.
    package var index: Int, confidence: Float
    /// The numbers of its row after the classes: mask coefficients, keypoints.
    package var extras: [Float] = []
    /// The index of its output row among all levels.
    package var row = 0

    package init(
        box: Box, index: Int, confidence: Float, extras: [Float] = [], row: Int = 0, angle: Float? = nil
    ) {
        (self.box, self.index, self.confidence, self.extras, self.row) = (box, index, confidence, extras, row)
        self.angle = angle
    }
}
