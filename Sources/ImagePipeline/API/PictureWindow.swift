/// A part of a picture whose pixels are there, as if it had been cut out along whole pixels. What lies outside the picture is black, as
/// in Pillow's `crop`.
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

    /// The pixels that a box touches.
    ///
    /// - Parameters:
    ///   - box: in pixels of the picture.
    ///   - maxPixels: the limit of the part's pixels.
    /// - Throws: `corrupt` for a box without an area, `tooLarge` for one of more pixels than `maxPixels`.
    public init(_ box: PictureBox, maxPixels: Int) throws(ImageError) {
        let right = box.x + box.width, bottom = box.y + box.height
        guard box.width > 0, box.height > 0,
            let x = Self.pixel(box.x.rounded(.down)), let y = Self.pixel(box.y.rounded(.down)),
            let end = Self.pixel(right.rounded(.up)), let last = Self.pixel(bottom.rounded(.up)), end > x, last > y
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
        self.box = PictureBox(x: box.x - Double(x), y: box.y - Double(y), width: box.width, height: box.height)
    }

    /// A whole picture of this size.
    init(width: Int, height: Int) {
        (x, y, self.width, self.height) = (0, 0, width, height)
        box = PictureBox(x: 0, y: 0, width: Double(width), height: Double(height))
    }

    /// A whole number that sums cannot make too large; nil for one that is too far from any picture.
    private static func pixel(_ position: Double) -> Int? {
        abs(position) < 1e9 ? Int(position) : nil
    }
}
