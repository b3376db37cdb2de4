internal import ConfinedDecoding
internal import FlowControl
internal import ImagePipeline

extension Model {
    /// A picture as an opaque PNG of the displayed pixels. For pictures that are kept: without their request, the
    /// layout of a raw frame and a stated orientation would be lost.
    package func displayed(
        _ image: EncodedImage, options: PredictionOptions
    ) async throws(InferenceError) -> EncodedImage {
        let (picture, _) = try await hold(image, isWhole: true, drawing: true, options: options)
        let result: Result<[UInt8], ImageError> = await LongDecoding.run { isCancelled in
            Result { () throws(ImageError) in
                let pixels = try picture.pixels.flattened(over: .white, isCancelled: isCancelled)
                return try pixels.withUnsafeBytes { raw in
                    Result { () throws(ImageError) in
                        try PNGEncoder.encode(
                            width: picture.size.width, height: picture.size.height, channels: 3, pixels: raw,
                            isCancelled: isCancelled)
                    }
                }.get()
            }
        }
        do throws(ImageError) {
            return EncodedImage(try result.get(), orientation: .up)
        } catch {
            if case .cancelled = error { throw .stopped(at: .decode) }
            throw .image(error, input: nil)
        }
    }
}
