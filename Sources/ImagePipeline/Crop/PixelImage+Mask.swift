extension PixelImage {
    /// A new picture with the pixels of a rectangle that lie in a mask; the others are black. This picture must be
    /// upright.
    ///
    /// - Parameters:
    ///   - x, y: the rectangle, within the picture.
    ///   - runs: calls its argument with each run of the mask: a column, and the rows in it.
    /// - Throws: `outOfMemory`; `corrupt` for an empty rectangle, or one that is not within the picture.
    public func masked(
        x: Range<Int>, y: Range<Int>, runs: ((Int, Range<Int>) -> Void) -> Void
    ) throws(ImageError) -> PixelImage {
        guard !x.isEmpty, !y.isEmpty, x.lowerBound >= 0, y.lowerBound >= 0, x.upperBound <= info.width,
            y.upperBound <= info.height
        else { throw .corrupt("the box to be cut out has no area") }
        let canvas = try Canvas(width: x.count, height: y.count)
        canvas.pixels.update(repeating: Self.black, count: x.count * y.count)
        runs { column, rows in
            let rows = rows.clamped(to: y)
            guard x.contains(column) else { return }
            for line in rows {
                canvas.pixels[(line - y.lowerBound) * x.count + column - x.lowerBound] = row(line)[column]
            }
        }
        return try canvas.image(format: info.format, hasAlpha: hasAlpha)
    }

    static let black = SIMD4<UInt8>(0, 0, 0, 255)

    /// The pixels of row `y`.
    func row(_ y: Int) -> UnsafePointer<SIMD4<UInt8>> {
        (pixels + y * info.width * 4).assumingMemoryBound(to: SIMD4<UInt8>.self)
    }
}
