/// A set of ASCII bytes as a mask of 128 bits: two registers, without a table in memory or a lazily initialised global
/// in the parser.
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

// Computed, so that each use compiles to two constants. ByteSetTests compares each set with the spelled-out one.
extension ByteSet {
    /// `tchar` of RFC 9110 section 5.6.2: the characters of methods and field names.
    static var token: ByteSet { ByteSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe) }

    /// `pchar`, `/` and `%` of RFC 3986 section 3.3.
    static var path: ByteSet { ByteSet(low: 0x2fff_fff2_0000_0000, high: 0x47ff_fffe_87ff_ffff) }

    /// RFC 3986 section 3.4, and the ASCII characters that browsers do not encode in a query: ``[ ] { } | ^ \ ` ``.
    /// They have no meaning in HTTP's framing, and to refuse them would refuse Chromium.
    static var query: ByteSet { ByteSet(low: 0xafff_fff2_0000_0000, high: 0x7fff_ffff_ffff_ffff) }

    /// `reg-name` of RFC 3986 section 3.2.2, `%` included.
    static var registeredName: ByteSet { ByteSet(low: 0x2bff_7ff2_0000_0000, high: 0x47ff_fffe_87ff_fffe) }

    /// The characters between the brackets of an IP literal (RFC 3986 section 3.2.2), not its full grammar.
    static var addressLiteral: ByteSet { ByteSet(low: 0x07ff_4000_0000_0000, high: 0x07ff_fffe_07ff_fffe) }

    /// `bchars` of RFC 2046 section 5.1.1, including the space.
    static var boundary: ByteSet { ByteSet(low: 0xa7ff_fb81_0000_0000, high: 0x07ff_fffe_87ff_fffe) }
}
