/// Why a picture gave no tensor.
public enum ImageError: Error, Sendable, Hashable {
    /// Bytes of no format that is decoded; with the name of what they look like, where it is known.
    case unsupportedFormat(looksLike: String?)
    /// No bytes at all.
    case empty
    /// The data ends before the picture does; says where.
    case truncated(String)
    /// The data is damaged, or uses a feature that is not decoded; says which.
    case corrupt(String)
    /// The header announces more pixels than the limit.
    case tooLarge(pixels: Int, limit: Int, width: Int, height: Int)
    /// A side is longer than any picture's of the format may be, though the pixels are few.
    case sideTooLong(limit: Int, width: Int, height: Int)
    /// Decoding would take more memory than the limit: interlaced or progressive pictures are held whole.
    case tooMuchMemory(bytes: Int, limit: Int, reason: String)
    /// A JPEG with more scans than the limit.
    case tooManyScans(limit: Int)
    /// The specification of the tensor contradicts itself; says where. A defect of the caller's, never of the picture.
    case invalidSpec(String)
    /// The destination, or the pixels to encode, are not of the size they must have. A defect of the caller's.
    case wrongSize(expected: Int, got: Int)
    /// The allocator refused.
    case outOfMemory
    /// `isCancelled` said so.
    case cancelled
}

extension ImageError {
    /// A sentence that a person can act on.
    public var message: String {
        switch self {
        case .unsupportedFormat(let looksLike):
            let what = looksLike.map { "this looks like \($0)" } ?? "unrecognised image format"
            return "\(what); expected \(ImageFormat.list)"
        case .empty:
            return "the picture is empty (0 bytes)"
        case .truncated(let detail):
            return "the picture is truncated: \(detail)"
        case .corrupt(let detail):
            return "the picture cannot be decoded: \(detail)"
        case .tooLarge(let pixels, let limit, let width, let height):
            return "the picture has \(width) x \(height) = \(pixels) pixels; at most \(limit) are decoded"
        case .sideTooLong(let limit, let width, let height):
            return "the picture has \(width) x \(height) pixels; sides of at most \(limit) are decoded"
        case .tooMuchMemory(let bytes, let limit, let reason):
            return "decoding the picture would take \(bytes) bytes of memory (\(reason)); at most \(limit) are used"
        case .tooManyScans(let limit):
            return "the JPEG has more than \(limit) scans"
        case .invalidSpec(let detail):
            return "the image input is not valid: \(detail)"
        case .wrongSize(let expected, let got):
            return "\(expected) bytes were expected, \(got) came"
        case .outOfMemory:
            return "no memory was left to decode the picture"
        case .cancelled:
            return "cancelled while decoding"
        }
    }

    /// A word for metrics, whatever the picture.
    public var label: String {
        switch self {
        case .unsupportedFormat: "unsupported_format"
        case .empty: "empty"
        case .truncated: "truncated"
        case .corrupt: "corrupt"
        case .tooLarge, .sideTooLong: "too_large"
        case .tooMuchMemory: "too_much_memory"
        case .tooManyScans: "too_many_scans"
        case .invalidSpec: "invalid_spec"
        case .wrongSize: "wrong_size"
        case .outOfMemory: "out_of_memory"
        case .cancelled: "cancelled"
        }
    }
}

extension ImageError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
