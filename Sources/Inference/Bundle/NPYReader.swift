/// Reads NumPy's files (NEP 1) of 32-bit and 64-bit floats, rows first.
enum NPYReader {
    struct Floats {
        let shape: [Int]
        let values: [Float]
    }

    /// The array, or what is wrong with the file.
    static func floats(_ bytes: [UInt8]) -> Result<Floats, BundleFile.Problem> {
        func problem(_ reason: String) -> Result<Floats, BundleFile.Problem> { .failure(.init(reason: reason)) }
        guard bytes.starts(with: [0x93, 0x4E, 0x55, 0x4D, 0x50, 0x59]), bytes.count >= 12 else {
            return problem("is not an NPY file")
        }
        let long = bytes[6] >= 2
        let length =
            long
            ? Int(bytes[8]) | Int(bytes[9]) << 8 | Int(bytes[10]) << 16 | Int(bytes[11]) << 24
            : Int(bytes[8]) | Int(bytes[9]) << 8
        let start = long ? 12 : 10
        guard length <= 65_536, start + length <= bytes.count else { return problem("ends inside its header") }
        let header = String(decoding: bytes[start..<start + length], as: UTF8.self)
        guard header.contains("'fortran_order': False") else { return problem("is not in C order") }
        let size: Int
        if header.contains("'<f4'") {
            size = 4
        } else if header.contains("'<f8'") {
            size = 8
        } else {
            return problem("does not hold little-endian 32-bit or 64-bit floats")
        }
        guard let open = header.firstIndex(of: "("), let close = header[open...].firstIndex(of: ")") else {
            return problem("has no shape")
        }
        let texts = header[header.index(after: open)..<close].split(separator: ",").map { $0.filter { $0 != " " } }
        let shape = texts.compactMap { Int($0) }
        var count = 1
        for extent in shape {
            let (product, overflow) = count.multipliedReportingOverflow(by: extent)
            guard extent > 0, !overflow else { return problem("has an invalid shape") }
            count = product
        }
        let data = bytes.count - start - length
        guard shape.count == texts.count, data % size == 0, data / size == count else {
            return problem("has \(data) bytes of data, which does not match its shape")
        }
        return .success(
            bytes.withUnsafeBytes { raw in
                Floats(
                    shape: shape,
                    values: (0..<count).map { index in
                        let place = start + length + index * size
                        return size == 4
                            ? raw.loadUnaligned(fromByteOffset: place, as: Float.self)
                            : Float(raw.loadUnaligned(fromByteOffset: place, as: Double.self))
                    })
            })
    }
}
