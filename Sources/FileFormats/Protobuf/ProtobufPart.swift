/// A part of a message that is encoded in one pass, for messages too large to be copied at each level.
package indirect enum ProtobufPart {
    /// Encoded fields.
    case fields([UInt8])
    /// A field with a message made of parts.
    case message(Int, [ProtobufPart])
    /// A repeated float field, packed.
    case floats(Int, ArraySlice<Float>)

    /// The encoded message that consists of these parts.
    package static func bytes(_ parts: [ProtobufPart]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(0) { $0 + $1.size })
        for part in parts { part.append(to: &bytes) }
        return bytes
    }

    /// The number of encoded bytes.
    private var size: Int {
        switch self {
        case .fields(let bytes): bytes.count
        case .message(let number, _), .floats(let number, _):
            ProtobufWriter.head(number, length: length).count + length
        }
    }

    /// The length of a field's content.
    private var length: Int {
        switch self {
        case .fields(let bytes): bytes.count
        case .message(_, let parts): parts.reduce(0) { $0 + $1.size }
        case .floats(_, let numbers): 4 * numbers.count
        }
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .fields(let fields): bytes += fields
        case .message(let number, let parts):
            bytes += ProtobufWriter.head(number, length: length)
            for part in parts { part.append(to: &bytes) }
        case .floats(let number, let numbers): bytes += ProtobufWriter.field(number, floats: numbers)
        }
    }
}
