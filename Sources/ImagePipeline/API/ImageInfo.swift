/// The header of a picture: format, size, orientation.
public struct ImageInfo: Sendable, Hashable, Codable {
    /// The format.
    public let format: ImageFormat
    /// Columns as stored, before orientation. For HEIC and AVIF: after the file's own transforms.
    public let width: Int
    /// Rows as stored, like `width`.
    public let height: Int
    /// The EXIF orientation, 1 to 8; 1 if it is missing or invalid.
    public let orientation: Int

    /// Creates the description of a picture.
    public init(format: ImageFormat, width: Int, height: Int, orientation: Int) {
        self.format = format
        self.width = width
        self.height = height
        self.orientation = orientation
    }
}
