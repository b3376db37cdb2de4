#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Memory for the pixels of a new picture: red, green, blue, opacity. The contents are undefined at first.
final class Canvas {
    let width: Int
    let height: Int
    let pixels: UnsafeMutablePointer<SIMD4<UInt8>>
    private var isTaken = false

    /// - Throws: `outOfMemory`, also for an invalid size.
    init(width: Int, height: Int) throws(ImageError) {
        let (count, isLarge) = width.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0, !isLarge, count <= .max / 4 else { throw .outOfMemory }
        self.width = width
        self.height = height
        pixels = try Memory.allocate(count * 4).bindMemory(to: SIMD4<UInt8>.self, capacity: count)
    }

    deinit {
        if !isTaken { free(pixels) }
    }

    /// The finished picture, upright, which takes ownership of the memory. Call it once, last.
    func image(format: ImageFormat, hasAlpha: Bool) throws(ImageError) -> PixelImage {
        isTaken = true
        return try PixelImage(
            info: ImageInfo(format: format, width: width, height: height, orientation: 1), hasAlpha: hasAlpha,
            memory: UnsafeRawBufferPointer(start: pixels, count: width * height * 4),
            release: { free(UnsafeMutableRawPointer(mutating: $0.baseAddress)) })
    }
}
