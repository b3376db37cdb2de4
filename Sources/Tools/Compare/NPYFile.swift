internal import InferenceService

/// An array of numbers as NumPy saves it (format 1.0 to 3.0 of numpy.lib.format), read into 32-bit floats.
struct NPYFile {
    let shape: [Int]
    let values: [Float]

    private static let largest = 256 << 20

    /// - Throws: a sentence that does not name the file.
    init(path: String) throws(StartupError) {
        let bytes = try InputFile.read(path, most: Self.largest)
        guard bytes.count >= 12, bytes.prefix(6).elementsEqual([0x93, 0x4E, 0x55, 0x4D, 0x50, 0x59]) else {
            throw StartupError("is not a .npy file: it does not begin with \"\\x93NUMPY\"")
        }
        let isOld = bytes[6] == 1
        let start = isOld ? 10 : 12
        let count =
            isOld
            ? Int(bytes[8]) | Int(bytes[9]) << 8
            : Int(bytes[8]) | Int(bytes[9]) << 8 | Int(bytes[10]) << 16 | Int(bytes[11]) << 24
        guard count <= 65_536, start + count <= bytes.count else { throw StartupError("ends within its header") }
        let header = String(decoding: bytes[start..<start + count], as: UTF8.self)
        guard let type = Self.value(of: "descr", in: header), let order = Self.value(of: "fortran_order", in: header),
            let extents = Self.value(of: "shape", in: header)
        else { throw StartupError("has a header without descr, fortran_order and shape: \(header.prefix(80))") }
        guard order.hasPrefix("False") else {
            throw StartupError("is in Fortran order: save it with numpy.ascontiguousarray")
        }
        var shape: [Int] = []
        for part in extents.drop(while: { $0 != "(" }).dropFirst().prefix(while: { $0 != ")" }).split(separator: ",") {
            let word = part.filter { !$0.isWhitespace }
            if word.isEmpty { continue }
            guard let extent = Int(word), extent >= 0, shape.count < 32 else {
                throw StartupError("has a shape that cannot be read: \(extents.prefix(60))")
            }
            shape.append(extent)
        }
        let name = type.filter { !"'\" ".contains($0) }
        var elements = 1
        for extent in shape {
            let (product, overflow) = elements.multipliedReportingOverflow(by: extent)
            guard !overflow else { throw StartupError("has a shape that is too large") }
            elements = product
        }
        let body = bytes[(start + count)...]
        let sizes = ["<f4": 4, "|u1": 1, "<f8": 8, "<f2": 2, "|i1": 1]
        guard let size = sizes[String(name)] else {
            throw StartupError("holds \"\(name.prefix(20))\": expected <f2, <f4, <f8, |u1 or |i1")
        }
        guard case let (wanted, overflow) = elements.multipliedReportingOverflow(by: size), !overflow,
            body.count >= wanted
        else {
            throw StartupError("has \(body.count) bytes of values, too few for shape \(shape) of \(name)")
        }
        self.shape = shape
        values = body.withUnsafeBytes { raw in
            (0..<elements).map { index in
                switch name {
                case "|u1": Float(raw[index])
                case "|i1": Float(Int8(bitPattern: raw[index]))
                case "<f2": Float(Float16(bitPattern: raw.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)))
                case "<f8": Float(raw.loadUnaligned(fromByteOffset: index * 8, as: Double.self))
                default: raw.loadUnaligned(fromByteOffset: index * 4, as: Float.self)
                }
            }
        }
    }

    /// What follows a key of the header, up to where the next begins.
    private static func value(of key: String, in header: String) -> String? {
        let parts = header.split(separator: "'\(key)':", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let rest = parts[1].drop { $0 == " " }
        return String(rest.prefix(while: { $0 == "(" || $0 != "}" }).prefix(200))
            .split(separator: rest.first == "(" ? ")" : ",", maxSplits: 1).first.map {
                rest.first == "(" ? $0 + ")" : String($0)
            }
    }
}
