internal import FileFormats

/// Reads the fields of one protocol buffers message in their order (https://protobuf.dev/programming-guides/encoding).
///
/// Copies nothing: strings, bytes and messages are slices. Throws a `Problem` for damaged bytes.
package struct MessageReader {
    package let bytes: Bytes
    /// The number of enclosing messages.
    package let depth: Int
    private var position = 0

    /// The maximum depth, that of the official protocol buffers readers.
    package static let maximumDepth = 100

    package init(_ bytes: Bytes, depth: Int = 0) {
        self.bytes = bytes
        self.depth = depth
    }

    /// The next field; `nil` at the end of the message.
    package mutating func next() throws(Problem) -> Field? {
        guard position < bytes.count else { return nil }
        let (offset, position) = (bytes.offset, position)
        let end = offset + bytes.count
        let field: ProtobufField
        do throws(FormatError) {
            field = try bytes.withUnsafeBytes {
                ProtobufField.read(UnsafeRawBufferPointer(rebasing: $0[position...]), at: offset + position, end: end)
            }.get()
        } catch {
            throw Problem(error.reason)
        }
        self.position = field.end - offset
        func slice(_ range: Range<Int>) -> Bytes {
            // The range is within the message: `ProtobufField` has checked it.
            bytes[range.lowerBound - offset..<range.upperBound - offset] ?? .empty
        }
        let content: Field.Content =
            switch field.value {
            case .varint(let value): .varint(value)
            case .fixed32(let range): .fixed32(slice(range))
            case .fixed64(let range): .fixed64(slice(range))
            case .bytes(let range): .length(slice(range))
            }
        return Field(number: field.number, content: content, depth: depth)
    }
}

/// A field of a message. Read the value with the method for the type in the .proto file; other wire types throw.
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

    /// A reader of the message in this field, one level deeper.
    package func reader() throws(Problem) -> MessageReader {
        guard depth < MessageReader.maximumDepth else {
            throw Problem("messages are nested deeper than \(MessageReader.maximumDepth) levels")
        }
        return MessageReader(try data(), depth: depth + 1)
    }

    package func message() throws(Problem) -> Message { try Message(reader()) }

    /// The numbers of a repeated int64, int32, uint64, bool or enum field: packed, or a single one.
    package func integers(limit: Int = 1 << 20) throws(Problem) -> [Int] {
        guard case .length(let bytes) = content else { return [try signed()] }
        var values: [Int] = []
        var position = 0
        while position < bytes.count {
            guard let (value, length) = bytes.withUnsafeBytes({ ProtobufField.varint($0, at: position) }) else {
                throw Problem("damaged: field \(number) ends within a number")
            }
            guard values.count < limit else { throw Problem("field \(number) has more than \(limit) numbers") }
            values.append(Int(truncatingIfNeeded: value))
            position += length
        }
        return values
    }

    /// The bytes of a repeated float (`width` 4) or double (`width` 8) field: packed, or a single one.
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
