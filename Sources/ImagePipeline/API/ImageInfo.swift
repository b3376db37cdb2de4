/// The header of a picture: format, size, orientation.
public struct ImageInfo: Sendable, Hashable, Codable {
    /// The format.
    public let format: ImageFormat
    /// Columns as stored, before orientation. For HEIC and AVIF: after the file's own transforms.
    public let width: Int
    /// Rows as stored, like `width`.
    public let height: Int
    /// The orientation, 1 to 8 as in EXIF: that in the file (1 if it is missing or invalid), or the one that is used.
    public var orientation: Int
    /// The light of the pixels that the model saw; nil unless the prediction measures it.
    package var light: PictureLight?

    /// Creates the description of a picture.
    public init(format: ImageFormat, width: Int, height: Int, orientation: Int) {
        self.format = format
        self.width = width
        self.height = height
        self.orientation = orientation
    }

    /// A copy of the header, with the orientation that is used.
    public func oriented(_ orientation: ImageOrientation) -> ImageInfo {
        var info = self
        info.orientation = orientation.used(of: info.orientation)
        return info
    }
}
