/// The share of pictures for which the set of labels must hold the right one, above 0 and below 1.
///
/// A decimal number, because ranks are counts: in binary numbers 0.07 × 100 is more than 7.
package struct Coverage: Sendable, Hashable {
    /// The share is `numerator` divided by `denominator`, a power of ten.
    private let numerator: UInt64, denominator: UInt64

    /// The values that ``init(_:)-(String)`` takes, in words.
    package static let expected = "a decimal number above 0 and below 1, of at most \(maximumDecimals) decimals"

    /// 10^18 fits in 64 bits.
    private static let maximumDecimals = 18

    /// Reads a decimal number: `0.9`, `.95`, `9e-1`. Nil for other text, for 0 and 1, and for more than 18 decimals
    /// after zeros at the end are left out.
    package init?(_ text: String) {
        guard let number = Decimal(text), number.digits.contains(where: { $0 > 0 }) else { return nil }
        var digits = number.digits, decimals = number.decimals
        while digits.last == 0 {
            digits.removeLast()
            decimals -= 1
        }
        guard (1...Self.maximumDecimals).contains(decimals) else { return nil }
        var numerator: UInt64 = 0, denominator: UInt64 = 1
        for _ in 0..<decimals { denominator *= 10 }
        for digit in digits {
            // Below the denominator, 10^18 at most: ten times that is less than 2^64.
            numerator = numerator * 10 + UInt64(digit)
            guard numerator < denominator else { return nil }
        }
        (self.numerator, self.denominator) = (numerator, denominator)
    }

    /// The decimal number that a number is written as; nil unless it is above 0 and below 1.
    package init?(_ number: Double) {
        guard number > 0, number < 1 else { return nil }
        self.init("\(number)")
    }

    /// The nearest 64-bit number.
    package var share: Double { Double(numerator) / Double(denominator) }

    /// ⌈(count + 1) × coverage⌉, exactly: the rank among `count` sorted scores, from 1. It is `count + 1` if the scores
    /// are too few for this coverage.
    package func rank(among count: Int) -> Int {
        let all = UInt64(clamping: count) &+ 1
        let product = all.multipliedFullWidth(by: numerator)
        // The share is below 1: the quotient is at most `all`, so the division does not overflow.
        guard product.high < denominator else { return Int(clamping: all) }
        let (quotient, remainder) = denominator.dividingFullWidth(product)
        return Int(clamping: remainder == 0 ? quotient : quotient &+ 1)
    }

    /// The least number of scores at which the rank is not above their number: ⌈coverage / (1 - coverage)⌉.
    package var leastCount: Int {
        let (quotient, remainder) = numerator.quotientAndRemainder(dividingBy: denominator - numerator)
        return Int(clamping: remainder == 0 ? quotient : quotient + 1)
    }
}

/// A decimal number as it is written: its digits, and how many of them are decimals.
private struct Decimal {
    private(set) var digits: [UInt8] = []
    private(set) var decimals = 0

    /// The maximum length of a text, and of an exponent.
    private static let longest = 60, longestExponent = 3

    /// Nil for text that is no decimal number without a sign.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.longest else { return nil }
        let end = bytes.firstIndex { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") } ?? bytes.endIndex
        var hasPoint = false
        for byte in bytes[..<end] {
            if byte == UInt8(ascii: "."), !hasPoint {
                hasPoint = true
            } else if (48...57).contains(byte) {
                digits.append(byte - 48)
                if hasPoint { decimals += 1 }
            } else {
                return nil
            }
        }
        guard !digits.isEmpty else { return nil }
        guard end < bytes.endIndex else { return }
        var exponent = bytes[(end + 1)...]
        let isNegative = exponent.first == UInt8(ascii: "-")
        if isNegative || exponent.first == UInt8(ascii: "+") { exponent = exponent.dropFirst() }
        guard (1...Self.longestExponent).contains(exponent.count), exponent.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        let number = exponent.reduce(0) { $0 * 10 + Int($1 - 48) }
        decimals += isNegative ? number : -number
        while decimals < 0 {
            digits.append(0)
            decimals += 1
        }
    }
}
