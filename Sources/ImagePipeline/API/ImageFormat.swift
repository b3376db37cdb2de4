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

    /// True if pictures of this format are decoded in a separate process (``PixelImage``), because its library is too
    /// large to be trusted with hostile pictures.
    public var isConfined: Bool {
        switch self {
        case .jpeg, .png, .webp: false
        case .heic, .avif, .tiff, .gif, .bmp, .jxl: true
        }
    }

    /// The usual name of the format.
    public var title: String {
        switch self {
        case .jpeg: "JPEG"
        case .png: "PNG"
        case .webp: "WebP"
        case .heic: "HEIC"
        case .avif: "AVIF"
        case .tiff: "TIFF"
        case .gif: "GIF"
        case .bmp: "BMP"
        case .jxl: "JPEG XL"
        }
    }

    /// The usual file name extensions, in lower case.
    package var endings: [String] {
        switch self {
        case .jpeg: [".jpg", ".jpeg"]
        case .png: [".png"]
        case .webp: [".webp"]
        case .heic: [".heic", ".heif"]
        case .avif: [".avif"]
        case .tiff: [".tif", ".tiff"]
        case .gif: [".gif"]
        case .bmp: [".bmp"]
        case .jxl: [".jxl"]
        }
    }

    /// The file name extensions of all formats.
    package static let allEndings = allCases.flatMap(\.endings)

    /// True if a name has an extension of a picture, in upper or lower case.
    package static func isPicture(named name: String) -> Bool {
        let lower = name.lowercased()
        return allEndings.contains { lower.hasSuffix($0) }
    }

    /// The media type, as registered with IANA.
    public var mediaType: String { "image/" + rawValue }

    /// All formats as text: "JPEG, PNG or WebP".
    public static let list: String = {
        let titles = allCases.map(\.title)
        return titles.dropLast().joined(separator: ", ") + " or " + (titles.last ?? "")
    }()
}
