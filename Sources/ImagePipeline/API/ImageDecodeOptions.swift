/// Options of one request.
public struct ImageDecodeOptions: Sendable, Hashable {
    /// Overrides the specification's.
    public var cropAndScale: CropAndScale?
    /// Use the pixels as stored, without applying the orientation.
    public var ignoreOrientation: Bool
    /// Decode JPEG at its full size instead of the smallest multiple of an eighth that covers the target: slower, but
    /// equal to Pillow's resampling of the full picture.
    public var fullDecode: Bool

    /// The part of the displayed picture that is used, as if it were the picture; nil for the whole. It lies within the
    /// picture, and pixels beside it count as far as the filter reaches: see ``PictureWindow``, which leaves them out.
    public var part: PictureBox?

    /// Reconstruct all of a JPEG, not only what is needed: the result must be the same. For tests.
    package var decodesAllPixels = false

    /// Creates options.
    public init(cropAndScale: CropAndScale? = nil, ignoreOrientation: Bool = false, fullDecode: Bool = false) {
        self.cropAndScale = cropAndScale
        self.ignoreOrientation = ignoreOrientation
        self.fullDecode = fullDecode
    }
}
