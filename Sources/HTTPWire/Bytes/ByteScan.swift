/// Searches that look at 16 bytes at a time, and never at a byte at or past `to`.
///
/// The last, short step reads 16 (or 8) bytes that END at `to`: it sees again bytes already known to be of no interest,
/// instead of a loop over single ones.
enum ByteScan {
    /// The first byte in `from..<to` that is a control byte (below 0x20, HTAB included, or DEL), or `to`.
    @inline(__always)
    static func firstControl(_ bytes: UnsafeRawBufferPointer, from: Int, to: Int) -> Int {
        first(
            bytes, from: from, to: to, in16: { ($0 .< 0x20) .| ($0 .== 0x7F) }, in8: { ($0 .< 0x20) .| ($0 .== 0x7F) })
    }

    /// The first byte in `from..<to` that is no visible ASCII character (0x21 to 0x7E), or `to`.
    @inline(__always)
    static func firstNotVisible(_ bytes: UnsafeRawBufferPointer, from: Int, to: Int) -> Int {
        first(bytes, from: from, to: to, in16: { ($0 &- 0x21) .> 0x5D }, in8: { ($0 &- 0x21) .> 0x5D })
    }

    /// The first CR in `from..<to`, or `to`.
    @inline(__always)
    static func firstCarriageReturn(_ bytes: UnsafeRawBufferPointer, from: Int, to: Int) -> Int {
        first(bytes, from: from, to: to, in16: { $0 .== 0x0D }, in8: { $0 .== 0x0D })
    }

    @inline(__always)
    private static func first(
        _ bytes: UnsafeRawBufferPointer, from: Int, to: Int,
        in16 wide: (SIMD16<UInt8>) -> SIMDMask<SIMD16<Int8>>, in8 narrow: (SIMD8<UInt8>) -> SIMDMask<SIMD8<Int8>>
    ) -> Int {
        var index = from
        while index &+ 16 <= to {
            if let hit = firstSet(wide(bytes.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self))) {
                return index &+ hit
            }
            index &+= 16
        }
        guard index < to else { return to }
        if to &- from >= 16 {
            let last = to &- 16
            let hit = firstSet(wide(bytes.loadUnaligned(fromByteOffset: last, as: SIMD16<UInt8>.self)))
            return hit.map { last &+ $0 } ?? to
        }
        if index &+ 8 <= to {
            if let hit = firstSet(narrow(bytes.loadUnaligned(fromByteOffset: index, as: SIMD8<UInt8>.self))) {
                return index &+ hit
            }
            index &+= 8
        }
        while index < to {
            let one = SIMD8<UInt8>(repeating: bytes[index])
            if narrow(one)[0] { return index }
            index &+= 1
        }
        return to
    }

    // The standard library has no movemask: the mask's lanes are all ones or all zeros, so the first set lane is found
    // by counting the zero bits below it in each half.
    @inline(__always)
    private static func firstSet(_ mask: SIMDMask<SIMD16<Int8>>) -> Int? {
        let halves = unsafeBitCast(mask, to: SIMD2<UInt64>.self)
        let low = UInt64(littleEndian: halves[0])
        let high = UInt64(littleEndian: halves[1])
        if low | high == 0 { return nil }
        return low != 0 ? low.trailingZeroBitCount &>> 3 : 8 &+ (high.trailingZeroBitCount &>> 3)
    }

    @inline(__always)
    private static func firstSet(_ mask: SIMDMask<SIMD8<Int8>>) -> Int? {
        let word = UInt64(littleEndian: unsafeBitCast(mask, to: UInt64.self))
        return word == 0 ? nil : word.trailingZeroBitCount &>> 3
    }
}
