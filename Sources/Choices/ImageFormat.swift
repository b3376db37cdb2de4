/// A supported image format. It is detected from the first bytes, not from a name or a declared type.
public enum ImageFormat: String, Sendable, Hashable, CaseIterable, Codable {
    /// ISO/IEC 10918-1, baseline and progressive; 1, 3 or 4 components.
    case jpeg
    /// ISO/IEC 15948, every colour type and depth, interlaced or not. The still picture of an APNG.
    case png
    /// RFC 9649, lossy and lossless, with or without alpha. The first frame of an animation.
    case webp
    /// ISO/IEC 23008-12 with HEVC: the primary item, with its own transforms. ICC profiles are ignored, as for all
    /// formats.
    case heic
    /// ISO/IEC 23008-12 with AV1: the primary item, as for HEIC.
    case avif
    /// TIFF 6.0 and BigTIFF: one page.
    case tiff
    /// GIF; the first frame of an animation.
    case gif
    /// BMP of Windows and OS/2.
    case bmp
    /// ISO/IEC 18181; the first frame of an animation.
    case jxl
}
