/// The layout of a raw frame: pixels as a camera or a video decoder writes them, without a header.
///
/// Rows follow each other from the top, `stride` bytes apart. NV12 has a plane of luma and one of chroma, with blue and
/// red in turn; I420 has three planes. A sample of chroma stands for the 2 x 2 pixels at its place, without
/// interpolation; with odd sides the last one stands for fewer. The memory
/// may end after the last pixel of the last row.
public struct RawFrame: Sendable, Hashable {
    /// The order of a pixel's bytes, by the names of GStreamer.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// 3 bytes.
        case rgb = "RGB"
        /// 3 bytes, blue first: OpenCV's order.
        case bgr = "BGR"
        /// 4 bytes; opacity is not multiplied into the colours, as in a PNG.
        case rgba = "RGBA"
        /// 4 bytes: `kCVPixelFormatType_32BGRA`.
        case bgra = "BGRA"
        /// 4 bytes: `kCVPixelFormatType_32ARGB`.
        case argb = "ARGB"
        /// 4 bytes, the last of which is not read.
        case rgbx = "RGBx"
        /// 4 bytes, the last of which is not read.
        case bgrx = "BGRx"
        /// 1 byte.
        case gray8 = "GRAY8"
        /// 12 bits; luma from 16 to 235 and chroma from 16 to 240 (limited range).
        case nv12 = "NV12"
        /// 12 bits, like NV12.
        case i420 = "I420"

        /// The names of all formats.
        package static let list = allCases.map(\.rawValue).joined(separator: ", ")

        /// The number of bytes of a pixel in a row of the first plane.
        var bytesPerPixel: Int {
            switch self {
            case .rgb, .bgr: 3
            case .rgba, .bgra, .argb, .rgbx, .bgrx: 4
            case .gray8, .nv12, .i420: 1
            }
        }
    }

    /// The colours that luma and chroma stand for.
    public enum Colorimetry: String, Sendable, Hashable, CaseIterable {
        /// ITU-R BT.601, as in JPEG and in video of standard definition.
        case bt601
        /// ITU-R BT.709, as in video of high definition.
        case bt709
    }

    /// The order of a pixel's bytes.
    public let format: Format
    /// The number of columns.
    public let width: Int
    /// The number of rows.
    public let height: Int
    /// The number of bytes from one row of the first plane to the next.
    public let stride: Int
    /// The meaning of NV12 and I420; the other formats do not use it.
    public let colorimetry: Colorimetry
    /// The number of bytes from one row of the planes of chroma to the next; 0 without such planes.
    let chromaStride: Int

    /// Describes a frame.
    ///
    /// - Parameters:
    ///   - width, height: 1 to 65,535.
    ///   - stride: bytes from one row to the next. Nil for tight rows: those of chroma have two bytes for each two
    ///     columns in NV12 and one in I420, also if the number of columns is odd. Otherwise the rows of chroma are as
    ///     far from each other in NV12, and half as far in I420, rounded up.
    /// - Throws: `invalidFrame`, or `sideTooLong`.
    public init(
        _ format: Format, width: Int, height: Int, stride: Int? = nil, colorimetry: Colorimetry = .bt601
    ) throws(ImageError) {
        for (name, side) in [("width", width), ("height", height)] where side < 1 {
            throw .invalidFrame("expected a \(name) of at least 1, found \(side)")
        }
        guard max(width, height) <= Self.maximumSide else {
            throw .sideTooLong(limit: Self.maximumSide, width: width, height: height)
        }
        let columns = (width + 1) / 2
        let row = format == .nv12 ? 2 * columns : width * format.bytesPerPixel
        if let stride {
            guard (row...Self.maximumStride).contains(stride) else {
                throw .invalidFrame(
                    "expected a stride of at least \(row) bytes for a row of \(width) pixels of \(format.rawValue)"
                        + (stride > row ? ", and at most \(Self.maximumStride)" : "") + ", found \(stride)")
            }
        }
        self.format = format
        self.width = width
        self.height = height
        self.stride = stride ?? width * format.bytesPerPixel
        self.colorimetry = colorimetry
        chromaStride =
            switch format {
            case .nv12: stride ?? 2 * columns
            case .i420: stride.map { ($0 + 1) / 2 } ?? columns
            default: 0
            }
    }

    private static let maximumSide = 65_535
    /// Beyond this a stride is a mistake; with it, no sum of a frame's sizes overflows.
    private static let maximumStride = Int(Int32.max)

    /// The number of columns of chroma.
    var chromaColumns: Int { (width + 1) / 2 }
    /// The number of rows of chroma.
    var chromaRows: Int { (height + 1) / 2 }

    /// The numbers of bytes that a frame may have: to the last pixel of its last row, or with the rest of that row.
    public var byteCounts: ClosedRange<Int> {
        switch format {
        case .nv12:
            let whole = stride * height + chromaStride * chromaRows
            return whole - (chromaStride - 2 * chromaColumns)...whole
        case .i420:
            let whole = stride * height + 2 * chromaStride * chromaRows
            return whole - (chromaStride - chromaColumns)...whole
        default: return stride * height - (stride - width * format.bytesPerPixel)...stride * height
        }
    }

    /// Throws if a frame cannot have this number of bytes.
    package func check(count: Int) throws(ImageError) {
        let due = byteCounts
        guard !due.contains(count) else { return }
        let length = due.count == 1 ? "\(due.lowerBound)" : "\(due.lowerBound) to \(due.upperBound)"
        throw .invalidFrame(
            "expected \(length) bytes for \(width) x \(height) pixels of \(format.rawValue) with rows of \(stride) bytes, "
                + "found \(count)")
    }

    /// The frame's header; frames say nothing about their orientation.
    package var info: ImageInfo { ImageInfo(format: .raw, width: width, height: height, orientation: 1) }
}
