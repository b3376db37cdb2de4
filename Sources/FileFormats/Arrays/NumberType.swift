/// The types of numbers in array files. All are little-endian.
package enum NumberType: Sendable {
    case float16, bfloat16, float32, float64, uint8, int8

    package var byteCount: Int {
        switch self {
        case .uint8, .int8: 1
        case .float16, .bfloat16: 2
        case .float32: 4
        case .float64: 8
        }
    }
}
