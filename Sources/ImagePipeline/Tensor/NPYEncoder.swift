/// Writes NumPy's file format (NEP 1, version 1.0), which `numpy.load` reads.
public enum NPYEncoder {
    /// Encodes a tensor.
    ///
    /// - Parameters:
    ///   - tensor: elements in row-major order, in this processor's byte order; their number matches the shape.
    ///   - shape: the axes, slowest first; each at least 0.
    ///   - element: the type of the elements.
    /// - Returns: a complete file.
    public static func encode(
        _ tensor: UnsafeRawBufferPointer, shape: [Int], element: PixelElement
    ) throws(ImageError) -> [UInt8] {
        var expected = element.byteCount
        for side in shape {
            let (product, overflow) = expected.multipliedReportingOverflow(by: side)
            guard !overflow, side >= 0 else { throw .invalidSpec("a tensor of shape \(shape)") }
            expected = product
        }
        guard tensor.count == expected else { throw .wrongSize(expected: expected, got: tensor.count) }
        let type =
            switch element {
            case .uint8: "|u1"
            case .int8: "|i1"
            case .int32: "<i4"
            case .float16: "<f2"
            case .float32: "<f4"
            }
        let axes = shape.map { "\($0)," }.joined(separator: " ")
        var header = "{'descr': '\(type)', 'fortran_order': False, 'shape': (\(axes)), }"
        // Magic, version and length take 10 bytes; with the header they are a multiple of 64 bytes and end with a line
        // feed.
        let padding = 63 - (10 + header.utf8.count) % 64
        header += String(repeating: " ", count: padding) + "\n"
        var file: [UInt8] = [0x93] + Array("NUMPY".utf8) + [1, 0]
        file.reserveCapacity(10 + header.utf8.count + tensor.count)
        file.append(UInt8(truncatingIfNeeded: header.utf8.count))
        file.append(UInt8(truncatingIfNeeded: header.utf8.count >> 8))
        file += Array(header.utf8)
        file += tensor
        return file
    }
}
