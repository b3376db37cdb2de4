internal import FoundationEssentials
internal import JSON

/// Reads files in the safetensors format: 8 bytes with the header's length, a header in JSON, the tensors' bytes.
package enum SafeTensors {
    /// The vectors of classes.
    package struct Matrix {
        package let rows: Int, columns: Int
        package let values: [Float]
        /// The file's own labels: `labels` of its metadata, one a line.
        package let labels: [String]?
        /// The file's own scale: `scale` of its metadata.
        package let scale: Double?
    }

    /// The largest header.
    static let largestHeader = 16 << 20

    /// The one matrix of a file, or the one called `classes` where there are several.
    package static func classVectors(_ bytes: [UInt8]) -> Result<Matrix, BundleFile.Problem> {
        func problem(_ reason: String) -> Result<Matrix, BundleFile.Problem> { .failure(.init(reason: reason)) }
        guard bytes.count >= 8 else { return problem("is not a safetensors file: it has \(bytes.count) bytes") }
        let length = (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[$1]) << (8 * UInt64($1)) }
        guard length <= UInt64(largestHeader), let header = Int(exactly: length), header <= bytes.count - 8 else {
            return problem("is not a safetensors file: its header would have \(length) bytes")
        }
        guard case .object(let members)? = try? JSONValue.parse(Data(bytes[8..<8 + header])) else {
            return problem("has a header that is not a JSON object")
        }
        let tensors = members.filter { $0.key != "__metadata__" }
        guard let name = tensors.count == 1 ? tensors.keys.first : "classes", case .object(let entry)? = tensors[name]
        else { return problem("has \(tensors.count) tensors, none of them called \"classes\"") }
        guard case .array(let extents)? = entry["shape"], extents.count == 2,
            case .integer(let rows) = extents[0], case .integer(let columns) = extents[1],
            (1...1_000_000).contains(rows), (1...65_536).contains(columns)
        else { return problem("has no shape of [classes, dimension] in \"\(name)\"") }
        guard case .array(let offsets)? = entry["data_offsets"], offsets.count == 2,
            case .integer(let start) = offsets[0], case .integer(let end) = offsets[1], start >= 0, start <= end,
            end <= bytes.count - 8 - header
        else { return problem("has \"data_offsets\" of \"\(name)\" outside of the file") }
        let type: ElementType
        switch entry["dtype"] {
        case .string("F32")?: type = .float32
        case .string("F16")?: type = .float16
        case .string("BF16")?: type = .bfloat16
        case .string("F64")?: type = .float64
        default: return problem("does not contain F32, F16, BF16 or F64 in \"\(name)\"")
        }
        guard end - start == rows * columns * type.byteCount else {
            return problem("has \(end - start) bytes in \"\(name)\": expected \(rows * columns * type.byteCount)")
        }
        var values: [Float] = []
        values.reserveCapacity(rows * columns)
        bytes.withUnsafeBytes { raw in
            let data = UnsafeRawBufferPointer(rebasing: raw[(8 + header + start)..<(8 + header + end)])
            ElementConversion.read(data, as: type) { _, value in values.append(Float(value)) }
        }
        var labels: [String]?, scale: Double?
        if case .object(let metadata)? = members["__metadata__"] {
            if case .string(let text)? = metadata["labels"] {
                labels = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }.map(String.init)
                while labels?.last == "" { labels?.removeLast() }
            }
            if case .string(let text)? = metadata["scale"] { scale = Double(text) }
        }
        return .success(Matrix(rows: rows, columns: columns, values: values, labels: labels, scale: scale))
    }
}
