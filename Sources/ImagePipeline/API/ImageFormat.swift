/// A supported image format. It is detected from the first bytes, not from a name or a declared type.
public enum ImageFormat: String, Sendable, Hashable, CaseIterable, Codable {
    /// ISO/IEC 10918-1, baseline and progressive; 1, 3 or 4 components.
    case jpeg
    /// ISO/IEC 15948, every colour type and depth, interlaced or not. Of an APNG, the still picture.
    case png
    /// RFC 9649, lossy and lossless, with or without alpha. Of an animation, the first frame.
    case webp

    /// The usual name.
    public var title: String {
        switch self {
        case .jpeg: "JPEG"
        case .png: "PNG"
        case .webp: "WebP"
        }
    }

    /// Its media type, as registered with IANA.
    public var mediaType: String { "image/" + rawValue }

    /// All formats as text: "JPEG, PNG or WebP".
    public static let list: String = {
        let titles = allCases.map(\.title)
        return titles.dropLast().joined(separator: ", ") + " or " + (titles.last ?? "")
    }()
}
