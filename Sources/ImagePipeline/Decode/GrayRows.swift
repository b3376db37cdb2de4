/// The rows of a colour JPEG in gray: luma of the displayed colours. The luma stored in the file differs by up to 50
/// levels if colours are outside the displayable range (as JPEG's rounding produces in saturated patterns).
final class GrayRows: RowSource {
    let channels = 1
    private let source: JPEGRows
    private let width: Int
    private let room: UnsafeMutablePointer<UInt8>
    private let stride: Int

    /// The maximum number of rows of `source` decoded together.
    private static let batch = 16

    /// - Parameters:
    ///   - source: rows with 4 bytes per pixel.
    ///   - width: the number of pixels in a row of the region.
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
