extension PixelImage {
    /// A part of this upright picture, opaque and scaled to a size, between black rows. Interpolates between the two
    /// nearest pixels without antialiasing (``Resampler/linear``).
    ///
    /// - Parameters:
    ///   - window: the part; nil for the whole picture.
    ///   - margin: the number of black rows above, and of those below.
    ///   - background: the colour behind transparent pixels.
    ///   - limits: those of the picture.
    ///   - isCancelled: called between batches of rows; if it returns true, the call throws `cancelled`.
    public func scaled(
        _ window: PictureWindow? = nil, width: Int, height: Int, margin: Int = 0, over background: RGBColor,
        limits: ImageLimits, isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> PixelImage {
        let (rows, isLarge) = height.addingReportingOverflow(2 &* margin)
        guard margin >= 0, margin <= ImageTensorSpec.maximumSide, !isLarge else { throw .outOfMemory }
        var spec = ImageTensorSpec(width: width, height: height, background: background)
        (spec.cropAndScale, spec.resampler) = (.scaleFill, .linear)
        let pipeline = try ImagePipeline(spec: spec, limits: limits)
        let canvas = try Canvas(width: width, height: rows), tensor = Memory()
        let levels = try tensor.reserve(spec.byteCount)
        _ = try pipeline.prepare(
            self, window: window, into: UnsafeMutableRawBufferPointer(start: levels, count: spec.byteCount),
            isCancelled: isCancelled)
        let black = SIMD4<UInt8>(0, 0, 0, 255)
        canvas.pixels.update(repeating: black, count: margin * width)
        (canvas.pixels + (margin + height) * width).update(repeating: black, count: margin * width)
        let first = canvas.pixels + margin * width
        for place in 0..<width * height {
            let level = levels + 3 * place
            first[place] = SIMD4(level[0], level[1], level[2], 255)
        }
        return try canvas.image(format: info.format, hasAlpha: false)
    }

    /// The mean luminance (ITU-R BT.601) of the pixels of a part that are not wholly transparent, 0 to 255. Nil for a
    /// picture without opacity, or without such a pixel.
    public func visibleLuminance(_ window: PictureWindow? = nil) -> Double? {
        guard hasAlpha else { return nil }
        let columns = max(0, window?.x ?? 0)..<min(info.width, window.map { $0.x + $0.width } ?? info.width)
        let lines = max(0, window?.y ?? 0)..<min(info.height, window.map { $0.y + $0.height } ?? info.height)
        guard !columns.isEmpty, !lines.isEmpty else { return nil }
        var sum = 0, count = 0
        for y in lines {
            let row = row(y)
            for x in columns where row[x].w > 0 {
                let pixel = row[x]
                sum += 299 * Int(pixel.x) + 587 * Int(pixel.y) + 114 * Int(pixel.z)
                count += 1
            }
        }
        return count > 0 ? Double(sum) / 1_000 / Double(count) : nil
    }

    /// A picture of one colour.
    package static func filled(width: Int, height: Int, _ color: RGBColor) throws(ImageError) -> PixelImage {
        let canvas = try Canvas(width: width, height: height)
        canvas.pixels.update(
            repeating: SIMD4(color.red, color.green, color.blue, 255), count: canvas.width * canvas.height)
        return try canvas.image(format: .png, hasAlpha: false)
    }
}
