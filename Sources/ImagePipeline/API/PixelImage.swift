/// A decoded picture: its pixels as stored, before orientation.
///
/// `@unchecked Sendable`: no member changes, the memory is only read and belongs to this object, and `deinit` releases
/// it once, after the last reference is gone.
public final class PixelImage: @unchecked Sendable {
    /// The data of its header.
    public let info: ImageInfo
    /// True if the fourth byte of a pixel is its opacity.
    let hasAlpha: Bool
    let pixels: UnsafeRawPointer
    private let release: @Sendable (UnsafeRawBufferPointer) -> Void
    private let memory: UnsafeRawBufferPointer

    /// Takes ownership of pixels of 4 bytes each (red, green, blue, opacity), row by row from the top left corner.
    /// - Parameter release: frees the memory; called once.
    /// - Throws: `wrongSize` if there are fewer bytes than the size needs; `release` is called then too.
    public init(
        info: ImageInfo, hasAlpha: Bool, memory: UnsafeRawBufferPointer,
        release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) throws(ImageError) {
        let (pixelCount, isLarge) = info.width.multipliedReportingOverflow(by: info.height)
        let (bytes, isTooLarge) = pixelCount.multipliedReportingOverflow(by: 4)
        guard info.width > 0, info.height > 0, !isLarge, !isTooLarge, bytes <= memory.count,
            let pixels = memory.baseAddress
        else {
            release(memory)
            throw .wrongSize(expected: isLarge || isTooLarge ? .max : bytes, got: memory.count)
        }
        self.info = info
        self.hasAlpha = hasAlpha
        self.memory = memory
        self.pixels = pixels
        self.release = release
    }

    /// True if it may have transparent pixels.
    public var hasOpacity: Bool { hasAlpha }

    deinit { release(memory) }
}
