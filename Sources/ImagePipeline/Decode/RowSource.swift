/// A picture that is decoded a few rows at a time, from top to bottom as stored.
protocol RowSource {
    /// The number of bytes per pixel: 1 or 4, or 2 for gray with opacity, if rows keep it.
    var channels: Int { get }
    /// True if the last byte of a pixel is its opacity.
    var hasOpacity: Bool { get }

    /// The next rows of the region, at least one; nil after the last.
    func next() throws(ImageError) -> RowBatch?
}

extension RowSource {
    var hasOpacity: Bool { false }
}

/// Some rows of the region. Valid until the next call of `next()`.
struct RowBatch {
    /// The region's first pixel in the first row.
    let base: UnsafePointer<UInt8>
    /// The number of bytes from one row to the next.
    let stride: Int
    let count: Int
}

/// The needed pixels of the decoded picture.
struct Region: Hashable {
    let x: Range<Int>
    let y: Range<Int>
}

/// The parameters of a row source.
struct RowRequest {
    /// The needed pixels, in pixels of the decoded picture.
    let region: Region
    var gray: Bool
    /// The colour behind transparent pixels; nil if rows keep their opacity.
    let background: RGBColor?
    /// True if nothing is skipped: for pictures from which parts are cut out later.
    let decodesAllPixels: Bool
    let limits: ImageLimits
}
