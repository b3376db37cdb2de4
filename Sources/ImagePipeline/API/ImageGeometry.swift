/// A size in pixels.
public struct ImageSize: Sendable, Hashable, Codable {
    /// Columns.
    public var width: Int
    /// Rows.
    public var height: Int

    /// Creates a size.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}

/// The place of the odd pixel when something is centred, and the rounding of a fitted side.
public enum Centering: String, Sendable, Hashable, CaseIterable, Codable {
    /// Half a pixel is rounded to even, as in torchvision and Pillow's `ImageOps`.
    case halfEven = "half_even"
    /// A crop begins at the pixel before the middle, as in Hugging Face's processors; a fitted picture is placed as by
    /// Ultralytics' `LetterBox`.
    case floor
}

/// The position of a fitted picture in the tensor.
public enum FitAlignment: String, Sendable, Hashable, CaseIterable, Codable {
    /// In the middle.
    case center
    /// At the top left; the free area is below and to the right.
    case topLeft = "top_left"
}
