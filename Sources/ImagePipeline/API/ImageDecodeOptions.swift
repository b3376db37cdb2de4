/// Options of one request.
public struct ImageDecodeOptions: Sendable, Hashable {
    /// Instead of the specification's.
    public var cropAndScale: CropAndScale?
    /// Take the pixels as stored.
    public var ignoreOrientation: Bool
    /// Decode JPEG at its full size rather than at the smallest eighth that covers the target: slower, and equal to Pillow's
    /// resampling of the full picture.
    public var fullDecode: Bool

    /// Reconstruct all of a JPEG, not only what is needed: the result must be the same. For tests.
    package var decodesAllPixels = false

    /// Creates options.
    public init(cropAndScale: CropAndScale? = nil, ignoreOrientation: Bool = false, fullDecode: Bool = false) {
        self.cropAndScale = cropAndScale
        self.ignoreOrientation = ignoreOrientation
        self.fullDecode = fullDecode
    }
}
