/// A colour JPEG's rows in gray: luma of the pixels as they are shown. What the file itself stores as luma is another
/// number where its colours are out of the range that can be shown (as JPEG's rounding makes of saturated patterns), by
/// up to 50 levels.
final class GrayRows: RowSource {
    let channels = 1
    private let source: JPEGRows
    private let width: Int
    private let room: UnsafeMutablePointer<UInt8>
    private let stride: Int

    /// The largest number of rows of `source` that are decoded together.
    private static let batch = 16

    /// - Parameters:
    ///   - source: rows of 4 bytes a pixel.
    ///   - width: the pixels of a row of the region.
    init(_ source: JPEGRows, width: Int, memory: Memory) throws(ImageError) {
        self.source = source
        self.width = width
        stride = (width + 63) & ~63
        room = try memory.reserve(stride * Self.batch)
    }

    func next() throws(ImageError) -> RowBatch? {
        guard let rows = try source.next() else { return nil }
        guard rows.count <= Self.batch else { throw .corrupt("it has more rows than fit into the buffer") }
        for row in 0..<rows.count {
            RowConversion.gray(rows.base + row * rows.stride, to: room + row * stride, count: width)
        }
        return RowBatch(base: room, stride: stride, count: rows.count)
    }
}
