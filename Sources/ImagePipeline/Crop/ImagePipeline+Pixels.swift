extension ImagePipeline {
    /// Decodes all pixels of a picture as it is displayed: upright, at its full size, with opacity.
    ///
    /// For callers that make several tensors of one picture. Takes 4 bytes per pixel in addition to ``demand(_:)``.
    /// Synchronous.
    ///
    /// - Parameters:
    ///   - bytes: the whole picture; only read, and not kept.
    ///   - isCancelled: called between batches of rows; if it returns true, the call throws `cancelled`.
    /// - Returns: the pixels; the orientation in their header is 1.
    public func pixels(
        _ bytes: UnsafeRawBufferPointer, ignoreOrientation: Bool = false, isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> PixelImage {
        let header = try PictureHeader.read(bytes, isCancelled: isCancelled)
        try check(header)
        let info = header.info
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        defer { scratch.jpeg.close() }
        let rows = try open(
            bytes, header: header, scale: 8, region: Region(x: 0..<info.width, y: 0..<info.height), gray: false,
            background: nil, scratch: scratch, isCancelled: isCancelled)
        return try PixelImage.upright(
            rows, info: info, orientation: ignoreOrientation ? 1 : info.orientation, isCancelled: isCancelled)
    }

    /// The pixels of a decoded picture as it is displayed: the picture itself if it is upright, otherwise a copy.
    public func pixels(
        _ image: PixelImage, ignoreOrientation: Bool = false, isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> PixelImage {
        let info = image.info
        try check(info)
        guard info.orientation != 1 else { return image }
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        let rows = try PixelRows(
            image, gray: false, background: nil, region: Region(x: 0..<info.width, y: 0..<info.height),
            memory: scratch.rows)
        return try PixelImage.upright(
            rows, info: info, orientation: ignoreOrientation ? 1 : info.orientation, isCancelled: isCancelled)
    }
}
