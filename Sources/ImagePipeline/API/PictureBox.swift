/// A rectangle in a displayed picture, in pixels. The origin is the outer corner of the first pixel. Sides may lie
/// within pixels, and outside the picture.
public struct PictureBox: Sendable, Hashable {
    /// The position of the left side.
    public var x: Double
    /// The position of the upper side.
    public var y: Double
    /// The distance from the left side to the right one.
    public var width: Double
    /// The distance from the upper side to the lower one.
    public var height: Double

    /// Creates a box from its upper left corner and its size.
    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The box with each side moved outwards by `margin` times the box's width or height. If `isSquare`, the shorter
    /// side is then widened around its middle.
    public func grown(by margin: Double, isSquare: Bool = false) -> PictureBox {
        var box = PictureBox(
            x: x - width * margin, y: y - height * margin, width: width * (1 + 2 * margin),
            height: height * (1 + 2 * margin))
        guard isSquare else { return box }
        let side = max(box.width, box.height)
        box.x -= (side - box.width) / 2
        box.y -= (side - box.height) / 2
        box.width = side
        box.height = side
        return box
    }

    /// The intersection with a picture of this size; nil if it is empty, or if a number is not finite.
    func within(width: Int, height: Int) -> PictureBox? {
        let left = max(0, x), top = max(0, y)
        let right = min(Double(width), x + self.width), bottom = min(Double(height), y + self.height)
        guard left < right, top < bottom, right.isFinite, bottom.isFinite else { return nil }
        return PictureBox(x: left, y: top, width: right - left, height: bottom - top)
    }
}
