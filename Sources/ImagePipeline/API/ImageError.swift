/// The reason why a picture could not be turned into a tensor.
public enum ImageError: Error, Sendable, Hashable {
    /// The format is not supported; with the name of the format that the bytes resemble, if known.
    case unsupportedFormat(looksLike: String?)
    /// The format is supported, but cannot be decoded on this machine; with the reason.
    case unavailable(ImageFormat, reason: String)
    /// The format is supported, but disabled in the limits.
    case turnedOff(ImageFormat)
    /// The process that decodes a picture cannot be started or has ended; with the reason.
    case noDecoder(String)
    /// The data is empty.
    case empty
    /// The data is truncated; with the position.
    case truncated(String)
    /// The data is damaged or uses an unsupported feature; with the details.
    case corrupt(String)
    /// The header announces more pixels than the limit.
    case tooLarge(pixels: Int, limit: Int, width: Int, height: Int)
    /// The description of a raw frame is not valid, or does not fit its bytes; with the details.
    case invalidFrame(String)
    /// The order of a raw frame's pixels is not supported; with its name.
    case unsupportedFrame(String)
    /// A side is longer than the limit, although the picture has few pixels.
    case sideTooLong(limit: Int, width: Int, height: Int)
    /// Decoding would take more memory than the limit: interlaced or progressive pictures are held as a whole.
    case tooMuchMemory(bytes: Int, limit: Int, reason: String)
    /// An answer of the picture's size would take more memory than all answers may.
    case answerTooLarge(bytes: Int, limit: Int, width: Int, height: Int)
    /// A JPEG with more scans than the limit.
    case tooManyScans(limit: Int)
    /// The specification of the tensor is inconsistent: an error of the caller, not of the picture.
    case invalidSpec(String)
    /// The destination, or the pixels to encode, have the wrong size: an error of the caller.
    case wrongSize(expected: Int, got: Int)
    /// Out of memory.
    case outOfMemory
    /// `isCancelled` returned true.
    case cancelled
}

extension ImageError {
    /// The message for the user.
    public var message: String {
        switch self {
        case .unsupportedFormat(let looksLike):
            let what = looksLike.map { "this looks like \($0)" } ?? "unrecognised image format"
            return "\(what); expected \(ImageFormat.list)"
        case .unavailable(let format, let reason):
            return "\(format.title) pictures cannot be decoded here: \(reason)"
        case .turnedOff(let format):
            return "\(format.title) pictures are turned off here"
        case .noDecoder(let reason):
            return "cannot decode the picture in a separate process: \(reason)"
        case .empty:
            return "the picture is empty (0 bytes)"
        case .truncated(let detail):
            return "the picture is truncated: \(detail)"
        case .corrupt(let detail):
            return "the picture cannot be decoded: \(detail)"
        case .invalidFrame(let detail):
            return "the raw frame is not valid: \(detail)"
        case .unsupportedFrame(let name):
            return "raw frames of format \"\(name.prefix(60))\" are not read; expected \(RawFrame.Format.list)"
        case .tooLarge(let pixels, let limit, let width, let height):
            return "the picture has \(width) x \(height) = \(pixels) pixels; the limit is \(limit)"
        case .sideTooLong(let limit, let width, let height):
            return "the picture has \(width) x \(height) pixels; the limit of each side is \(limit)"
        case .tooMuchMemory(let bytes, let limit, let reason):
            return "decoding the picture would take \(bytes) bytes of memory (\(reason)); the limit is \(limit)"
        case .answerTooLarge(let bytes, let limit, let width, let height):
            return
                "the answer has \(width) x \(height) pixels, which take \(bytes) bytes, and a third more as text in JSON; the limit of all answers is \(limit): send a smaller picture"
        case .tooManyScans(let limit):
            return "the JPEG has more than \(limit) scans"
        case .invalidSpec(let detail):
            return "the image input is not valid: \(detail)"
        case .wrongSize(let expected, let got):
            return "expected \(expected) bytes, found \(got)"
        case .outOfMemory:
            return "out of memory while decoding the picture"
        case .cancelled:
            return "cancelled while decoding"
        }
    }

    /// The label for metrics.
    public var label: String {
        switch self {
        case .unsupportedFormat: "unsupported_format"
        case .unavailable: "unavailable_format"
        case .turnedOff: "format_turned_off"
        case .noDecoder: "no_decoder"
        case .empty: "empty"
        case .truncated: "truncated"
        case .corrupt: "corrupt"
        case .invalidFrame: "invalid_frame"
        case .unsupportedFrame: "unsupported_frame"
        case .tooLarge, .sideTooLong: "too_large"
        case .answerTooLarge: "answer_too_large"
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
