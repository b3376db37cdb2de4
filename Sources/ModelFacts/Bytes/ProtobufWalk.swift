/// Goes through the fields of one protobuf message (encoding.md of the format's documentation), without a schema and without holding what
/// it passes over.
struct ProtobufWalk {
    /// One field: its number, and its value.
    struct Field {
        let number: Int
        let value: Value
    }

    enum Value {
        case varint(UInt64)
        case fixed
        /// The range of the bytes in the source.
        case bytes(Range<Int>)
    }

    /// The end of the message, and the next field's place.
    private let end: Int
    private var position: Int

    init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next field, or nil at the message's end.
    mutating func next(_ source: inout ByteSource) throws(FactError) -> Field? {
        guard position < end else { return nil }
        let start = position
        let key = try varint(&source)
        let number = Int(truncatingIfNeeded: key >> 3 & 0x1FFF_FFFF)
        guard number > 0 else { throw FactError("has a field without a number at byte \(start)") }
        switch key & 7 {
        case 0: return Field(number: number, value: .varint(try varint(&source)))
        case 1: try skip(8, start)
        case 5: try skip(4, start)
        case 2:
            let length = try varint(&source)
            guard length <= UInt64(end - position) else {
                throw FactError("has a field of \(length) bytes at byte \(start), where \(end - position) are left")
            }
            let from = position
            position += Int(length)
            return Field(number: number, value: .bytes(from..<position))
        default: throw FactError("has a field of an unknown kind at byte \(start)")
        }
        return Field(number: number, value: .fixed)
    }

    private mutating func skip(_ count: Int, _ start: Int) throws(FactError) {
        guard count <= end - position else { throw FactError("ends within a field at byte \(start)") }
        position += count
    }

    private mutating func varint(_ source: inout ByteSource) throws(FactError) -> UInt64 {
        let start = position
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            guard position < end, shift < 70 else { throw FactError("has an unterminated number at byte \(start)") }
            let byte = try source.integer(UInt8.self, at: position)
            position += 1
            if shift < 64 { value |= UInt64(byte & 0x7F) << shift }
            if byte < 0x80 { return value }
            shift += 7
        }
    }
}
