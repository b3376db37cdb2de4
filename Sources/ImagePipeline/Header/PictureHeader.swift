/// What is known of a picture before any of it is decoded.
struct PictureHeader {
    let info: ImageInfo
    /// Where and how the data ends too early, as far as that can be seen by looking at its structure.
    let truncation: String?
    /// How many times fewer chroma samples a JPEG has one way than the other: 2 of 4:2:2, 4 of 4:1:1, else 1.
    var chromaUnevenness = 1.0
    /// Scans of a JPEG, where there may be many: progressive, or components apart. 1 for everything else.
    var scans = 1
    /// What a JPEG in several scans keeps until the last one: 2 bytes for each coefficient. 0 for everything else.
    var coefficientBytes = 0
    /// Where the pixels begin: a JPEG's first scan, the image data of a WebP that is not an animation.
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

    /// Sniffs and reads.
    ///
    /// - Parameter isCancelled: asked between batches of segments or chunks, of which 20 MB hold millions.
    static func read(
        _ bytes: UnsafeRawBufferPointer, isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> PictureHeader {
        guard !bytes.isEmpty else { throw .empty }
        let reader = ByteReader(bytes)
        switch FormatSniffer.format(reader) {
        case .jpeg: return try JPEGHeader.read(reader, isCancelled: isCancelled)
        case .png: return try PNGHeader.read(reader, isCancelled: isCancelled)
        case .webp: return try WebPHeader.read(reader, isCancelled: isCancelled)
        case nil: throw .unsupportedFormat(looksLike: FormatSniffer.resemblance(reader))
        }
    }
}
