/// The tensor's value for each of the 256 levels of a channel, so that scale, bias, rounding and clamping are computed
/// only once.
struct ElementTable<Bits: FixedWidthInteger & Sendable>: Sendable {
    /// 256 values for each channel, in the tensor's order of channels.
    let bits: [Bits]

    init(_ spec: ImageTensorSpec, _ convert: (Float) -> Bits) {
        var bits: [Bits] = []
        bits.reserveCapacity(256 * spec.channels)
        for position in 0..<spec.channels {
            let channel = spec.channelOrder == .bgr ? 2 - position : position
            for level in 0..<256 {
                bits.append(
                    convert(
                        spec.normalization?.value(level, channel: channel)
                            ?? (Float(level) * spec.scale[channel] + spec.bias[channel])))
            }
        }
        self.bits = bits
    }
}

/// The table for an element type.
enum ElementTables: Sendable {
    case one(ElementTable<UInt8>)
    case two(ElementTable<UInt16>)
    case four(ElementTable<UInt32>)

    init(_ spec: ImageTensorSpec) {
        switch spec.element {
        case .uint8:
            self = .one(
                ElementTable(spec) { value in
                    UInt8(max(0, min(255, value.rounded(.toNearestOrAwayFromZero))))
                })
        case .int8:
            self = .one(
                ElementTable(spec) { value in
                    UInt8(bitPattern: Int8(max(-128, min(127, value.rounded(.toNearestOrAwayFromZero)))))
                })
        case .int32:
            self = .four(
                ElementTable(spec) { value in
                    // Every whole number of 24 bits is a 32-bit float.
                    let limit: Float = 0x1p24
                    return UInt32(bitPattern: Int32(max(-limit, min(limit, value.rounded(.toNearestOrAwayFromZero)))))
                })
        case .float16: self = .two(ElementTable(spec) { Float16($0).bitPattern })
        case .float32: self = .four(ElementTable(spec) { $0.bitPattern })
        }
    }
}
