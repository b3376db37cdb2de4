extension PixelImage {
    /// The part of this upright picture between four corners as a new upright picture, by a perspective transform. Each
    /// pixel is interpolated between the 16 around its source (Keys' cubic with a = -0.75); beyond the edges the
    /// outermost pixels repeat. Equals OpenCV's `getPerspectiveTransform` and `warpPerspective` with `INTER_CUBIC` and
    /// `BORDER_REPLICATE` within a level.
    ///
    /// - Parameters:
    ///   - corners: the four corners, clockwise as seen, of which the first becomes the top left one: points of this
    ///     picture that become (0, 0), (`width`, 0), (`width`, `height`) and (0, `height`).
    ///   - width, height: the size of the part before it is turned.
    ///   - quarterTurns: the number of turns by 90 degrees counterclockwise after that, 0 to 3.
    ///   - maxPixels: the maximum number of its pixels.
    /// - Throws: `corrupt` for corners that are no quadrilateral, `tooLarge` for a part of more than `maxPixels`.
    public func straightened(
        _ corners: [PicturePoint], width: Int, height: Int, quarterTurns: Int = 0, maxPixels: Int
    ) throws(ImageError) -> PixelImage {
        let (pixels, isLarge) = width.multipliedReportingOverflow(by: height)
        guard !isLarge, pixels <= maxPixels else {
            throw .tooLarge(pixels: isLarge ? .max : pixels, limit: maxPixels, width: width, height: height)
        }
        guard let transform = PerspectiveTransform(corners, width: width, height: height) else {
            throw .corrupt("the corners of the part are no quadrilateral")
        }
        let turns = quarterTurns & 3, isTall = turns % 2 == 1
        let canvas = try Canvas(width: isTall ? height : width, height: isTall ? width : height)
        // The place of the first pixel, and the distances to the next one of a row and of a column.
        let (first, across, down) =
            switch turns {
            case 1: ((width - 1) * height, -height, 1)
            case 2: (width * height - 1, -1, -width)
            case 3: (height - 1, height, -1)
            default: (0, 1, width)
            }
        for y in 0..<height {
            for x in 0..<width {
                canvas.pixels[first + x * across + y * down] = cubic(transform.source(x: Double(x), y: Double(y)))
            }
        }
        return try canvas.image(format: info.format, hasAlpha: hasAlpha)
    }

    /// The value at a point, rounded to the nearest level.
    private func cubic(_ point: PicturePoint) -> SIMD4<UInt8> {
        let (x, y) = (Self.place(point.x), Self.place(point.y))
        let across = Self.weights(x.part), down = Self.weights(y.part)
        let (left, top) = (x.pixel - 1, y.pixel - 1)
        var sum = SIMD4<Float>()
        for line in 0..<4 {
            let row = row(min(max(top + line, 0), info.height - 1))
            var part = SIMD4<Float>()
            for place in 0..<4 {
                part += SIMD4<Float>(row[min(max(left + place, 0), info.width - 1)]) * across[place]
            }
            sum += part * down[line]
        }
        return SIMD4<UInt8>(clamping: SIMD4<Int32>((sum + 0.5).rounded(.down)))
    }

    /// The pixel at or before a coordinate, and the rest; far ones, and NaN, lie beyond the edges of any picture.
    private static func place(_ value: Double) -> (pixel: Int, part: Float) {
        guard value.magnitude < 1e6 else { return (value > 0 ? 1 << 30 : -1 << 30, 0) }
        let pixel = value.rounded(.down)
        return (Int(pixel), Float(value - pixel))
    }

    /// The weights of four neighbours for a place between the second and the third.
    private static func weights(_ x: Float) -> SIMD4<Float> {
        let a: Float = -0.75
        let first = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a
        let second = ((a + 2) * x - (a + 3)) * x * x + 1
        let third = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1
        return SIMD4(first, second, third, 1 - first - second - third)
    }
}

/// The transform that maps a rectangle to four points (Heckbert 1989, "Fundamentals of Texture Mapping", 2.2.3).
struct PerspectiveTransform {
    private let a: Double, b: Double, c: Double, d: Double, e: Double, f: Double, g: Double, h: Double

    /// Fails for a rectangle without an area, or if points lie so that no such transform exists.
    /// - Parameters:
    ///   - corners: the points of (0, 0), (`width`, 0), (`width`, `height`) and (0, `height`).
    ///   - width, height: the size of the rectangle.
    init?(_ corners: [PicturePoint], width: Int, height: Int) {
        guard corners.count == 4, width > 0, height > 0 else { return nil }
        let (p, q, r, s) = (corners[0], corners[1], corners[2], corners[3])
        let (x1, y1) = (q.x - r.x, q.y - r.y), (x2, y2) = (s.x - r.x, s.y - r.y)
        let (x3, y3) = (p.x - q.x + r.x - s.x, p.y - q.y + r.y - s.y)
        let area = x1 * y2 - x2 * y1
        let gUnit = (x3 * y2 - x2 * y3) / area, hUnit = (x1 * y3 - x3 * y1) / area
        let (w, v) = (Double(width), Double(height))
        (a, b, c) = ((q.x - p.x + gUnit * q.x) / w, (s.x - p.x + hUnit * s.x) / v, p.x)
        (d, e, f) = ((q.y - p.y + gUnit * q.y) / w, (s.y - p.y + hUnit * s.y) / v, p.y)
        (g, h) = (gUnit / w, hUnit / v)
        guard [a, b, c, d, e, f, g, h].allSatisfy(\.isFinite) else { return nil }
    }

    /// The point that a point of the rectangle is mapped to; not finite at the horizon.
    func source(x: Double, y: Double) -> PicturePoint {
        let scale = 1 / (g * x + h * y + 1)
        return PicturePoint(x: (a * x + b * y + c) * scale, y: (d * x + e * y + f) * scale)
    }
}
