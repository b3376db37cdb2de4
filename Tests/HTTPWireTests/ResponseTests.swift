import HTTPWire
import Testing

@Suite struct ResponseTests {
    private func text(_ body: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        body(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("a response head is written with its status line and its fields in order")
    func aHeadIsWrittenInOrder() {
        let head = ResponseHead(status: .notFound, fields: [("Content-Type", "text/plain"), ("X-A", "é\tb")])
        #expect(
            text { ResponseSerializer.append(head, to: &$0) }
                == "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nX-A: é\tb\r\n\r\n")
    }

    /// RFC 9110 section 5.5: CR, LF and NUL in a value are dangerous. Such a field is omitted.
    @Test(
        "a field whose value has CR, LF, NUL or another control character is left out",
        arguments: ["a\rb", "a\nb", "a\r\nSet-Cookie: x", "\u{0}", "a\u{7F}", "\u{1B}[0m"])
    func aValueThatCouldSplitTheResponseIsLeftOut(value: String) {
        let head = ResponseHead(status: .ok, fields: [("A", "1"), ("X", value), ("B", "2")])
        #expect(text { ResponseSerializer.append(head, to: &$0) } == "HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\n")
        #expect(!ResponseSerializer.isValid(name: "X", value: value))
    }

    @Test("a field whose name is not a token is left out", arguments: ["", "A B", "A:", "Ä", "A\r\n", "(a)"])
    func aNameThatIsNotATokenIsLeftOut(name: String) {
        #expect(text { ResponseSerializer.appendField(name, "v", to: &$0) } == "")
    }

    @Test("interim responses are written without fields")
    func interimResponsesHaveNoFields() {
        #expect(text { ResponseSerializer.appendInterim(.continue, to: &$0) } == "HTTP/1.1 100 Continue\r\n\r\n")
        #expect(text { ResponseSerializer.appendInterim(.processing, to: &$0) } == "HTTP/1.1 102 Processing\r\n\r\n")
    }

    @Test(
        "a number in a field is written in decimal",
        arguments: [
            (0, "0"), (9, "9"), (10, "10"), (99_999, "99999"), (UInt64.max, "18446744073709551615"),
        ])
    func numbersAreDecimal(number: UInt64, expected: String) {
        #expect(text { ResponseSerializer.appendField("N", number: number, to: &$0) } == "N: \(expected)\r\n")
    }

    /// RFC 9110 section 5.6.7: IMF-fixdate.
    @Test(
        "dates are written as IMF-fixdate, bounded to the years 0 to 9999",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (Int64.min, "Sat, 01 Jan 0000 00:00:00 GMT"),
        ])
    func datesAreIMFFixdate(seconds: Int64, expected: String) {
        #expect(HTTPDate.string(unixSeconds: seconds) == expected)
    }

    @Test("a status code without three digits becomes 500")
    func aStatusAlwaysHasThreeDigits() {
        #expect(HTTPStatus(code: 99).code == 500)
        #expect(HTTPStatus(code: 1000).code == 500)
        #expect(
            text { ResponseSerializer.appendStatusLine(HTTPStatus(code: 299), to: &$0) } == "HTTP/1.1 299 Status\r\n")
    }
}
