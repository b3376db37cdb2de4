package import ImagePipeline

/// The pixels of a picture as it is displayed, with their memory reservation, which is released with the last
/// reference.
package final class HeldPicture: Sendable {
    /// The pixels, upright.
    package let pixels: PixelImage
    /// The header of the picture.
    package let info: ImageInfo
    private let release: @Sendable () -> Void

    /// - Parameter release: releases the memory reservation; called once.
    package init(_ pixels: PixelImage, info: ImageInfo, release: @escaping @Sendable () -> Void) {
        self.pixels = pixels
        self.info = info
        self.release = release
    }

    deinit { release() }

    /// The size of the picture as it is displayed.
    package var size: ImageSize { ImageSize(width: pixels.info.width, height: pixels.info.height) }
}
