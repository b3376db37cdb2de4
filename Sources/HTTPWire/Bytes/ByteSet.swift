/// A set of ASCII bytes, as a mask of 128 bits: two registers, no table in memory and no lazily initialised global on
/// the parser's way.
struct ByteSet: Sendable {
    /// Bit n: the byte n is a member.
    let low: UInt64
    /// Bit n: the byte 64 + n is a member.
    let high: UInt64

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte < 64 ? low : high
        return byte < 128 && (word &>> UInt64(byte & 63)) & 1 != 0
    }
}

// Computed, so that each use is two constants. ByteSetTests spells every set out and compares.
extension ByteSet {
    /// `tchar` of RFC 9110 section 5.6.2: what methods and field names are made of.
    static var token: ByteSet { ByteSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe) }

    /// `pchar`, `/` and `%` of RFC 3986 section 3.3.
    static var path: ByteSet { ByteSet(low: 0x2fff_fff2_0000_0000, high: 0x47ff_fffe_87ff_ffff) }

    /// RFC 3986 section 3.4, and the ASCII bytes that browsers leave as they are in a query: ``[ ] { } | ^ \ ` ``.
    /// None of them has a meaning in HTTP's framing, and refusing them would refuse Chromium.
    static var query: ByteSet { ByteSet(low: 0xafff_fff2_0000_0000, high: 0x7fff_ffff_ffff_ffff) }

    /// `reg-name` of RFC 3986 section 3.2.2, `%` included.
    static var registeredName: ByteSet { ByteSet(low: 0x2bff_7ff2_0000_0000, high: 0x47ff_fffe_87ff_fffe) }

    /// The bytes between the brackets of an IP literal (RFC 3986 section 3.2.2), short of its full grammar.
    static var addressLiteral: ByteSet { ByteSet(low: 0x07ff_4000_0000_0000, high: 0x07ff_fffe_07ff_fffe) }

    /// `bchars` of RFC 2046 section 5.1.1, the space included.
    static var boundary: ByteSet { ByteSet(low: 0xa7ff_fb81_0000_0000, high: 0x07ff_fffe_87ff_fffe) }
}
