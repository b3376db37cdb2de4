package import ImagePipeline

/// The type of one element of a tensor, with the names of C that the Open Inference Protocol and TensorIO use.
public enum ElementType: String, Sendable, Hashable, CaseIterable, Codable {
    case bool, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64, string

    /// The size of one element in bytes; 0 for strings, which have no fixed size.
    public var byteCount: Int {
        switch self {
        case .bool, .uint8, .int8: 1
        case .uint16, .int16, .float16, .bfloat16: 2
        case .uint32, .int32, .float32: 4
        case .uint64, .int64, .float64: 8
        case .string: 0
        }
    }

    /// True if the values are real numbers rather than integers.
    public var isFloatingPoint: Bool {
        switch self {
        case .float16, .bfloat16, .float32, .float64: true
        default: false
        }
    }

    /// The minimum and maximum of an integer type; nil for other types.
    public var integerRange: ClosedRange<Double>? {
        switch self {
        case .uint8: 0...255
        case .uint16: 0...65_535
        case .uint32: 0...4_294_967_295
        case .uint64: 0...Double(UInt64.max)
        case .int8: -128...127
        case .int16: -32_768...32_767
        case .int32: -2_147_483_648...2_147_483_647
        case .int64: Double(Int64.min)...Double(Int64.max)
        default: nil
        }
    }
}

extension ElementType {
    /// The type as one that pictures can be put into and read from; nil for the others.
    package var pixelElement: PixelElement? {
        switch self {
        case .uint8: .uint8
        case .int8: .int8
        case .int32: .int32
        case .float16: .float16
        case .float32: .float32
        default: nil
        }
    }
}
