/// A picture that is being decoded, a few rows at a time, from top to bottom as stored.
protocol RowSource {
    /// Bytes a pixel: 1 or 4, and 2 for gray with its opacity, where rows keep it.
    var channels: Int { get }
    /// True if the last byte of a pixel is opacity.
    var hasOpacity: Bool { get }

    /// The next rows of the region, at least one; nil after the last.
    func next() throws(ImageError) -> RowBatch?
}

extension RowSource {
    var hasOpacity: Bool { false }
}

/// Some rows of the region. Valid until the source is asked for more.
struct RowBatch {
    /// The region's first pixel in the first row.
    let base: UnsafePointer<UInt8>
    /// Bytes from row to row.
    let stride: Int
    let count: Int
}

/// The pixels of the decoded picture that are wanted.
struct Region: Hashable {
    let x: Range<Int>
    let y: Range<Int>
}

/// The rows that are wanted of a picture.
struct RowRequest {
    /// In pixels of the decoded picture.
    let region: Region
    var gray: Bool
    /// Behind transparent pixels; with nil, rows keep their opacity.
    let background: RGBColor?
    /// Nothing is skipped: for pictures whose parts are cut out later.
    let decodesAllPixels: Bool
    let limits: ImageLimits
}
