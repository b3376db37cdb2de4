/// A part of a picture whose pixels are there, as if it had been cut out along whole pixels. What lies outside the
/// picture is black, as in Pillow's `crop`.
public struct PictureWindow: Sendable, Hashable {
    /// The column of the picture at which the part begins; may be less than 0.
    public let x: Int
    /// The row of the picture at which the part begins; may be less than 0.
    public let y: Int
    /// Columns of the part.
    public let width: Int
    /// Rows of the part.
    public let height: Int
    /// The box that the part was cut out for, in pixels of the part: its sides need not lie between two pixels.
    public let box: PictureBox

    /// The pixels that a box touches, by more than a millionth.
    ///
    /// - Parameters:
    ///   - box: in pixels of the picture.
    ///   - maxPixels: the limit of the part's pixels.
    /// - Throws: `corrupt` for a box without an area, `tooLarge` for one of more pixels than `maxPixels`.
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

    /// A whole picture of this size.
    init(width: Int, height: Int) {
        (x, y, self.width, self.height) = (0, 0, width, height)
        box = PictureBox(x: 0, y: 0, width: Double(width), height: Double(height))
    }

    /// The part of a pixel that a box has to touch: a side between two pixels may lie a little beside, because numbers
    /// are rounded, and a filter would take in the next pixel as a whole.
    private static let sliver = 1e-6

    /// The pixels that a part of an axis touches; nil where there are none, or it is too far from any picture: sums
    /// cannot become too large.
    private static func pixels(_ start: Double, _ end: Double) -> (start: Int, end: Int)? {
        guard abs(start) < 1e9, abs(end) < 1e9 else { return nil }
        let first = Int((start + sliver).rounded(.down)), last = Int((end - sliver).rounded(.up))
        return first < last ? (first, last) : nil
    }
}
