/// A filter for scaling pictures.
///
/// The first six are Pillow's filters of the same names and give Pillow's pixels bit for bit. All but `nearest` are
/// antialiased: when a picture gets smaller, the filter covers every source pixel that falls into an output pixel. The
/// last two are OpenCV's and TensorFlow's, which round once where two passes of 8 bits round twice: their pixels differ
/// by at most 1 of 255 levels.
public enum Resampler: String, Sendable, Hashable, CaseIterable, Codable {
    /// A triangle. The usual filter of Pillow and torchvision.
    case bilinear
    /// The nearest pixel.
    case nearest
    /// Keys' cubic with a = -0.5.
    case bicubic
    /// A sinc windowed by a sinc, three lobes.
    case lanczos
    /// The mean of the pixels that an output covers; whole pixels only.
    case box
    /// A sinc windowed by Hamming's cosine, one lobe.
    case hamming
    /// Between the two nearest pixels, without antialiasing: OpenCV's `INTER_LINEAR`, TensorFlow's `bilinear` with
    /// `antialias=False`.
    case linear
    /// The mean of the area that an output covers, parts of pixels included: OpenCV's `INTER_AREA`.
    case area

    /// True if each output depends on one or two pixels only, however many fall into it. Which ones depends on the
    /// picture's full size: it cannot be decoded at a smaller one.
    var samples: Bool { self == .nearest || self == .linear }
}
