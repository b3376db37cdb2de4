package import ImagePipeline

/// The pixels of a picture as it is displayed, and what is held for them until the last reference goes.
package final class HeldPicture: Sendable {
    /// Upright.
    package let pixels: PixelImage
    /// The header of the picture.
    package let info: ImageInfo
    private let release: @Sendable () -> Void

    /// - Parameter release: gives the memory's place in a budget back; called once.
    init(_ pixels: PixelImage, info: ImageInfo, release: @escaping @Sendable () -> Void) {
        self.pixels = pixels
        self.info = info
        self.release = release
    }

    deinit { release() }

    /// The size of the picture as it is displayed.
    package var size: ImageSize { ImageSize(width: pixels.info.width, height: pixels.info.height) }
}
