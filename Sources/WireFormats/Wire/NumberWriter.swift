package import Inference
package import JSON

/// Writes the elements of a tensor as JSON numbers, straight from its memory.
package struct NumberWriter {
    package let elementType: ElementType
    /// True to write floats like TensorFlow Serving: always with a point or an exponent, and non-finite ones as `NaN`,
    /// `Infinity` and `-Infinity`, which are not JSON. False writes these as null.
    package var isTensorFlow = false

    package init(elementType: ElementType, isTensorFlow: Bool = false) {
        self.elementType = elementType
        self.isTensorFlow = isTensorFlow
    }

    /// Writes the elements, nested as in `extents`; a bare number if that is empty. Memory need not be aligned.
    package func write(_ raw: UnsafeRawBufferPointer, extents: [Int], to writer: inout JSONWriter) {
        var next = 0
        switch elementType {
        case .float32:
            nest(extents[...], &writer) { writer in
                number(Self.load(raw, next, as: Float.self), &writer)
                next += 1
            }
        case .float64:
            nest(extents[...], &writer) { writer in
                let value = Self.load(raw, next, as: Double.self)
                if isTensorFlow { writer.raw(Self.text(value)) } else { writer.number(value) }
                next += 1
            }
        case .float16:
            nest(extents[...], &writer) { writer in
                number(ElementConversion.float(fromHalf: Self.load(raw, next, as: UInt16.self)), &writer)
                next += 1
            }
        case .bfloat16:
            nest(extents[...], &writer) { writer in
                number(Float(bitPattern: UInt32(Self.load(raw, next, as: UInt16.self)) << 16), &writer)
                next += 1
            }
        case .bool:
            nest(extents[...], &writer) { writer in
                writer.bool(Self.load(raw, next, as: UInt8.self) != 0)
                next += 1
            }
        case .uint8: integers(UInt8.self, raw, extents, &writer)
        case .uint16: integers(UInt16.self, raw, extents, &writer)
        case .uint32: integers(UInt32.self, raw, extents, &writer)
        case .uint64: integers(UInt64.self, raw, extents, &writer)
        case .int8: integers(Int8.self, raw, extents, &writer)
        case .int16: integers(Int16.self, raw, extents, &writer)
        case .int32: integers(Int32.self, raw, extents, &writer)
        case .int64: integers(Int64.self, raw, extents, &writer)
        case .string: writer.null()
        }
    }

    @inline(__always)
    private func number(_ value: Float, _ writer: inout JSONWriter) {
        if isTensorFlow { writer.raw(Self.text(value)) } else { writer.number(value) }
    }

    private static func text<T: BinaryFloatingPoint & CustomStringConvertible>(_ value: T) -> String {
        if value.isFinite { return value.description }
        return value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity"
    }

    private func integers<T: FixedWidthInteger & BitwiseCopyable>(
        _: T.Type, _ raw: UnsafeRawBufferPointer, _ extents: [Int], _ writer: inout JSONWriter
    ) {
        var next = 0
        nest(extents[...], &writer) { writer in
            writer.integer(Self.load(raw, next, as: T.self))
            next += 1
        }
    }

    /// Elements outside the memory are 0: the memory's size counts, not the shape.
    @inline(__always)
    private static func load<T: BitwiseCopyable & Numeric>(
        _ raw: UnsafeRawBufferPointer, _ index: Int, as type: T.Type
    ) -> T {
        let offset = index &* MemoryLayout<T>.stride
        guard offset >= 0, offset <= raw.count - MemoryLayout<T>.size else { return 0 }
        return raw.loadUnaligned(fromByteOffset: offset, as: type)
    }

    private func nest(
        _ extents: ArraySlice<Int>, _ writer: inout JSONWriter, _ element: (inout JSONWriter) -> Void
    ) {
        guard let extent = extents.first else { return element(&writer) }
        writer.array { writer in
            if extents.count == 1 {
                for _ in 0..<extent { element(&writer) }
            } else {
                for _ in 0..<extent { nest(extents.dropFirst(), &writer, element) }
            }
        }
    }
}
