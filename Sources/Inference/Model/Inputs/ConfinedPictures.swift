internal import ConfinedDecoding
package import ImagePipeline

extension ImagePipeline {
    /// Opens a picture: reads its header in the decoder process, and checks it against the limits. Blocks.
    func opened(
        _ image: EncodedImage, format: ImageFormat, page: Int, isCancelled: @escaping () -> Bool
    ) throws(ImageError) -> ConfinedPicture {
        let picture = try image.withUnsafeBytes { (bytes) throws(ImageError) in
            try check(format, bytes)
            return try ConfinedDecoder.shared.open(bytes, format: format, page: page, isCancelled: isCancelled)
        }
        try check(picture.info)
        return picture
    }
}

extension EncodedImage {
    /// The format, if a separate process must decode the picture and has not done so yet; otherwise nil.
    var confinedFormat: ImageFormat? {
        guard pixels == nil, frame == nil, let format = withUnsafeBytes({ ImagePipeline.format(of: $0) }),
            format.isConfined
        else { return nil }
        return format
    }

    /// The picture with its pixels, decoded in a separate process if necessary. Blocks, and takes memory outside of the
    /// budget: for commands only.
    package func decodedHere(
        _ pipeline: ImagePipeline, page: Int, isCancelled: @escaping () -> Bool
    ) throws(ImageError) -> EncodedImage {
        guard let format = confinedFormat else { return self }
        var image = self
        image.pixels = try pipeline.opened(self, format: format, page: page, isCancelled: isCancelled)
            .decode(isCancelled: isCancelled)
        return image
    }

    /// Writes the input tensor, from the pixels if they are decoded, otherwise from the file.
    package func prepare(
        _ pipeline: ImagePipeline, into tensor: UnsafeMutableRawBufferPointer, options: ImageDecodeOptions,
        isCancelled: () -> Bool
    ) throws(ImageError) -> ImageInfo {
        if let pixels {
            return try pipeline.prepare(
                pixels, window: window, into: tensor, options: options, isCancelled: isCancelled)
        }
        let frame = try frame?.get()
        return try withUnsafeBytes { (bytes) throws(ImageError) -> ImageInfo in
            try pipeline.prepare(bytes, frame: frame, into: tensor, options: options, isCancelled: isCancelled)
        }
    }

    /// Describes the steps of ``prepare``.
    func explain(_ pipeline: ImagePipeline, options: ImageDecodeOptions) throws(ImageError) -> PreprocessingReport {
        if let pixels { return try pipeline.explain(pixels, window: window, options: options) }
        let frame = try frame?.get()
        return try withUnsafeBytes { (bytes) throws(ImageError) in
            try pipeline.explain(bytes, frame: frame, options: options)
        }
    }
}
