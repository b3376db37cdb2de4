internal import HTTPWire
internal import JSON

/// The message of a log line, built byte by byte, because every request writes a line.
package struct LogText: Sendable {
    /// UTF-8.
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    package mutating func add(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Appends an ASCII character, which is cheaper than a string.
    package mutating func add(ascii character: Unicode.Scalar) { bytes.append(UInt8(ascii: character)) }

    /// Appends a name and its value in quotes, with JSON's escapes, so that the value cannot end the quotes.
    package mutating func add(_ name: String, quoting value: String) {
        add(name)
        JSONText.appendString(value, to: &bytes)
    }

    /// Appends a name and its value, with quotes unless the value is one word of visible ASCII.
    package mutating func add(_ name: String, quotingIfNeeded value: String) {
        let isWord = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
        if isWord { add(name + value) } else { add(name, quoting: value) }
    }

    package mutating func add(_ number: some BinaryInteger) {
        // Digit by digit: a string for each number would be most of a line's cost.
        guard let positive = UInt64(exactly: number) else { return add(String(number)) }
        ResponseSerializer.appendDecimal(positive, to: &bytes)
    }

    /// Appends a number, at least 0, with leading zeros.
    mutating func add(_ number: Int, digits: Int) {
        var power = 1
        for _ in 1..<max(1, digits) { power *= 10 }
        while power > 0 {
            bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number / power % 10))
            power /= 10
        }
    }

    /// Appends nanoseconds as milliseconds with two decimals.
    package mutating func addMilliseconds(_ nanoseconds: UInt64) {
        let hundredths = nanoseconds / 10_000 &+ (nanoseconds % 10_000 >= 5_000 ? 1 : 0)
        add(hundredths / 100)
        bytes.append(UInt8(ascii: "."))
        bytes.append(UInt8(ascii: "0") &+ UInt8(hundredths / 10 % 10))
        bytes.append(UInt8(ascii: "0") &+ UInt8(hundredths % 10))
    }

    /// Makes the message safe to print on one line: external text could otherwise forge a line, or hide one, by control
    /// characters. ASCII control characters become spaces; other characters that are not printable (C1 controls, marks
    /// that turn the direction of text, line separators) are written by number, as in `\u{202E}`.
    package mutating func keepToOneLine() {
        // Without a branch for each byte, the compiler compares many bytes at once.
        var others: UInt8 = 0
        for byte in bytes { others |= byte &- 0x20 < 0x5F ? 0 : 1 }
        guard others != 0 else { return }
        var kept: [UInt8] = []
        kept.reserveCapacity(bytes.count)
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar.value < 0x20 || scalar.value == 0x7F {
                kept.append(UInt8(ascii: " "))
            } else if PrintableText.isPrintable(scalar) {
                kept.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            } else {
                kept.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".utf8)
            }
        }
        bytes = kept
    }
}
