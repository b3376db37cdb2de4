/// A field of a protocol buffers message (https://protobuf.dev/programming-guides/encoding): its number, and its value
/// or the range of it. All readers of messages use this grammar, in memory or in pieces.
package struct ProtobufField: Sendable, Hashable {
    package enum Value: Sendable, Hashable {
        case varint(UInt64)
        /// The ranges of 4 and 8 bytes.
        case fixed32(Range<Int>), fixed64(Range<Int>)
        /// The range of a string, of bytes, of a message, or of packed numbers.
        case bytes(Range<Int>)
    }

    package let number: Int
    package let value: Value
    /// The offset of the next field.
    package let end: Int

    /// The maximum size of a key and the number after it, in bytes.
    package static let maximumHeadBytes = 20

    /// Reads the field at an offset.
    /// - Parameters:
    ///   - head: the bytes from `place` on: `maximumHeadBytes` of them, or fewer at the end of the message.
    ///   - place: the offset of the field. Offsets in the result have the same origin.
    ///   - end: the end of the message.
    package static func read(
        _ head: UnsafeRawBufferPointer, at place: Int, end: Int
    ) -> Result<ProtobufField, FormatError> {
        func damaged(_ what: String) -> Result<ProtobufField, FormatError> {
            .failure(FormatError("is damaged or cut off: \(what)"))
        }
        guard let (key, keyLength) = varint(head, at: 0) else {
            return damaged("the number at byte \(place) does not end")
        }
        guard key >> 3 > 0, key >> 3 < 1 << 29 else {
            return damaged("the field at byte \(place) has the number \(key >> 3)")
        }
        let number = Int(key >> 3), start = place + keyLength
        func field(_ value: Value, _ end: Int) -> Result<ProtobufField, FormatError> {
            .success(ProtobufField(number: number, value: value, end: end))
        }
        func cutOff(_ length: UInt64, _ left: Int) -> Result<ProtobufField, FormatError> {
            damaged("field \(number) at byte \(place) has \(length) bytes, but \(left) are left")
        }
        switch key & 7 {
        case 0:
            guard let (value, length) = varint(head, at: keyLength) else {
                return damaged("the number at byte \(start) does not end")
            }
            return field(.varint(value), start + length)
        case 1:
            guard end - start >= 8 else { return cutOff(8, end - start) }
            return field(.fixed64(start..<start + 8), start + 8)
        case 5:
            guard end - start >= 4 else { return cutOff(4, end - start) }
            return field(.fixed32(start..<start + 4), start + 4)
        case 2:
            guard let (length, width) = varint(head, at: keyLength) else {
                return damaged("the number at byte \(start) does not end")
            }
            let content = start + width
            guard length <= UInt64(end - content) else { return cutOff(length, end - content) }
            return field(.bytes(content..<content + Int(length)), content + Int(length))
        default: return damaged("field \(number) at byte \(place) has the unknown wire type \(key & 7)")
        }
    }

    /// Reads a varint of up to ten bytes; `nil` if it is not terminated. Bits above the 64th are dropped, as by all
    /// protobuf readers.
    package static func varint(_ bytes: UnsafeRawBufferPointer, at start: Int) -> (value: UInt64, length: Int)? {
        var value: UInt64 = 0
        for length in 0..<10 {
            guard start + length < bytes.count else { return nil }
            let byte = bytes[start + length]
            value |= UInt64(byte & 0x7F) << UInt64(7 * length)
            if byte & 0x80 == 0 { return (value, length + 1) }
        }
        return nil
    }
}
