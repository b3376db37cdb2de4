/// Reads the fields of one protocol buffers message in the order of the bytes
/// (https://protobuf.dev/programming-guides/encoding).
///
/// Copies nothing: strings, bytes and messages are slices. Damaged bytes throw a `Problem`.
package struct MessageReader {
    package let bytes: Bytes
    /// The number of messages that hold this one.
    package let depth: Int
    private var position = 0

    /// As deep as protocol buffers' own readers go.
    package static let maximumDepth = 100

    package init(_ bytes: Bytes, depth: Int = 0) {
        self.bytes = bytes
        self.depth = depth
    }

    /// The next field; `nil` at the end of the message.
    package mutating func next() throws(Problem) -> Field? {
        guard position < bytes.count else { return nil }
        let tag = try varint()
        guard tag >> 3 > 0, tag >> 3 < 1 << 29 else { throw Problem("damaged: a field of number \(tag >> 3)") }
        let number = Int(tag >> 3)
        switch tag & 7 {
        case 0: return Field(number: number, content: .varint(try varint()), depth: depth)
        case 1: return Field(number: number, content: .fixed64(try take(8, number)), depth: depth)
        case 2:
            let length = try varint()
            guard length <= UInt64(bytes.count - position) else {
                throw Problem(
                    "damaged or truncated: field \(number) has \(length) bytes, but \(bytes.count - position) are left")
            }
            return Field(number: number, content: .length(try take(Int(length), number)), depth: depth)
        case 5: return Field(number: number, content: .fixed32(try take(4, number)), depth: depth)
        default: throw Problem("damaged: field \(number) has the unknown wire type \(tag & 7)")
        }
    }

    private mutating func take(_ length: Int, _ number: Int) throws(Problem) -> Bytes {
        guard let slice = bytes[position..<position + length] else {
            throw Problem(
                "damaged or truncated: field \(number) has \(length) bytes, but \(bytes.count - position) are left")
        }
        position += length
        return slice
    }

    private mutating func varint() throws(Problem) -> UInt64 {
        guard let (value, length) = bytes.withUnsafeBytes({ decodeVarint($0, at: position) }) else {
            throw Problem("damaged or truncated: a number does not end")
        }
        position += length
        return value
    }
}

/// A base-128 number of up to ten bytes; `nil` where it has no end. Bits above the 64th are dropped, as everywhere.
private func decodeVarint(_ bytes: UnsafeRawBufferPointer, at start: Int) -> (value: UInt64, length: Int)? {
    var value: UInt64 = 0
    for length in 0..<10 {
        guard start + length < bytes.count else { return nil }
        let byte = bytes[start + length]
        value |= UInt64(byte & 0x7F) << UInt64(7 * length)
        if byte & 0x80 == 0 { return (value, length + 1) }
    }
    return nil
}

/// One field of a message. What it holds is asked for by the type that the .proto file declares; another wire type throws.
package struct Field {
    package let number: Int
    let content: Content
    let depth: Int

    enum Content {
        case varint(UInt64)
        case fixed32(Bytes)
        case fixed64(Bytes)
        case length(Bytes)
    }

    /// uint64, uint32.
    package func unsigned() throws(Problem) -> UInt64 {
        guard case .varint(let value) = content else { throw wrongType("a number") }
        return value
    }

    /// int64, int32, enum.
    package func signed() throws(Problem) -> Int { Int(truncatingIfNeeded: try unsigned()) }
    package func bool() throws(Problem) -> Bool { try unsigned() != 0 }

    package func float() throws(Problem) -> Float {
        guard case .fixed32(let bytes) = content, let value = bytes.elements(Float.self).first else {
            throw wrongType("a float")
        }
        return value
    }

    package func double() throws(Problem) -> Double {
        guard case .fixed64(let bytes) = content, let value = bytes.elements(Double.self).first else {
            throw wrongType("a double")
        }
        return value
    }

    package func data() throws(Problem) -> Bytes {
        guard case .length(let bytes) = content else { throw wrongType("bytes") }
        return bytes
    }

    package func string() throws(Problem) -> String { try data().text }

    /// The message in this field, one level deeper.
    package func reader() throws(Problem) -> MessageReader {
        guard depth < MessageReader.maximumDepth else {
            throw Problem("messages are nested deeper than \(MessageReader.maximumDepth) levels")
        }
        return MessageReader(try data(), depth: depth + 1)
    }

    package func message() throws(Problem) -> Message { try Message(reader()) }

    /// The numbers of a repeated int64, int32, uint64, bool or enum field: packed, or one.
    package func integers(limit: Int = 1 << 20) throws(Problem) -> [Int] {
        guard case .length(let bytes) = content else { return [try signed()] }
        var values: [Int] = []
        var position = 0
        while position < bytes.count {
            guard let (value, length) = bytes.withUnsafeBytes({ decodeVarint($0, at: position) }) else {
                throw Problem("damaged: field \(number) ends within a number")
            }
            guard values.count < limit else { throw Problem("field \(number) has more than \(limit) numbers") }
            values.append(Int(truncatingIfNeeded: value))
            position += length
        }
        return values
    }

    /// The memory of a repeated float (`width` 4) or double (`width` 8) field: packed, or one.
    package func packed(width: Int) throws(Problem) -> Bytes {
        switch content {
        case .fixed32(let bytes) where width == 4: return bytes
        case .fixed64(let bytes) where width == 8: return bytes
        case .length(let bytes):
            guard bytes.count % width == 0 else {
                throw Problem("damaged: field \(number) has \(bytes.count) bytes, which is not a multiple of \(width)")
            }
            return bytes
        default: throw wrongType("numbers of \(width) bytes")
        }
    }

    private func wrongType(_ expected: String) -> Problem {
        Problem("damaged: field \(number) should hold \(expected), but has another wire type")
    }
}
