import Foundation
import JSON
import Testing

/// The output of the writer is JSON with the written values.
@Suite struct JSONWriterTests {
    private func text(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test("commas stand between members and between elements, and nowhere else")
    func commasStandBetweenAndNowhereElse() {
        let written = text { writer in
            writer.object { writer in
                writer.member("a", 1)
                writer.key("b")
                writer.array { writer in
                    writer.array { _ in }
                    writer.object { _ in }
                    writer.bool(true)
                    writer.null()
                    writer.raw("[1]")
                    writer.raw(Array("2".utf8))
                }
                writer.member("c", "x")
                writer.member("d", ["y", "z"])
                writer.member("e", ifKnown: nil)
                writer.member("f", ifKnown: -3)
                writer.member("g", milliseconds: nil)
                writer.member("h", milliseconds: 1_500_000)
                writer.member("i", false)
                writer.member("j", 0.5)
            }
        }
        #expect(
            written == #"{"a":1,"b":[[],{},true,null,[1],2],"c":"x","d":["y","z"],"e":null,"f":-3,"g":null,"h":1.500,"#
                + #""i":false,"j":0.5}"#)
    }

    @Test(
        "a double is written in the fewest digits, and NaN and infinity as null",
        arguments: [
            (0.0, "0"), (1.0, "1"), (-2.0, "-2"), (0.1, "0.1"), (999_999_999_999_999, "999999999999999"),
            (1e15, "1000000000000000.0"),
            (-1e16, "-1e+16"), (.nan, "null"), (.infinity, "null"), (-.infinity, "null"), (1.5e300, "1.5e+300"),
        ])
    func doublesInTheFewestDigits(_ value: Double, _ expected: String) {
        #expect(text { $0.number(value) } == expected)
    }

    @Test(
        "a double is written rounded to thousandths, and NaN and infinity as null",
        arguments: [
            (0.0, "0"), (-0.0, "0"), (0.0004, "0"), (-0.0004, "0"), (0.0005, "0.001"), (-0.0006, "-0.001"),
            (0.05, "0.05"),
            (0.1, "0.1"), (0.999_5, "1"), (1.25, "1.25"), (-12.5, "-12.5"), (412.062, "412.062"), (100, "100"),
            (65_535.109, "65535.109"), (999_999_999_999.999, "999999999999.999"), (1e15, "1000000000000000.0"),
            (-1e16, "-1e+16"), (.nan, "null"), (.infinity, "null"), (-.infinity, "null"),
        ])
    func doublesInThousandths(_ value: Double, _ expected: String) {
        #expect(text { $0.thousandths(value) } == expected)
    }

    /// A number is rounded and written with the fewest digits.
    @Test("a whole number of thousandths is written in the fewest digits")
    func thousandthsAreTheFewestDigitsOfTheRoundedNumber() {
        for number in -20_000...20_000 {
            let value = Double(number) / 1_000
            #expect(text { $0.thousandths(value) } == text { $0.number(value) })
        }
    }

    @Test(
        "a float is written in the fewest digits, and NaN and infinity as null",
        arguments: [
            (Float(0.1), "0.1"), (16_777_216, "16777216.0"), (9_999_999, "9999999"), (1e7, "10000000.0"), (-3, "-3"),
            (.nan, "null"), (.infinity, "null"), (-.infinity, "null"), (3.4e38, "3.4e+38"),
        ])
    func floatsInTheFewestDigits(_ value: Float, _ expected: String) {
        #expect(text { $0.number(value) } == expected)
    }

    @Test(
        "nanoseconds are written as milliseconds rounded to microseconds",
        arguments: [
            (UInt64(0), "0.000"), (499, "0.000"), (500, "0.001"), (1_234_567, "1.235"), (999_999_499, "999.999"),
            (999_999_500, "1000.000"), (UInt64.max, "18446744073709.552"),
        ])
    func millisecondsAreRoundedToMicroseconds(_ nanoseconds: UInt64, _ expected: String) {
        #expect(text { $0.milliseconds(nanoseconds) } == expected)
    }

    @Test("the extremes of integer types are written in full")
    func integersOfAllTypes() {
        #expect(text { $0.integer(Int8.min) } == "-128")
        #expect(text { $0.integer(UInt64.max) } == "18446744073709551615")
        #expect(text { $0.integer(Int.min) } == "-9223372036854775808")
    }

    /// Compared with Foundation.
    @Test("base64 output equals Foundation's encoding", arguments: 0..<20)
    func base64IsWritten(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 89 &+ 201) }
        let written = text { writer in bytes.withUnsafeBytes { writer.base64($0) } }
        #expect(written == "\"" + Data(bytes).base64EncodedString() + "\"")
    }
}

/// Values read from whole texts, and the errors for invalid texts.
@Suite struct JSONValueTests {
    @Test("JSON5 with every kind of value is parsed")
    func json5_everyKindOfValue_isParsed() throws {
        let text = "{a: [1, -2.5, 'x', true, false, null, {}], /* c */ b: 9223372036854775807,}"
        #expect(
            try JSONValue.parse(Data(text.utf8))
                == .object([
                    "a": .array([
                        .integer(1), .number(-2.5), .string("x"), .bool(true), .bool(false), .null, .object([:]),
                    ]),
                    "b": .integer(.max),
                ]))
    }

    @Test(
        "a mistake in JSON5 is reported with its line and column",
        arguments: [
            ("", "line 1, column 1: expected a value, found the end of the file"),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: expected \",\" or \"}\", found \"\"b\": 2\""),
            ("[1 2]", "line 1, column 4: expected \",\" or \"]\", found \"2]\""),
            ("{\"a\" 1}", "line 1, column 6: expected \":\", found \"1}\""),
            ("hello", "line 1, column 1: expected a value (text must be in quotes), found \"hello\""),
            (
                "{\n  listen: localhost\n}",
                "line 2, column 11: expected a value (text must be in quotes), found \"localhost\""
            ),
            ("[-x]", "line 1, column 2: expected a value (text must be in quotes), found \"-x]\""),
            ("[1] x", "line 1, column 5: expected nothing more, found \"x\""),
            ("/* a", "line 1, column 1: expected the comment's end, found \"/* a\""),
            ("[\"a", "line 1, column 4: expected the string's closing quote, found the end of the file"),
            (
                "[\"a\n\"]",
                "line 1, column 4: expected the closing quote of the string that begins at the line's column 2, found \"\""
            ),
            ("[1e999]", "line 1, column 2: expected a number within the range of 64-bit floats, found \"1e999]\""),
        ])
    func aMistakeHasItsPlace(_ text: String, _ expected: String) {
        let error = #expect(throws: JSONTextError.self) { try JSONValue.parse(Data(text.utf8)) }
        #expect(error?.reason == expected)
    }
}
