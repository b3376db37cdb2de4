/// A value in a file, or a reference to one (MIL.proto: Value).
package struct MILValue: Sendable {
    package var type: MILType
    package var content: Content

    package enum Content: Sendable {
        /// The bytes of the elements, little-endian. Booleans and integers below a byte take a byte each.
        case elements(Bytes)
        case strings([String])
        /// The elements of a list, one tensor each.
        case list([MILValue])
        /// A record of a weight file. `name` is the reference, as in `@model_path/weights/weight.bin`.
        case file(name: String, offset: UInt64)
        /// Tuples and dictionaries, which no supported operation accepts.
        case other
    }

    private static let maximumDepth = 8

    init(_ message: Message, depth: Int = 0) throws(Problem) {
        guard depth < Self.maximumDepth else {
            throw Problem("values are nested deeper than \(Self.maximumDepth) levels")
        }
        type = try MILType(message.message(2) ?? .empty)
        content = .other
        if let file = try message.message(5) {
            content = .file(name: try file.string(1), offset: try file.last(2)?.unsigned() ?? 0)
        } else if let immediate = try message.message(3) {
            if let tensor = try immediate.message(1) {
                content = try Self.elements(of: tensor, type.tensor?.element)
            } else if let list = immediate.last(3) {
                var reader = try list.reader()
                var values: [MILValue] = []
                while let field = try reader.next() {
                    if field.number == 1 { values.append(try MILValue(field.message(), depth: depth + 1)) }
                }
                content = .list(values)
            }
        }
    }

    /// The content of a TensorValue (MIL.proto). Small integers and 16-bit floats are stored as bytes, in the width of
    /// their type.
    private static func elements(of tensor: Message, _ type: MILDataType?) throws(Problem) -> Content {
        // Above the default limit: a tensor may have as many numbers as the file has bytes.
        let limit = 1 << 28
        for field in tensor.fields {
            guard (1...7).contains(field.number) else { continue }
            let values = try field.message()
            switch field.number {
            case 1: return .elements(try values.packed(1, width: 4))
            case 4: return .strings(try values.strings(1))
            case 6: return .elements(try values.packed(1, width: 8))
            case 7: return .elements(try values.data(1) ?? .empty)
            default:
                var integers: [Int] = []
                for field in values.all(1) { integers += try field.integers(limit: limit) }
                if field.number == 3 { return .elements(Bytes(of: integers.map { $0 != 0 ? 1 : 0 as UInt8 })) }
                switch type {
                case .int16, .uint16: return .elements(Bytes(of: integers.map { UInt16(truncatingIfNeeded: $0) }))
                case .int64, .uint64: return .elements(Bytes(of: integers.map { Int64($0) }))
                case .int8, .uint8, .int4, .uint4, .uint2, .uint1, .uint6, .uint3:
                    return .elements(Bytes(of: integers.map { UInt8(truncatingIfNeeded: $0) }))
                default: return .elements(Bytes(of: integers.map { Int32(truncatingIfNeeded: $0) }))
                }
            }
        }
        // The tensor is empty.
        return type == .string ? .strings([]) : .elements(.empty)
    }
}
