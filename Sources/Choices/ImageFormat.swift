/// A supported image format. It is detected from the first bytes, not from a name or a declared type; a raw frame has
/// none that say it, and is declared.
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
    /// netpbm's bitmaps, as text (P1) and packed (P4).
    case pbm
    /// netpbm's gray pictures, as text (P2) and binary (P5), with up to 16 bits.
    case pgm
    /// netpbm's colour pictures, as text (P3) and binary (P6), with up to 16 bits.
    case ppm
    /// netpbm's arbitrary maps (P7), gray or colour, with or without opacity.
    case pam
    /// Pixels without a header, from a camera or a video decoder, with a declared layout.
    case raw
}
