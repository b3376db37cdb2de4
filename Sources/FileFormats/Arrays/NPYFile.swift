/// An array of numbers in NumPy's format (1.0 to 3.0 of numpy.lib.format), in row-major order.
package struct NPYFile: Sendable {
    package let shape: [Int]
    package let type: NumberType
    /// The range of the numbers in the file; its size matches the shape.
    package let data: Range<Int>

    private static let types: [String: NumberType] = [
        "<f4": .float32, "<f8": .float64, "<f2": .float16, "|u1": .uint8, "|i1": .int8,
    ]
    private static let longestHeader = 65_536, maximumAxes = 32

    package init(_ bytes: [UInt8]) throws(FormatError) {
        guard bytes.starts(with: [0x93, 0x4E, 0x55, 0x4D, 0x50, 0x59]), bytes.count >= 12 else {
            throw FormatError("is not an NPY file: it does not begin with \"\\x93NUMPY\"")
        }
        let long = bytes[6] >= 2
        let length =
            long
            ? Int(bytes[8]) | Int(bytes[9]) << 8 | Int(bytes[10]) << 16 | Int(bytes[11]) << 24
            : Int(bytes[8]) | Int(bytes[9]) << 8
        let start = long ? 12 : 10
        guard length <= Self.longestHeader, start + length <= bytes.count else {
            throw FormatError("ends inside its header")
        }
        let header = String(decoding: bytes[start..<start + length], as: UTF8.self)
        guard let name = Self.value(of: "descr", in: header), let order = Self.value(of: "fortran_order", in: header),
            let extents = Self.value(of: "shape", in: header)
        else { throw FormatError("has a header without descr, fortran_order and shape: \(header.prefix(80))") }
        guard order.hasPrefix("False") else {
            throw FormatError("is in Fortran order: save it with numpy.ascontiguousarray")
        }
        let word = String(name.filter { !"'\" ".contains($0) })
        guard let type = Self.types[word] else {
            throw FormatError("contains \"\(word.prefix(20))\": expected <f2, <f4, <f8, |u1 or |i1")
        }
        let texts = extents.filter { !"() ".contains($0) }.split(separator: ",")
        let shape = texts.compactMap { Int($0) }
        guard shape.count == texts.count, shape.count <= Self.maximumAxes else {
            throw FormatError("has an invalid shape: \(extents.prefix(60))")
        }
        var count = 1
        for extent in shape {
            let (product, overflow) = count.multipliedReportingOverflow(by: extent)
            guard extent > 0, !overflow else { throw FormatError("has an invalid shape: \(extents.prefix(60))") }
            count = product
        }
        let data = bytes.count - start - length
        guard data % type.byteCount == 0, data / type.byteCount == count else {
            throw FormatError("has \(data) bytes of data, which does not match its shape \(shape) of \(word)")
        }
        self.shape = shape
        self.type = type
        self.data = start + length..<bytes.count
    }

    /// The text after a key of the header, up to the next key.
    private static func value(of key: String, in header: String) -> String? {
        let parts = header.split(separator: "'\(key)':", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let rest = parts[1].drop { $0 == " " }.prefix(200)
        let end: Character = rest.first == "(" ? ")" : ","
        return rest.firstIndex(of: end).map { String(rest[..<$0]) }
    }
}
