/// Encodes fields of protocol buffers (https://protobuf.dev/programming-guides/encoding). A message is the
/// concatenation of its fields.
package enum ProtobufWriter {
    /// A string, bytes, a message, or packed numbers.
    package static func field(_ number: Int, _ content: [UInt8]) -> [UInt8] {
        head(number, length: content.count) + content
    }

    /// The key and the length before the content of such a field.
    package static func head(_ number: Int, length: Int) -> [UInt8] {
        varint(UInt64(number) << 3 | 2) + varint(UInt64(length))
    }

    package static func field(_ number: Int, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

    /// int64, int32, bool, enum.
    package static func field(_ number: Int, integer value: Int) -> [UInt8] {
        varint(UInt64(number) << 3) + varint(UInt64(bitPattern: Int64(value)))
    }

    package static func field(_ number: Int, float value: Float) -> [UInt8] {
        varint(UInt64(number) << 3 | 5) + bytes([value.bitPattern])
    }

    /// A repeated float field, packed.
    package static func field(_ number: Int, floats: some Collection<Float>) -> [UInt8] {
        field(number, bytes(floats.map(\.bitPattern)))
    }

    /// A repeated double field, packed.
    package static func field(_ number: Int, doubles: [Double]) -> [UInt8] {
        field(number, bytes(doubles.map(\.bitPattern)))
    }

    /// A repeated int64 field, packed.
    package static func field(_ number: Int, integers: [Int]) -> [UInt8] {
        field(number, integers.flatMap { varint(UInt64(bitPattern: Int64($0))) })
    }

    /// The bytes of numbers of fixed length, the least significant byte first.
    private static func bytes<Word: FixedWidthInteger>(_ words: [Word]) -> [UInt8] {
        words.map(\.littleEndian).withUnsafeBytes { Array($0) }
    }

    private static func varint(_ value: UInt64) -> [UInt8] {
        var (rest, bytes): (UInt64, [UInt8]) = (value, [])
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}
