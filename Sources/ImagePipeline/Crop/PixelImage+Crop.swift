/// A part of a picture, cut along whole pixels.
public struct PictureCrop: Sendable {
    /// The pixels that the box touches.
    public let image: PixelImage
    /// The box, in pixels of `image`: for ``ImageDecodeOptions/part``.
    public let part: PictureBox
    /// The column of the picture at which `image` begins.
    public let x: Int
    /// The row of the picture at which `image` begins.
    public let y: Int
}

extension PixelImage {
    /// Cuts a box from a picture that is upright. What lies outside the picture is black, as in Pillow's `crop`.
    ///
    /// - Parameter maxPixels: the limit of the crop's pixels.
    /// - Throws: `corrupt` for a box without an area, `tooLarge` for one of more pixels than `maxPixels`.
    public func cropped(to box: PictureBox, maxPixels: Int) throws(ImageError) -> PictureCrop {
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
        let canvas = try Canvas(width: width, height: height)
        let columns = max(0, x)..<max(max(0, x), min(info.width, end))
        for row in 0..<height {
            let to = canvas.pixels + row * width
            guard (0..<info.height).contains(y + row), !columns.isEmpty else {
                to.update(repeating: Self.black, count: width)
                continue
            }
            to.update(repeating: Self.black, count: columns.lowerBound - x)
            (to + (columns.lowerBound - x)).update(
                from: self.row(y + row) + columns.lowerBound, count: columns.count)
            (to + (columns.upperBound - x)).update(repeating: Self.black, count: end - columns.upperBound)
        }
        return PictureCrop(
            image: try canvas.image(format: info.format, hasAlpha: hasAlpha),
            part: PictureBox(x: box.x - Double(x), y: box.y - Double(y), width: box.width, height: box.height),
            x: x, y: y)
    }

    static let black = SIMD4<UInt8>(0, 0, 0, 255)

    /// The pixels of a row.
    func row(_ y: Int) -> UnsafePointer<SIMD4<UInt8>> {
        (pixels + y * info.width * 4).assumingMemoryBound(to: SIMD4<UInt8>.self)
    }

    /// A whole number that sums cannot make too large; nil for one that is too far from any picture.
    private static func pixel(_ position: Double) -> Int? {
        abs(position) < 1e9 ? Int(position) : nil
    }
}
