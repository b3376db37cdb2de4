/// A picture that is being decoded, a few rows at a time, from top to bottom as stored.
protocol RowSource {
    /// 1 or 4 bytes a pixel.
    var channels: Int { get }

    /// The next rows of the region, at least one; nil after the last.
    func next() throws(ImageError) -> RowBatch?
}

/// Some rows of the region. Valid until the source is asked for more.
struct RowBatch {
    /// The region's first pixel in the first row.
    let base: UnsafePointer<UInt8>
    /// Bytes from row to row.
    let stride: Int
    let count: Int
}

/// Which pixels of the decoded picture are wanted.
struct Region: Hashable {
    let x: Range<Int>
    let y: Range<Int>
}
