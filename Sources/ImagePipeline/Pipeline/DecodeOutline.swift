/// The part of a picture that a pipeline decodes, for benchmarks that measure only the decoder.
package struct DecodeOutline: Sendable, Hashable {
    /// The scale in eighths of the stored size.
    package let scale: Int
    /// The columns of the scaled picture, as stored.
    package let x: Range<Int>
    /// The rows of the scaled picture, as stored.
    package let y: Range<Int>
}

extension ImagePipeline {
    /// The part for a picture that is within the limits.
    package func outline(
        _ bytes: UnsafeRawBufferPointer, options: ImageDecodeOptions
    ) throws(ImageError) -> DecodeOutline {
        let plan = plan(bytes, header: try PictureHeader.read(bytes), options: options)
        return DecodeOutline(scale: plan.scale, x: plan.region.x, y: plan.region.y)
    }
}
