extension PixelImage {
    /// A new picture made from this upright one by a transform. Coordinates refer to the centres of pixels, as in
    /// OpenCV's `warpAffine`. Each pixel is interpolated between the four around its source; pixels outside the picture
    /// are black.
    ///
    /// - Parameters:
    ///   - transform: maps points of this picture to the new one.
    ///   - width, height: the size of the new picture.
    ///   - maxPixels: the maximum number of its pixels.
    public func aligned(
        by transform: SimilarityTransform, width: Int, height: Int, maxPixels: Int
    ) throws(ImageError) -> PixelImage {
        let (pixels, isLarge) = width.multipliedReportingOverflow(by: height)
        guard !isLarge, pixels <= maxPixels else {
            throw .tooLarge(pixels: isLarge ? .max : pixels, limit: maxPixels, width: width, height: height)
        }
        let canvas = try Canvas(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                canvas.pixels[y * width + x] = sample(
                    transform.source(PicturePoint(x: Double(x), y: Double(y))))
            }
        }
        return try canvas.image(format: info.format, hasAlpha: hasAlpha)
    }

    /// The value at a point between four pixels' centres, rounded to the nearest level.
    private func sample(_ point: PicturePoint) -> SIMD4<UInt8> {
        // Also false if a number is not finite.
        guard point.x > -1, point.y > -1, point.x < Double(info.width), point.y < Double(info.height) else {
            return Self.black
        }
        let left = point.x.rounded(.down), top = point.y.rounded(.down)
        let (x, y) = (Int(left), Int(top))
        let across = point.x - left, down = point.y - top
        let upper = pixel(x, y) * (1 - across) + pixel(x + 1, y) * across
        let lower = pixel(x, y + 1) * (1 - across) + pixel(x + 1, y + 1) * across
        let value = upper * (1 - down) + lower * down
        return SIMD4<UInt8>(clamping: SIMD4<Int32>(value + 0.5))
    }

    private func pixel(_ x: Int, _ y: Int) -> SIMD4<Double> {
        let isInside = x >= 0 && y >= 0 && x < info.width && y < info.height
        return SIMD4<Double>(isInside ? row(y)[x] : Self.black)
    }
}
