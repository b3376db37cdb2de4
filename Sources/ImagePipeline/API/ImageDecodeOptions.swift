/// The options of one request.
public struct ImageDecodeOptions: Sendable, Hashable {
    /// The crop and scale mode; nil for that of the specification.
    public var cropAndScale: CropAndScale?
    /// Use the pixels as stored, without the orientation.
    public var ignoreOrientation: Bool
    /// Decode JPEG at its full size instead of the smallest multiple of an eighth that covers the target: slower, but
    /// equal to Pillow's resampling of the full picture.
    public var fullDecode: Bool

    /// The part of the displayed picture that is used instead of the whole; nil for the whole. It is clipped to the
    /// picture. Pixels outside it count as far as the filter reaches; a ``PictureWindow`` excludes them.
    public var part: PictureBox?

    /// Reconstruct all pixels of a JPEG, not only the needed ones. The result must be the same. For tests.
    package var decodesAllPixels = false

    /// Creates options.
    public init(cropAndScale: CropAndScale? = nil, ignoreOrientation: Bool = false, fullDecode: Bool = false) {
        self.cropAndScale = cropAndScale
        self.ignoreOrientation = ignoreOrientation
        self.fullDecode = fullDecode
    }
}
