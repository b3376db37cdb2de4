internal import JSON

/// A file in the safetensors format: 8 bytes with the length of the header, a header in JSON, the bytes of the tensors.
package struct SafeTensorsFile: Sendable {
    package struct Tensor: Sendable {
        package let shape: [Int]
        /// The name of the type in the file, such as `F32`.
        package let typeName: String
        /// The range of its bytes in the file.
        package let data: Range<Int>

        /// The type of its numbers; nil if it is not supported.
        package var type: NumberType? {
            switch typeName {
            case "F16": .float16
            case "BF16": .bfloat16
            case "F32": .float32
            case "F64": .float64
            default: nil
            }
        }
    }

    /// The descriptions of the tensors by name, not validated yet.
    private let entries: [String: JSONValue]
    /// The text metadata of the file.
    package let metadata: [String: String]
    /// The offset of the first tensor's bytes, and the size of the file.
    private let start: Int, end: Int

    /// The maximum size of the header in bytes.
    package static let largestHeader = 16 << 20

    package init(_ bytes: [UInt8]) throws(FormatError) {
        guard bytes.count >= 8 else { throw FormatError("is not a safetensors file: it has \(bytes.count) bytes") }
        let length = (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[$1]) << (8 * UInt64($1)) }
        guard length <= UInt64(Self.largestHeader), let header = Int(exactly: length), header <= bytes.count - 8 else {
            throw FormatError("is not a safetensors file: its header would have \(length) bytes")
        }
        guard case .object(var members)? = try? JSONFile.read(Array(bytes[8..<8 + header])) else {
            throw FormatError("has a header that is not a JSON object")
        }
        var metadata: [String: String] = [:]
        if case .object(let texts)? = members.removeValue(forKey: "__metadata__") {
            for case (let name, .string(let text)) in texts { metadata[name] = text }
        }
        self.metadata = metadata
        entries = members
        start = 8 + header
        end = bytes.count
    }

    package var names: [String] { entries.keys.sorted() }

    /// A tensor; nil if there is no tensor with this name.
    /// - Throws: if its description is invalid, or its bytes are not within the file.
    package func tensor(_ name: String) throws(FormatError) -> Tensor? {
        guard case .object(let entry)? = entries[name] else { return nil }
        let shape = Self.numbers(entry["shape"])
        guard case .string(let type)? = entry["dtype"] else { throw FormatError("has no dtype in \"\(name)\"") }
        guard let offsets = Self.numbers(entry["data_offsets"]), offsets.count == 2, offsets[0] >= 0,
            offsets[0] <= offsets[1], offsets[1] <= end - start
        else {
            throw FormatError("has \"data_offsets\" of \"\(name)\" outside of the file")
        }
        return Tensor(shape: shape ?? [], typeName: type, data: start + offsets[0]..<start + offsets[1])
    }

    private static func numbers(_ value: JSONValue?) -> [Int]? {
        guard case .array(let elements)? = value else { return nil }
        let numbers = elements.compactMap { if case .integer(let number) = $0 { number } else { nil } }
        return numbers.count == elements.count ? numbers : nil
    }
}
