/// A filter for scaling pictures.
///
/// The first six are Pillow's filters of the same names and produce Pillow's pixels bit for bit. Of these all but
/// `nearest` are antialiased: when a picture is reduced, the filter covers every source pixel that falls into an output
/// pixel. The last two are OpenCV's and TensorFlow's. These round once; two passes of 8 bits round twice, so their
/// pixels differ by at most 1 of 255 levels.
public enum Resampler: String, Sendable, Hashable, CaseIterable, Codable {
    /// A triangle. The usual filter of Pillow and torchvision.
    case bilinear
    /// The nearest pixel.
    case nearest
    /// Keys' cubic with a = -0.5.
    case bicubic
    /// A sinc windowed by a sinc, three lobes.
    case lanczos
    /// The mean of the whole pixels that an output covers.
    case box
    /// A sinc windowed by Hamming's cosine, one lobe.
    case hamming
    /// An interpolation between the two nearest pixels, without antialiasing: OpenCV's `INTER_LINEAR`, TensorFlow's
    /// `bilinear` with `antialias=False`.
    case linear
    /// The mean of the area that an output covers, including parts of pixels: OpenCV's `INTER_AREA`.
    case area

    /// True if each output depends on only one or two pixels, however many fall into it. The pixels depend on the
    /// picture's full size, so it cannot be decoded at a reduced size.
    var samples: Bool { self == .nearest || self == .linear }
}
