/// Searches that read 8 bytes at a time, in blocks of 32, but never a byte at or after `to`.
///
/// Uses 64-bit words, not `SIMD16`: Swift 6.3 compiles comparisons of its vectors lane by lane, 40 times slower.
///
/// Each test returns a word in which bit 7 of a byte is set if that byte matches. Bytes above a match may be set
/// wrongly (borrows and carries propagate upwards), but the lowest set byte is always correct, and it is the first one
/// in memory.
enum ByteScan {
    /// The first byte in `from..<to` that is a control byte (below 0x20, HTAB included, or DEL), or `to`.
    @inline(__always)
    static func firstControl(_ bytes: UnsafeRawBufferPointer, from: Int, to: Int) -> Int {
        first(bytes, from: from, to: to) { below(0x20, $0) | equal(0x7F, $0) }
    }

    /// The first byte in `from..<to` that is not a visible ASCII character (0x21 to 0x7E), or `to`.
    @inline(__always)
    static func firstNotVisible(_ bytes: UnsafeRawBufferPointer, from: Int, to: Int) -> Int {
        // Adding 1 sets bit 7 for 0x7F; bytes from 0x80 on have it set already.
        first(bytes, from: from, to: to) { below(0x21, $0) | (($0 &+ ones | $0) & tops) }
    }

    /// The first CR in `from..<to`, or `to`.
    @inline(__always)
    static func firstCarriageReturn(_ bytes: UnsafeRawBufferPointer, from: Int, to: Int) -> Int {
        first(bytes, from: from, to: to) { equal(0x0D, $0) }
    }

    /// The first byte in `from..<to` that is neither a letter nor a hyphen (the characters of most field names), or
    /// `to`.
    @inline(__always)
    static func firstNotNameLetter(_ bytes: UnsafeRawBufferPointer, from: Int, to: Int) -> Int {
        first(bytes, from: from, to: to) { word in
            // Sums of seven bits do not carry into the next byte.
            let low = word & ~tops
            let folded = low | ones &* 0x20
            let letters = (folded &+ ones &* 0x1F) & ~(folded &+ ones &* 0x05)
            let hyphens = ~((low ^ ones &* 0x2D) &+ ones &* 0x7F)
            return (~(letters | hyphens) | word) & tops
        }
    }

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var tops: UInt64 { 0x8080_8080_8080_8080 }

    @inline(__always)
    private static func below(_ bound: UInt64, _ word: UInt64) -> UInt64 { (word &- ones &* bound) & ~word & tops }

    @inline(__always)
    private static func equal(_ byte: UInt64, _ word: UInt64) -> UInt64 {
        let difference = word ^ (ones &* byte)
        return (difference &- ones) & ~difference & tops
    }

    @inline(__always)
    private static func first(
        _ bytes: UnsafeRawBufferPointer, from: Int, to: Int, hits: (UInt64) -> UInt64
    ) -> Int {
        guard from < to, let base = bytes.baseAddress else { return to }
        @inline(__always) func hitTime(_ index: Int) -> UInt64 {
            hits(UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
        }
        var index = from
        // Names and most values end within two words.
        while index &+ 8 <= to && index < from &+ 16 {
            let found = hitTime(index)
            if found != 0 { return index &+ found.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
        while index &+ 32 <= to {
            if hitTime(index) | hitTime(index &+ 8) | hitTime(index &+ 16) | hitTime(index &+ 24) != 0 { break }
            index &+= 32
        }
        while index &+ 8 <= to {
            let found = hitTime(index)
            if found != 0 { return index &+ found.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
        // The last, short step reads the 8 bytes that end at `to`, and so repeats bytes that did not match.
        if to &- from >= 8 {
            let found = index < to ? hitTime(to &- 8) : 0
            return found == 0 ? to : to &- 8 &+ found.trailingZeroBitCount &>> 3
        }
        while index < to && hits(UInt64(bytes[index]) &* ones) == 0 { index &+= 1 }
        return index
    }
}
