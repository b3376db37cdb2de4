extension ImageFormat {
    /// The codecs of this process; `confined` is a separate process (``PixelImage``), for formats with libraries that
    /// are too large to be trusted with hostile pictures.
    enum Codec { case jpeg, png, webp, pnm, raw, confined }

    var codec: Codec {
        switch self {
        case .jpeg: .jpeg
        case .png: .png
        case .webp: .webp
        case .pbm, .pgm, .ppm, .pam: .pnm
        case .raw: .raw
        case .heic, .avif, .tiff, .gif, .bmp, .jxl: .confined
        }
    }

    /// True if pictures of this format are decoded in a separate process.
    public var isConfined: Bool { codec == .confined }

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
        case .pbm: "PBM"
        case .pgm: "PGM"
        case .ppm: "PPM"
        case .pam: "PAM"
        case .raw: "raw"
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
        case .pbm: [".pbm"]
        case .pgm: [".pgm"]
        case .ppm: [".ppm", ".pnm"]
        case .pam: [".pam"]
        case .raw: []
        }
    }

    /// The file name extensions of all formats.
    package static let allEndings = allCases.flatMap(\.endings)

    /// True if a name has an extension of a picture, in upper or lower case.
    package static func isPicture(named name: String) -> Bool {
        let lower = name.lowercased()
        return allEndings.contains { lower.hasSuffix($0) }
    }

    /// The media type, as registered with IANA, or by netpbm's and GStreamer's custom.
    public var mediaType: String {
        switch self {
        case .pbm: "image/x-portable-bitmap"
        case .pgm: "image/x-portable-graymap"
        case .ppm: "image/x-portable-pixmap"
        case .pam: "image/x-portable-arbitrarymap"
        case .raw: "video/x-raw"
        default: "image/" + rawValue
        }
    }

    /// The formats of files: all but raw frames.
    package static let files = allCases.filter { $0 != .raw }

    /// The formats of files as text: "JPEG, PNG or WebP".
    public static let list: String = {
        let titles = files.map(\.title)
        return titles.dropLast().joined(separator: ", ") + " or " + (titles.last ?? "")
    }()
}
