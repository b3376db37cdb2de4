import JSON
import Testing

/// Strings and numbers are written in JSON syntax.
@Suite struct JSONTextTests {
    private func text(_ write: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        write(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("a string is written with JSON escapes")
    func stringsAreEscaped() {
        #expect(
            text { JSONText.appendString("a\"b\\c\n\r\t\u{0}\u{1F}é\u{7F}/", to: &$0) }
                == #""a\"b\\c\n\r\t\u0000\u001fé"# + "\u{7F}/\"")
    }

    @Test("an unsigned integer is written in decimal", arguments: [0, 7, 10, 99, 1_000, UInt64.max])
    func numbersAreDecimal(_ number: UInt64) {
        #expect(text { JSONText.appendDecimal(number, to: &$0) } == "\(number)")
    }
}
