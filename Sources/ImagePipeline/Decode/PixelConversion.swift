/// Converts decoded rows, with or without alpha, to rows for resampling.
struct PixelConversion {
    /// The bytes of an output pixel: 1 or 4, or 2 for gray with opacity.
    let channels: Int
    /// True if output pixels are larger than input pixels and need memory of their own, 4 bytes per pixel.
    let needsRoom: Bool

    /// True if the last byte of an output pixel is its opacity.
    var keepsOpacity: Bool { background == nil && (hasAlpha || channels == 2) }

    /// True if ``apply(_:count:room:)`` changes the input pixels.
    var changes: Bool { background != nil && (hasAlpha || toGray || source == 2) }

    private let source: Int
    private let hasAlpha: Bool
    private let toGray: Bool
    private let background: RGBColor?

    /// - Parameters:
    ///   - channels: bytes of an input pixel: 1 (gray), 2 (gray, alpha) or 4 (RGB and alpha, or unused).
    ///   - gray: whether the tensor is gray.
    ///   - background: the colour behind transparent pixels; nil to leave pixels unchanged, with their opacity.
    init(channels: Int, hasAlpha: Bool, gray: Bool, background: RGBColor?) {
        source = channels
        self.hasAlpha = hasAlpha
        toGray = gray
        self.background = background
        self.channels = background == nil ? channels : gray || channels == 1 ? 1 : 4
        needsRoom = channels == 2 && background != nil
    }

    /// Converts a row, in place or into `room`. Returns the result's address.
    func apply(
        _ row: UnsafeMutablePointer<UInt8>, count: Int, room: UnsafeMutablePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        guard let background else { return UnsafePointer(row) }
        switch source {
        case 1:
            return UnsafePointer(row)
        case 2:
            RowConversion.compositeGrayAlpha(row, to: room, count: count, over: background)
            if toGray { RowConversion.grayFromRGBX(room, count: count) }
            return UnsafePointer(room)
        default:
            if hasAlpha { RowConversion.compositeRGBA(row, count: count, over: background) }
            if toGray { RowConversion.grayFromRGBX(row, count: count) }
            return UnsafePointer(row)
        }
    }
}
