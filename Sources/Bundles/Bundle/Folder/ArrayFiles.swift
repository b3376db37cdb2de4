internal import EngineAPI
package import FileFormats

extension NPYFile {
    /// The array's elements as 32-bit floats. `bytes` is the file.
    package func floats(in bytes: [UInt8]) -> [Float] { ElementType(type).floats(bytes, data) }
}

extension SafeTensorsFile {
    /// A matrix with one vector for each class.
    package struct Matrix {
        package let rows: Int, columns: Int
        package let values: [Float]
        /// The labels in the file: `labels` of its metadata, one on each line.
        package let labels: [String]?
        /// The scale in the file: `scale` of its metadata.
        package let scale: Double?
    }

    /// The only matrix of a file, or the one called `classes` if it has several. `bytes` is the file.
    package func classVectors(in bytes: [UInt8]) throws(FormatError) -> Matrix {
        let name = names.count == 1 ? names[0] : "classes"
        guard let tensor = try tensor(name) else {
            throw FormatError("has \(names.count) tensors, none of them called \"classes\"")
        }
        guard tensor.shape.count == 2, (1...1_000_000).contains(tensor.shape[0]), (1...65_536).contains(tensor.shape[1])
        else { throw FormatError("has no shape of [classes, dimension] in \"\(name)\"") }
        guard let type = tensor.type else {
            throw FormatError("does not contain F32, F16, BF16 or F64 in \"\(name)\"")
        }
        let (rows, columns) = (tensor.shape[0], tensor.shape[1])
        guard tensor.data.count == rows * columns * type.byteCount else {
            throw FormatError(
                "has \(tensor.data.count) bytes in \"\(name)\": expected \(rows * columns * type.byteCount)")
        }
        var labels = metadata["labels"]?.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
            .map(String.init)
        while labels?.last == "" { labels?.removeLast() }
        return Matrix(
            rows: rows, columns: columns, values: ElementType(type).floats(bytes, tensor.data), labels: labels,
            scale: metadata["scale"].flatMap { Double($0) })
    }
}

extension ElementType {
    init(_ type: NumberType) {
        switch type {
        case .float16: self = .float16
        case .bfloat16: self = .bfloat16
        case .float32: self = .float32
        case .float64: self = .float64
        case .uint8: self = .uint8
        case .int8: self = .int8
        }
    }

    /// The elements in a range of a file, as 32-bit floats.
    fileprivate func floats(_ bytes: [UInt8], _ place: Range<Int>) -> [Float] {
        var values: [Float] = []
        values.reserveCapacity(place.count / Swift.max(1, byteCount))
        bytes.withUnsafeBytes { raw in
            guard place.upperBound <= raw.count else { return }
            ElementConversion.read(UnsafeRawBufferPointer(rebasing: raw[place]), as: self) { values.append(Float($1)) }
        }
        return values
    }
}
