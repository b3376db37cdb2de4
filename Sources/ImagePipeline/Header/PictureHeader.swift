/// The data of a picture that is known before any of it is decoded.
struct PictureHeader {
    let info: ImageInfo
    /// The error text for data that ends too early, as far as the structure shows it; nil if the data is complete.
    let truncation: String?
    /// The ratio of the chroma subsampling of a JPEG's axes: 2 for 4:2:2, 4 for 4:1:1, otherwise 1.
    var chromaUnevenness = 1.0
    /// The number of scans of a JPEG that may have many (progressive, or one per component); 1 for all others.
    var scans = 1
    /// The number of bytes that a JPEG with several scans needs until the last one: 2 for each coefficient. 0 for all
    /// others.
    var coefficientBytes = 0
    /// The offset of the pixels: a JPEG's first scan, or the image data of a WebP that is not an animation.
    var pixels = 0
    /// The samples of a PNM or PAM.
    var samples: PNMSamples?
    /// The layout of a raw frame.
    var raw: RawFrame?
    /// An error that is reported after those of the limits: the bytes of a raw frame do not fit its description.
    var mismatch: ImageError?
    /// The first frame of a WebP animation: its bytes, place and size.
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

    /// The header of a raw frame with this number of bytes.
    init(_ frame: RawFrame, count: Int) {
        self.init(info: frame.info, truncation: nil)
        raw = frame
        do throws(ImageError) { try frame.check(count: count) } catch { mismatch = error }
    }

    /// The number of segments or chunks that are read between two checks for cancellation, which takes some
    /// microseconds.
    static let batch = 4096
    /// The number of bytes between segments that are read between two checks for cancellation.
    static let batchOfBytes = 1 << 16

    /// Detects the format and reads the header.
    ///
    /// - Parameters:
    ///   - frame: the layout of the bytes if they are a raw frame; nil for a file.
    ///   - isCancelled: called between batches of segments or chunks, of which 20 MB can hold millions.
    static func read(
        _ bytes: UnsafeRawBufferPointer, frame: RawFrame? = nil, isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> PictureHeader {
        if let frame { return PictureHeader(frame, count: bytes.count) }
        guard !bytes.isEmpty else { throw .empty }
        let reader = ByteReader(bytes)
        guard let format = FormatSniffer.format(reader) else {
            throw .unsupportedFormat(looksLike: FormatSniffer.resemblance(reader))
        }
        switch format.codec {
        case .jpeg: return try JPEGHeader.read(reader, isCancelled: isCancelled)
        case .png: return try PNGHeader.read(reader, isCancelled: isCancelled)
        case .webp: return try WebPHeader.read(reader, isCancelled: isCancelled)
        case .pnm: return try PNMHeader.read(reader, isCancelled: isCancelled)
        case .raw, .confined:
            throw .unavailable(format, reason: "it is decoded in a separate process")
        }
    }
}
