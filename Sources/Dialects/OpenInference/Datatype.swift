internal import Inference

extension ElementType {
    /// The protocol's name of the type.
    var datatype: String {
        switch self {
        case .bool: "BOOL"
        case .uint8: "UINT8"
        case .uint16: "UINT16"
        case .uint32: "UINT32"
        case .uint64: "UINT64"
        case .int8: "INT8"
        case .int16: "INT16"
        case .int32: "INT32"
        case .int64: "INT64"
        case .float16: "FP16"
        case .bfloat16: "BF16"
        case .float32: "FP32"
        case .float64: "FP64"
        case .string: "BYTES"
        }
    }

    /// Triton's name of the type in a model's configuration (model_config.proto, DataType).
    var configurationType: String { self == .string ? "TYPE_STRING" : "TYPE_\(datatype)" }

    /// True if JSON may carry the type: 16-bit floats are sent as binary data only, as in Triton.
    var isInJSON: Bool { self != .float16 && self != .bfloat16 }
}
