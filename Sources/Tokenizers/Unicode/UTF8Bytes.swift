/// The UTF-8 bytes of a character, without an allocation.
struct UTF8Bytes: Sequence, IteratorProtocol {
    /// The bytes that are left, the next one lowest, and their number.
    private var bits: UInt32
    private var left: Int

    @inline(__always)
    init(_ character: Unicode.Scalar) {
        let value = character.value
        func tail(_ shift: UInt32) -> UInt32 { 0x80 | value >> shift & 0x3F }
        switch value {
        case 0..<0x80: (bits, left) = (value, 1)
        case 0..<0x800: (bits, left) = (0xC0 | value >> 6 | tail(0) << 8, 2)
        case 0..<0x10000: (bits, left) = (0xE0 | value >> 12 | tail(6) << 8 | tail(0) << 16, 3)
        default: (bits, left) = (0xF0 | value >> 18 | tail(12) << 8 | tail(6) << 16 | tail(0) << 24, 4)
        }
    }

    @inline(__always)
    mutating func next() -> UInt8? {
        guard left > 0 else { return nil }
        left -= 1
        defer { bits >>= 8 }
        return UInt8(truncatingIfNeeded: bits)
    }
}

extension [UInt8] {
    /// Appends a character as UTF-8.
    @inline(__always)
    mutating func append(_ character: Unicode.Scalar) {
        if character.value < 0x80 {
            append(UInt8(truncatingIfNeeded: character.value))
        } else {
            append(contentsOf: UTF8Bytes(character))
        }
    }
}
