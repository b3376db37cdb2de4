/// The facts of a picture that are known before any of it is decoded.
struct PictureHeader {
    let info: ImageInfo
    /// The place where the data ends too early, as far as its structure shows it.
    let truncation: String?
    /// The ratio of a JPEG's chroma samples one way to those the other way: 2 of 4:2:2, 4 of 4:1:1, else 1.
    var chromaUnevenness = 1.0
    /// Scans of a JPEG, where there may be many: progressive, or components apart. 1 for everything else.
    var scans = 1
    /// The bytes that a JPEG in several scans keeps until the last one: 2 for each coefficient. 0 for everything else.
    var coefficientBytes = 0
    /// The offset of the pixels: a JPEG's first scan, the image data of a WebP that is not an animation.
    var pixels = 0
    /// The bytes that hold the pixels, with the size they have: of a WebP animation, one frame.
    var frame: Frame?

    struct Frame {
        let range: Range<Int>
        let x: Int
        let y: Int
        let width: Int
        let height: Int
    }

    init(info: ImageInfo, truncation: String?, frame: Frame? = nil) {
        self.info = info
        self.truncation = truncation
        self.frame = frame
    }

    /// Segments or chunks that are read between two looks at the cancellation: some microseconds' worth.
    static let batch = 4096
    /// Bytes between segments that are read between two looks at the cancellation.
    static let batchOfBytes = 1 << 16

    /// Sniffs and reads.
    ///
    /// - Parameter isCancelled: asked between batches of segments or chunks, of which 20 MB hold millions.
    static func read(
        _ bytes: UnsafeRawBufferPointer, isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> PictureHeader {
        guard !bytes.isEmpty else { throw .empty }
        let reader = ByteReader(bytes)
        guard let format = FormatSniffer.format(reader) else {
            throw .unsupportedFormat(looksLike: FormatSniffer.resemblance(reader))
        }
        switch format {
        case .jpeg: return try JPEGHeader.read(reader, isCancelled: isCancelled)
        case .png: return try PNGHeader.read(reader, isCancelled: isCancelled)
        case .webp: return try WebPHeader.read(reader, isCancelled: isCancelled)
        case .heic, .avif, .tiff, .gif, .bmp, .jxl:
            throw .unavailable(format, reason: "it is decoded in a separate process")
        }
    }
}
