/// The order of a pixel's values in the tensor.
public enum ChannelOrder: String, Sendable, Hashable, CaseIterable, Codable {
    /// Red, green, blue.
    case rgb = "RGB"
    /// Blue, green, red.
    case bgr = "BGR"
    /// One value: luma (ITU-R BT.601).
    case gray = "GRAY"

    /// The number of values per pixel: 3 or 1.
    public var channels: Int { self == .gray ? 1 : 3 }
}

/// The order of a tensor's axes, slowest first. N is always 1.
public enum TensorLayout: String, Sendable, Hashable, CaseIterable, Codable {
    /// Pixel by pixel.
    case nhwc = "NHWC"
    /// Channel by channel.
    case nchw = "NCHW"
}

/// The type of a tensor's elements. The raw values are those of NumPy.
public enum PixelElement: String, Sendable, Hashable, CaseIterable, Codable {
    /// 0 to 255.
    case uint8
    /// -128 to 127.
    case int8
    /// 32 bits, with values within 24 bits.
    case int32
    /// IEEE 754 binary16.
    case float16
    /// IEEE 754 binary32.
    case float32

    /// The number of bytes of one element.
    public var byteCount: Int {
        switch self {
        case .uint8, .int8: 1
        case .float16: 2
        case .int32, .float32: 4
        }
    }
}
