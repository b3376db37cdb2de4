/// Converts rows of a region to rows of the scaled picture, as stored (orientation is applied when they are written).
///
/// Values are rounded to whole levels between the two passes, as in Pillow, so the order of the passes changes results
/// by up to one level.
struct RegionResampler {
    private let horizontal: HorizontalPass
    private var vertical: VerticalPass
    private let verticalFirst: Bool
    private let rowBytes: Int
    private let between: UnsafeMutablePointer<UInt8>

    /// - Parameters:
    ///   - x, y: the weights of the stored axes; source pixels count from the region's start.
    init(
        x: ResampleWeights, y: ResampleWeights, width: Int, channels: Int, verticalFirst: Bool, scratch: Scratch
    ) throws(ImageError) {
        self.verticalFirst = verticalFirst
        horizontal = HorizontalPass(weights: x, channels: channels)
        rowBytes = width * channels
        let outputBytes = x.outputCount * channels
        vertical = try VerticalPass(
            weights: y, rowBytes: verticalFirst ? rowBytes : outputBytes, ring: scratch.ring, result: scratch.result)
        between = try scratch.between.reserve(VerticalPass.stride(outputBytes))
    }

    /// True when all outputs were returned.
    var isDone: Bool { vertical.isDone }

    /// True if rows are not changed: then they need only be counted, not pushed.
    var isIdentity: Bool { horizontal.isIdentity && vertical.isIdentity }

    /// Counts a row that was used unchanged.
    mutating func passOne() { vertical.passOne() }

    /// Takes the next row of the region, of `width * channels` bytes.
    mutating func push(_ row: UnsafePointer<UInt8>) {
        if verticalFirst || horizontal.isIdentity {
            vertical.nextSlot.update(from: row, count: rowBytes)
        } else {
            horizontal.apply(row, to: vertical.nextSlot)
        }
        vertical.advance()
    }

    /// The next row of outputs, of `x.outputCount * channels` bytes; nil if it needs more rows. Valid until the next
    /// call.
    mutating func next() -> UnsafePointer<UInt8>? {
        guard let row = vertical.next() else { return nil }
        guard verticalFirst, !horizontal.isIdentity else { return row }
        horizontal.apply(row, to: between)
        return UnsafePointer(between)
    }
}
