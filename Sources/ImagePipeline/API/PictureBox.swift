/// A part of a displayed picture, in its pixels. The origin is the outer corner of the first pixel; sides need not fall
/// between pixels, and may lie outside the picture.
public struct PictureBox: Sendable, Hashable {
    /// The left side.
    public var x: Double
    /// The upper side.
    public var y: Double
    /// Pixels from the left side to the right one.
    public var width: Double
    /// Pixels from the upper side to the lower one.
    public var height: Double

    /// Creates a box from its upper left corner and its size.
    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The box with each side moved outwards by `margin` times the box's width or height, and the shorter side then
    /// widened about its middle if it is to be a square.
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

    /// The part of it that lies within a picture of this size; nil if none does, or if a number is not finite.
    func within(width: Int, height: Int) -> PictureBox? {
        let left = max(0, x), top = max(0, y)
        let right = min(Double(width), x + self.width), bottom = min(Double(height), y + self.height)
        guard left < right, top < bottom, right.isFinite, bottom.isFinite else { return nil }
        return PictureBox(x: left, y: top, width: right - left, height: bottom - top)
    }
}
