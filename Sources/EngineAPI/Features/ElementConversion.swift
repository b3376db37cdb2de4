/// Reads and writes the elements of raw tensor memory as numbers.
///
/// `bfloat16` is the upper half of a 32-bit float; the other types are Swift's own. Memory need not be aligned.
package enum ElementConversion {
    /// Calls `body` with the index and value of every element that fits in `raw`, in order.
    package static func read(_ raw: UnsafeRawBufferPointer, as type: ElementType, _ body: (Int, Double) -> Void) {
        func each<T: BitwiseCopyable>(_: T.Type, _ convert: (T) -> Double) {
            let stride = MemoryLayout<T>.stride
            for index in 0..<(raw.count / stride) {
                body(index, convert(raw.loadUnaligned(fromByteOffset: index &* stride, as: T.self)))
            }
        }
        switch type {
        case .bool, .uint8: each(UInt8.self) { Double($0) }
        case .uint16: each(UInt16.self) { Double($0) }
        case .uint32: each(UInt32.self) { Double($0) }
        case .uint64: each(UInt64.self) { Double($0) }
        case .int8: each(Int8.self) { Double($0) }
        case .int16: each(Int16.self) { Double($0) }
        case .int32: each(Int32.self) { Double($0) }
        case .int64: each(Int64.self) { Double($0) }
        case .float16: each(UInt16.self) { Double(float(fromHalf: $0)) }
        case .bfloat16: each(UInt16.self) { Double(Float(bitPattern: UInt32($0) << 16)) }
        case .float32: each(Float.self) { Double($0) }
        case .float64: each(Double.self) { $0 }
        case .string: break
        }
    }

    /// Writes `value` as element `index`. Integers are rounded to nearest, ties away from zero, and clamped to the
    /// type's range; NaN becomes 0. Nothing is written past the end of `raw`.
    package static func write(
        _ value: Double, at index: Int, as type: ElementType, to raw: UnsafeMutableRawBufferPointer
    ) {
        func store<T: BitwiseCopyable>(_ element: T) {
            let stride = MemoryLayout<T>.stride
            let (offset, overflow) = index.multipliedReportingOverflow(by: stride)
            guard !overflow, offset >= 0, offset <= raw.count - stride else { return }
            raw.storeBytes(of: element, toByteOffset: offset, as: T.self)
        }
        func integer<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type) {
            let rounded = value.rounded(.toNearestOrAwayFromZero)
            if rounded.isNaN {
                store(T.zero)
            } else if let exact = T(exactly: rounded) {
                store(exact)
            } else {
                store(rounded < 0 ? T.min : T.max)
            }
        }
        switch type {
        case .bool: store(UInt8(value != 0 ? 1 : 0))
        case .uint8: integer(UInt8.self)
        case .uint16: integer(UInt16.self)
        case .uint32: integer(UInt32.self)
        case .uint64: integer(UInt64.self)
        case .int8: integer(Int8.self)
        case .int16: integer(Int16.self)
        case .int32: integer(Int32.self)
        case .int64: integer(Int64.self)
        case .float16: store(half(from: Float(value)))
        case .bfloat16: store(brain(from: Float(value)))
        case .float32: store(Float(value))
        case .float64: store(value)
        case .string: break
        }
    }

    /// The nearest bfloat16, ties to even, as in numerical libraries.
    package static func brain(from value: Float) -> UInt16 {
        let bits = value.bitPattern
        // The bits that make a number NaN may all be in the half that is dropped.
        if value.isNaN { return UInt16(truncatingIfNeeded: bits >> 16) | 0x40 }
        return UInt16(truncatingIfNeeded: (bits &+ 0x7FFF &+ ((bits >> 16) & 1)) >> 16)
    }

    #if arch(x86_64)
        // On x86-64 Linux, Swift has no Float16 as long as it is not part of the platform's ABI: IEEE 754 binary16 is
        // implemented here.
        package static func float(fromHalf bits: UInt16) -> Float {
            let sign = UInt32(bits & 0x8000) << 16
            let exponent = UInt32(bits >> 10) & 0x1F
            let fraction = UInt32(bits & 0x3FF)
            switch exponent {
            case 0:
                // Subnormal: fraction * 2^-24, exact in a 32-bit float.
                let magnitude = Float(fraction) * 0x1p-24
                return sign == 0 ? magnitude : -magnitude
            case 31: return Float(bitPattern: sign | 0x7F80_0000 | fraction << 13)
            default: return Float(bitPattern: sign | (exponent + 112) << 23 | fraction << 13)
            }
        }

        package static func half(from value: Float) -> UInt16 {
            let bits = value.bitPattern
            let sign = UInt16(truncatingIfNeeded: bits >> 16) & 0x8000
            let magnitude = bits & 0x7FFF_FFFF
            if magnitude > 0x7F80_0000 { return sign | 0x7E00 }
            // 65520 and above round to infinity.
            if magnitude >= 0x477F_F000 { return sign | 0x7C00 }
            if magnitude < 0x3880_0000 {
                // Below 2^-14 the result is subnormal: a multiple of 2^-24, ties to even.
                let scaled = (Float(bitPattern: magnitude) * 0x1p24).rounded(.toNearestOrEven)
                return sign | UInt16(scaled)
            }
            let rounded = magnitude &+ 0xFFF &+ ((magnitude >> 13) & 1)
            return sign | UInt16(truncatingIfNeeded: (rounded >> 13) &- (112 << 10))
        }
    #else
        package static func float(fromHalf bits: UInt16) -> Float { Float(Float16(bitPattern: bits)) }
        package static func half(from value: Float) -> UInt16 { Float16(value).bitPattern }
    #endif
}
