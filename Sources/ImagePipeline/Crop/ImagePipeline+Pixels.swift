extension ImagePipeline {
    /// Decodes all pixels of a picture as it is displayed: upright, at its full size, with opacity.
    ///
    /// For callers that make several tensors of one picture. Takes 4 bytes per pixel in addition to ``demand(_:)``.
    /// Synchronous.
    ///
    /// - Parameters:
    ///   - bytes: the whole picture; only read, and not kept.
    ///   - frame: the layout of the bytes if they are a raw frame; nil for a file.
    ///   - orientation: how it is stored.
    ///   - longerSide: the length that the longer side needs; nil for all pixels. A larger JPEG is decoded at the
    ///     smallest of its eighths that has it.
    ///   - isCancelled: called between batches of rows; if it returns true, the call throws `cancelled`.
    /// - Returns: the pixels; the orientation in their header is 1.
    public func pixels(
        _ bytes: UnsafeRawBufferPointer, frame: RawFrame? = nil, orientation: ImageOrientation = .apply,
        longerSide: Int? = nil, isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> PixelImage {
        let header = try PictureHeader.read(bytes, frame: frame, isCancelled: isCancelled)
        try check(header)
        let info = header.info
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        defer { scratch.jpeg.close() }
        var decoded = info, scale = 8
        if let longerSide, info.format == .jpeg {
            // The scales with vector code in libjpeg-turbo.
            scale = [1, 2, 4].first { max(info.width, info.height) * $0 >= longerSide * 8 } ?? 8
            decoded = ImageInfo(
                format: info.format, width: (info.width * scale + 7) / 8, height: (info.height * scale + 7) / 8,
                orientation: info.orientation)
        }
        let rows = try open(
            bytes, header: header, scale: scale, region: Region(x: 0..<decoded.width, y: 0..<decoded.height),
            gray: false, background: nil, scratch: scratch, isCancelled: isCancelled)
        return try PixelImage.upright(
            rows, info: decoded, orientation: orientation.used(of: info.orientation), isCancelled: isCancelled)
    }

    /// The pixels of a decoded picture as it is displayed: the picture itself if it is upright, otherwise a copy.
    public func pixels(
        _ image: PixelImage, orientation: ImageOrientation = .apply, isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> PixelImage {
        let info = image.info
        try check(info)
        let used = orientation.used(of: info.orientation)
        guard info.orientation != 1 || used != 1 else { return image }
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        let rows = try PixelRows(
            image, gray: false, background: nil, region: Region(x: 0..<info.width, y: 0..<info.height),
            memory: scratch.rows)
        return try PixelImage.upright(
            rows, info: info, orientation: used, isCancelled: isCancelled)
    }
}
