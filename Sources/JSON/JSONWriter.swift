/// Writes JSON text directly into bytes. The answers of the hot path have a fixed form: building a tree for them, or
/// going through `Encodable`, would cost more than the rest of the answer.
package struct JSONWriter {
    /// A placeholder: a value that differs between the recipients of the text.
    package struct Placeholder: Equatable, Sendable {
        /// The offset of its text, and its length in bytes.
        package var offset: Int
        package let count: Int
        /// The number that identifies the value to the writer.
        package let name: Int
    }

    /// The text so far.
    package private(set) var bytes: [UInt8] = []
    /// The placeholders written by `placeholder`, in the order of the text.
    package private(set) var placeholders: [Placeholder] = []
    /// True if the next value must be preceded by a comma.
    private var needsComma = false

    /// Starts with empty text.
    package init(capacity: Int = 1024) {
        bytes.reserveCapacity(capacity)
    }

    /// Writes an object; `body` writes its members.
    package mutating func object(_ body: (inout JSONWriter) throws -> Void) rethrows {
        try nested(open: UInt8(ascii: "{"), close: UInt8(ascii: "}"), body)
    }

    /// Writes an array; `body` writes its elements.
    package mutating func array(_ body: (inout JSONWriter) throws -> Void) rethrows {
        try nested(open: UInt8(ascii: "["), close: UInt8(ascii: "]"), body)
    }

    private mutating func nested(open: UInt8, close: UInt8, _ body: (inout JSONWriter) throws -> Void) rethrows {
        separate()
        bytes.append(open)
        needsComma = false
        try body(&self)
        bytes.append(close)
        needsComma = true
    }

    /// Writes the name of a member; its value must follow.
    package mutating func key(_ name: String) {
        separate()
        JSONText.appendString(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func string(_ value: String) {
        separate()
        JSONText.appendString(value, to: &bytes)
        needsComma = true
    }

    /// Writes an integer. The generic method is not specialized in other modules, and is many times slower.
    package mutating func integer(_ value: Int) {
        separate()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        JSONText.appendDecimal(UInt64(value.magnitude), to: &bytes)
        needsComma = true
    }

    package mutating func integer(_ value: some BinaryInteger) {
        separate()
        if let positive = UInt64(exactly: value) {
            JSONText.appendDecimal(positive, to: &bytes)
        } else {
            bytes.append(contentsOf: String(value).utf8)
        }
        needsComma = true
    }

    package mutating func bool(_ value: Bool) {
        raw(value ? "true" : "false")
    }

    package mutating func null() {
        raw("null")
    }

    /// Writes a number with the fewest digits that parse to the same value. JSON has no NaN and no infinities: they
    /// become null.
    package mutating func number(_ value: Double) {
        guard value.isFinite else { return null() }
        raw(value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : value.description)
    }

    /// Writes a 32-bit number with the fewest digits that parse to the same 32-bit value.
    package mutating func number(_ value: Float) {
        guard value.isFinite else { return null() }
        raw(value == value.rounded() && abs(value) < 1e7 ? String(Int64(value)) : value.description)
    }

    /// Writes a number rounded to thousandths, digit by digit: answers have hundreds of coordinates.
    package mutating func thousandths(_ value: Double) {
        let scaled = (value * 1_000).rounded()
        guard abs(scaled) < 1e15 else { return number(value) }
        separate()
        if scaled < 0 { bytes.append(UInt8(ascii: "-")) }
        let magnitude = UInt64(abs(scaled))
        JSONText.appendDecimal(magnitude / 1_000, to: &bytes)
        var rest = magnitude % 1_000
        if rest > 0 { bytes.append(UInt8(ascii: ".")) }
        while rest > 0 {
            bytes.append(UInt8(ascii: "0") &+ UInt8(rest / 100))
            rest = rest % 100 * 10
        }
        needsComma = true
    }

    /// Writes nanoseconds as milliseconds with three decimals.
    package mutating func milliseconds(_ nanoseconds: UInt64) {
        separate()
        Self.appendMilliseconds(nanoseconds, to: &bytes)
        needsComma = true
    }

    /// Appends nanoseconds as milliseconds with three decimals to any text.
    package static func appendMilliseconds(_ nanoseconds: UInt64, to bytes: inout [UInt8]) {
        let microseconds = nanoseconds / 1000 &+ (nanoseconds % 1000 >= 500 ? 1 : 0)
        JSONText.appendDecimal(microseconds / 1000, to: &bytes)
        let part = microseconds % 1000
        bytes.append(UInt8(ascii: "."))
        bytes.append(UInt8(ascii: "0") &+ UInt8(part / 100))
        bytes.append(UInt8(ascii: "0") &+ UInt8(part / 10 % 10))
        bytes.append(UInt8(ascii: "0") &+ UInt8(part % 10))
    }

    /// Writes bytes as a base64 string.
    package mutating func base64(_ data: UnsafeRawBufferPointer) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        Base64.append(data, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes text that is JSON already.
    package mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    /// Writes bytes that are JSON already, with their placeholders.
    package mutating func raw(_ text: [UInt8], placeholders: [Placeholder] = []) {
        separate()
        for placeholder in placeholders {
            self.placeholders.append(
                Placeholder(offset: bytes.count + placeholder.offset, count: placeholder.count, name: placeholder.name))
        }
        bytes.append(contentsOf: text)
        needsComma = true
    }

    /// Writes a value that `filled` may replace for another recipient.
    package mutating func placeholder(_ name: Int, _ body: (inout JSONWriter) -> Void) {
        separate()
        let offset = bytes.count
        body(&self)
        placeholders.append(Placeholder(offset: offset, count: bytes.count - offset, name: name))
    }

    /// The text with its placeholders filled by other values.
    /// - Parameter value: writes the value with that number.
    package static func filled(
        _ text: [UInt8], _ placeholders: [Placeholder], _ value: (Int, inout JSONWriter) -> Void
    ) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count + 16 * placeholders.count)
        var next = 0
        for placeholder in placeholders
        where placeholder.offset >= next && placeholder.offset + placeholder.count <= text.count {
            result += text[next..<placeholder.offset]
            var writer = JSONWriter(capacity: 64)
            value(placeholder.name, &writer)
            result += writer.bytes
            next = placeholder.offset + placeholder.count
        }
        return result + text[next...]
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = false
    }
}
