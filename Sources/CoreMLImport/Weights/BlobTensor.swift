/// A tensor as a constant of an ML Program stores it.
package struct BlobTensor: Sendable {
    package var element: MILDataType
    package var shape: [Int]
    /// Little-endian, row-major. Elements below a byte are packed, the first in the lowest bits of the first byte.
    package var bytes: Bytes

    /// The number of elements.
    package var count: Int { elementCount(shape) ?? 0 }

    /// Throws if the number of bytes does not match the shape. Elements below a byte may also take a byte each.
    package init(_ element: MILDataType, shape: [Int], bytes: Bytes) throws(Problem) {
        guard let count = elementCount(shape), let size = element.byteCount(count) else {
            throw Problem("a constant of shape \(shape) is too large")
        }
        self.element = element
        self.shape = shape
        self.bytes = bytes
        if bytes.count != size {
            guard element.bits < 8, bytes.count == count else {
                throw Problem("a constant of shape \(shape) needs \(size) bytes as \(element), found \(bytes.count)")
            }
            self.element = element.isSigned ? .int8 : .uint8
        }
    }

    /// Elements of at most 8 bits, unpacked to a byte each; signed ones as their 8-bit pattern.
    package func codes() throws(Problem) -> [UInt8] {
        let bits = element.bits
        guard bits > 0, bits <= 8 else {
            throw Problem("expected integers of at most 8 bits, found elements of type \(element)")
        }
        if bits == 8 { return bytes.elements() }
        let (count, mask) = (self.count, UInt16(1) << UInt16(bits) &- 1)
        let sign: UInt16 = element.isSigned ? 1 << UInt16(bits - 1) : 0
        return bytes.withUnsafeBytes { source in
            [UInt8](unsafeUninitializedCapacity: count) { target, initialized in
                var (pending, available, next) = (UInt16(0), 0, 0)
                for index in 0..<count {
                    if available < bits {
                        pending |= UInt16(next < source.count ? source[next] : 0) << UInt16(available)
                        next += 1
                        available += 8
                    }
                    let code = pending & mask
                    target[index] = UInt8(truncatingIfNeeded: (code ^ sign) &- sign)
                    pending >>= UInt16(bits)
                    available -= bits
                }
                initialized = count
            }
        }
    }

    /// The elements as 32-bit floats.
    package func floats() throws(Problem) -> [Float] {
        switch element {
        case .float32: return bytes.elements()
        case .float16: return bytes.elements(Float16.self).map { Float($0) }
        case .float64: return bytes.elements(Double.self).map { Float($0) }
        case .bfloat16: return bytes.elements(UInt16.self).map { Float(bitPattern: UInt32($0) << 16) }
        case .string: throw Problem("expected numbers, found text")
        default: return try integers().map { Float($0) }
        }
    }

    /// The elements as integers. Throws if they are floats.
    package func integers() throws(Problem) -> [Int] {
        switch element {
        case .int16: return bytes.elements(Int16.self).map { Int($0) }
        case .uint16: return bytes.elements(UInt16.self).map { Int($0) }
        case .int32: return bytes.elements(Int32.self).map { Int($0) }
        case .uint32: return bytes.elements(UInt32.self).map { Int($0) }
        case .int64: return bytes.elements(Int64.self).map { Int($0) }
        case .uint64: return bytes.elements(UInt64.self).map { Int(clamping: $0) }
        case .string, .float16, .float32, .float64, .bfloat16:
            throw Problem("expected integers, found \(element)")
        default:
            let codes = try codes()
            return element.isSigned ? codes.map { Int(Int8(bitPattern: $0)) } : codes.map { Int($0) }
        }
    }

    /// The elements in a type that graphs compute with: 16-bit floats stay (the graph converts them), other floats
    /// become f32, integers i32, booleans stay.
    package func graphConstant() throws(Problem) -> (type: Graph.ElementType, bytes: Bytes) {
        switch element {
        case .float16: return (.f16, bytes)
        case .float32: return (.f32, bytes)
        case .float64, .bfloat16: return (.f32, Bytes(of: try floats()))
        case .bool: return (.boolean, bytes)
        case .int32: return (.i32, bytes)
        default: return (.i32, Bytes(of: try integers().map { Int32(clamping: $0) }))
        }
    }
}
