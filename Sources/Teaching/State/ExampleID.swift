internal import SystemSupport

/// The SHA-256 digest of a picture's bytes.
package struct ExampleID: Hashable, Comparable, Sendable, CustomStringConvertible {
    private let words: SIMD4<UInt64>

    /// The digest of a picture.
    package init(of picture: UnsafeRawBufferPointer) {
        self.init(words: Self.words(of: SHA256.digest(picture)))
    }

    /// Creates an identifier from 32 bytes; fails for other counts.
    package init?(digest: [UInt8]) {
        guard digest.count == 32 else { return nil }
        self.init(words: Self.words(of: digest))
    }

    private static func words(of digest: [UInt8]) -> SIMD4<UInt64> {
        var words = SIMD4<UInt64>.zero
        for (index, byte) in digest.prefix(32).enumerated() { words[index / 8] = words[index / 8] << 8 | UInt64(byte) }
        return words
    }

    private init(words: SIMD4<UInt64>) { self.words = words }

    /// Parses 64 hexadecimal digits; fails for other text.
    package init?(_ text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 64, by: 2) {
            guard let high = Self.digit(digits[index]), let low = Self.digit(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(digest: bytes)
    }

    /// The first byte.
    var first: Int { Int(words[0] >> 56) }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        (0..<4).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: words[word] >> UInt64(56 - 8 * $0)) } }
    }

    /// 64 hexadecimal digits.
    package var description: String { SHA256.text(bytes) }

    package static func < (one: ExampleID, other: ExampleID) -> Bool {
        for index in 0..<4 where one.words[index] != other.words[index] { return one.words[index] < other.words[index] }
        return false
    }

    private static func digit(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): letter - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): letter - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
