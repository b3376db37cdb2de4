package import FoundationEssentials

/// The fields of one protocol buffers message, in the order of the bytes: as much of the encoding
/// (protobuf.dev/programming-guides/encoding) as reading names out of a SavedModel takes.
///
/// Bytes that are not a message end the sequence.
package struct ProtobufFields: Sequence, IteratorProtocol {
    private let bytes: Data
    private var position: Int

    package init(_ bytes: Data) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// The next field with a length (a string, bytes, a message); fields of other kinds are passed over.
    package mutating func next() -> (number: UInt64, content: Data)? {
        while let tag = varint() {
            switch tag & 7 {
            case 0: guard varint() != nil else { return nil }
            case 1: guard skip(8) else { return nil }
            case 5: guard skip(4) else { return nil }
            case 2:
                guard let length = varint(), length <= UInt64(bytes.endIndex - position) else { return nil }
                let start = position
                position += Int(length)
                return (tag >> 3, bytes[start..<position])
            default: return nil
            }
        }
        return nil
    }

    private mutating func skip(_ count: Int) -> Bool {
        guard count <= bytes.endIndex - position else { return false }
        position += count
        return true
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard position < bytes.endIndex else { return nil }
            let byte = bytes[position]
            position += 1
            if shift < 64 { value |= UInt64(byte & 0x7F) << shift }
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }
}
