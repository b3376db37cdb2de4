/// The options of one request.
public struct ImageDecodeOptions: Sendable, Hashable {
    /// The crop and scale mode; nil for that of the specification.
    public var cropAndScale: CropAndScale?
    /// The size of the tensor, for a model with a usual size and others; nil for the usual one.
    public var size: ImageSize?
    /// The orientation of the stored picture.
    public var orientation: ImageOrientation
    /// Decode JPEG at its full size instead of the smallest multiple of an eighth that covers the target: slower, but
    /// equal to Pillow's resampling of the full picture.
    public var fullDecode: Bool

    /// The part of the displayed picture that is used instead of the whole; nil for the whole. It is clipped to the
    /// picture. Pixels outside it count as far as the filter reaches; a ``PictureWindow`` excludes them.
    public var part: PictureBox?

    /// Reconstruct all pixels of a JPEG, not only the needed ones. The result must be the same. For tests.
    package var decodesAllPixels = false

    /// Creates options.
    public init(
        cropAndScale: CropAndScale? = nil, orientation: ImageOrientation = .apply, fullDecode: Bool = false
    ) {
        self.cropAndScale = cropAndScale
        self.orientation = orientation
        self.fullDecode = fullDecode
    }
}
