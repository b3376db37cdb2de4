/// A part of a decoded picture, as if it were cut out along whole pixels. Pixels outside the picture are black, as in
/// Pillow's `crop`.
public struct PictureWindow: Sendable, Hashable {
    /// The column of the picture at which the part begins; may be negative.
    public let x: Int
    /// The row of the picture at which the part begins; may be negative.
    public let y: Int
    /// The number of columns of the part.
    public let width: Int
    /// The number of rows of the part.
    public let height: Int
    /// The box for which the part was cut out, in pixels of the part; its sides may lie within pixels.
    public let box: PictureBox

    /// The part of all pixels that a box touches by more than a millionth of a pixel.
    ///
    /// - Parameters:
    ///   - box: the box, in pixels of the picture.
    ///   - maxPixels: the maximum number of pixels of the part.
    /// - Throws: `corrupt` for a box without an area, `tooLarge` if the part has more than `maxPixels`.
    public init(_ box: PictureBox, maxPixels: Int) throws(ImageError) {
        guard box.width > 0, box.height > 0, let (x, end) = Self.pixels(box.x, box.x + box.width),
            let (y, last) = Self.pixels(box.y, box.y + box.height)
        else { throw .corrupt("the box to be cut out has no area") }
        let (width, height) = (end - x, last - y)
        let (pixels, isLarge) = width.multipliedReportingOverflow(by: height)
        guard !isLarge, pixels <= maxPixels else {
            throw .tooLarge(pixels: isLarge ? .max : pixels, limit: maxPixels, width: width, height: height)
        }
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        let left = max(0, box.x - Double(x)), top = max(0, box.y - Double(y))
        self.box = PictureBox(
            x: left, y: top, width: min(box.x + box.width - Double(x), Double(width)) - left,
            height: min(box.y + box.height - Double(y), Double(height)) - top)
    }

    /// The whole picture of this size.
    init(width: Int, height: Int) {
        (x, y, self.width, self.height) = (0, 0, width, height)
        box = PictureBox(x: 0, y: 0, width: Double(width), height: Double(height))
    }

    /// The minimum share of a pixel that a box must touch. A side on a pixel's border may miss it slightly because
    /// numbers are rounded, and the filter would then include the next pixel as a whole.
    private static let roundingTolerance = 1e-6

    /// The pixels that a part of an axis touches; nil if it touches no pixel, or is too far from any picture. So sums
    /// cannot overflow.
    private static func pixels(_ start: Double, _ end: Double) -> (start: Int, end: Int)? {
        guard abs(start) < 1e9, abs(end) < 1e9 else { return nil }
        let first = Int((start + roundingTolerance).rounded(.down)), last = Int((end - roundingTolerance).rounded(.up))
        return first < last ? (first, last) : nil
    }
}
