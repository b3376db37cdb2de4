/// How pixels are made from others. Equal to what Pillow's `resize` does under the same name.
public enum Resampler: String, Sendable, Hashable, CaseIterable, Codable {
    /// A triangle over all the pixels that fall into one (antialiased): Pillow's and torchvision's usual filter.
    case bilinear
    /// The nearest pixel.
    case nearest
    /// Keys' cubic with a = -0.5, antialiased.
    case bicubic
}
