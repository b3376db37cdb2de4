/// A number as written: mantissa times ten to the exponent, and the range of its text for numbers that do not fit that
/// form.
package struct JSONNumber {
    /// The first 19 significant digits. If there are more, it is at least 10^18.
    package var mantissa: UInt64 = 0
    package var exponent = 0
    package var isNegative = false
    /// True if it is written without a decimal point and an exponent.
    package var isInteger = true
    /// The offset of its first byte, and its length.
    package var start = 0, length = 0

    @inlinable
    package init() {}

    /// The nearest 64-bit float; nil if that is infinite.
    @inlinable
    package func double(in text: UnsafeRawBufferPointer) -> Double? {
        // Both numbers are exact, so the single rounding is correct (W. D. Clinger, 1990).
        if mantissa <= 1 << 53, -22...22 ~= exponent {
            let magnitude = scaled
            return isNegative ? -magnitude : magnitude
        }
        let value = Double(digits(in: text)) ?? .nan
        return value.isFinite ? value : nil
    }

    /// The nearest 32-bit float; nil if that is infinite.
    @inlinable @inline(__always)
    package func float(in text: UnsafeRawBufferPointer) -> Float? {
        if -22...22 ~= exponent {
            // Correct to two units in the last place of a 64-bit float. That determines the 32-bit float, unless it is
            // that close to the midpoint between two of them, or outside their normal range.
            let magnitude = scaled
            let middle = (magnitude.bitPattern & 0x1FFF_FFFF) &- (0x1000_0000 &- 4)
            if middle > 8, magnitude >= 0x1p-126, magnitude < 0x1.fffffep127 {
                return Float(isNegative ? -magnitude : magnitude)
            }
            if mantissa == 0 { return isNegative ? -0.0 : 0 }
        }
        let value = Float(digits(in: text)) ?? .nan
        return value.isFinite ? value : nil
    }

    /// The number as an integer; nil if it is not an integer, or out of the type's range.
    @inlinable
    package func integer<T: FixedWidthInteger>(_: T.Type, in text: UnsafeRawBufferPointer) -> T? {
        if isInteger, exponent == 0 {
            if !isNegative { return T(exactly: mantissa) }
            guard mantissa <= UInt64(Int64.max) + 1 else { return nil }
            return T(exactly: Int64(truncatingIfNeeded: 0 &- mantissa))
        }
        // A number of twenty digits may still fit in 64 bits.
        if isInteger { return T(digits(in: text)) }
        // 1.0 and 1e3 are integers, too.
        return double(in: text).flatMap { T(exactly: $0) }
    }

    @inlinable @inline(__always)
    var scaled: Double {
        Self.powers.withUnsafeBufferPointer { powers in
            exponent < 0 ? Double(mantissa) / powers[-exponent] : Double(mantissa) * powers[exponent]
        }
    }

    @usableFromInline
    func digits(in text: UnsafeRawBufferPointer) -> String {
        String(decoding: text[start..<start + length], as: UTF8.self)
    }

    /// The powers of ten that a 64-bit float represents exactly.
    @usableFromInline
    static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
}
