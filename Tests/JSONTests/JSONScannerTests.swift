import JSON
import Testing

/// Text that is not JSON is refused with its location, and no text crashes the scanner or exceeds its limits.
@Suite struct JSONScannerTests {
    @Test(
        "invalid JSON is refused with the position or with the expected text",
        arguments: [
            ("", "line 1, column 1"), ("{", "name in quotes"), ("{\"a\"", "\":\""), ("{\"a\":", "a value"),
            ("{\"a\":1,}", "name in quotes"), ("[1,]", "a value"), ("[1 2]", "\",\" or \"]\""),
            ("\"a", "closing quote"),
            ("\"\\x\"", "escape"), ("\"\\u12\"", "hexadecimal"), ("tru", "true"), ("nul", "null"),
            ("{\n\n  x", "line 3, column 3"),
            ("1 2", "nothing more"), ("\"\u{01}\"", "control character"), ("\"a\\", "closing quote"),
        ])
    func invalidJSON_isRefusedWithItsPlace(_ text: String, _ words: String) {
        let error = #expect(throws: JSONError.self) { try JSONProbe.skip(Array(text.utf8)) }
        #expect(error?.kind == .syntax)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test(
        "valid JSON is skipped without an error",
        arguments: [
            "null", " true ", "{}", "[]", "{\"a\":[1,{\"b\":\"\\u00e9\\n\"}],\"c\":null}", "\u{FEFF}[1]", "[[],[[]]]",
            "-1.5e-3",
        ])
    func validJSON_isSkipped(_ text: String) throws { try JSONProbe.skip(Array(text.utf8)) }

    @Test(
        "escapes in a string are decoded, and a lone surrogate becomes U+FFFD",
        arguments: [
            ("\"a\\u00e9\\ud83d\\ude00\\/\"", "aé😀/"), ("\"\\ud83d\"", "\u{FFFD}"), ("\"\\ud83dx\"", "\u{FFFD}x"),
            ("\"\\\"\\\\\\b\\f\\n\\r\\t\"", "\"\\\u{08}\u{0C}\n\r\t"), ("\"é😀\"", "é😀"),
        ])
    func string_withEscapes_isDecoded(_ text: String, _ expected: String) throws {
        #expect(try JSONProbe.string(Array(text.utf8)) == expected)
    }

    @Test("a string that is not UTF-8 is refused")
    func stringThatIsNotUTF8() {
        #expect(throws: JSONError.self) { try JSONProbe.string([0x22, 0xFF, 0x22]) }
    }

    @Test("100,000 nested arrays or objects are refused as nested too deeply")
    func depthIsBounded() {
        for open in ["[", "{\"a\":"] {
            let error = #expect(throws: JSONError.self) {
                try JSONProbe.skip(Array(String(repeating: open, count: 100_000).utf8))
            }
            #expect(error?.message.contains("nested") == true)
        }
    }

    @Test("64 levels of nesting are read and 65 are refused", arguments: [("[", "]"), ("{\"a\":", "}")])
    func sixtyFourLevelsAreReadAndNoMore(open: String, close: String) throws {
        func nested(_ levels: Int) -> [UInt8] {
            let inner = open == "[" ? "" : "0"
            return Array(
                (String(repeating: open, count: levels) + inner + String(repeating: close, count: levels)).utf8)
        }
        try JSONProbe.skip(nested(64))
        let error = #expect(throws: JSONError.self) { try JSONProbe.skip(nested(65)) }
        #expect(error?.kind == .syntax)
        #expect(error?.message == "the body is nested too deeply: the limit is 64 levels")
        // Closed levels do not count.
        try JSONProbe.skip(Array("[".utf8) + nested(63) + Array(",".utf8) + nested(63) + Array("]".utf8))
    }

    @Test("arrays of numbers nested 16 deep are read and 17 deep are refused")
    func sixteenExtentsAreReadAndNoMore() throws {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + "1" + String(repeating: "]", count: levels)).utf8)
        }
        #expect(try JSONProbe.extents(nested(16)).extents.count == 16)
        let error = #expect(throws: JSONError.self) { try JSONProbe.extents(nested(17)) }
        #expect(error?.message.contains("deeper than 16") == true)
    }

    @Test(
        "an object with the same member twice is refused",
        arguments: [
            "{\"a\":1,\"a\":2}", "{\"a\":1,\"b\":2,\"\\u0061\":3}", "{\"x\":{\"a\":1,\"a\":1}}",
        ])
    func aMemberThatIsThereTwiceIsRefused(_ text: String) {
        let error = #expect(throws: JSONError.self) { try JSONProbe.skip(Array(text.utf8)) }
        #expect(error?.message.contains("the member \"a\" twice") == true, "\(error?.message ?? "")")
    }

    @Test("the same name in different objects is allowed")
    func theSameNameInAnotherObjectIsAnother() throws {
        try JSONProbe.skip(Array("{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}".utf8))
    }

    /// Numbers beyond the first limit are only counted; beyond the second one, reading stops.
    @Test("numbers beyond the wanted count are only counted, and beyond the limit refused")
    func numbersPastTheEndAreNotRead() throws {
        func read(_ text: String, maximum: Int, end: Int) -> Result<JSONScanner.NumberArray<Float>, JSONError> {
            Array(text.utf8).withUnsafeBytes { raw in
                var scanner = JSONScanner(raw)
                return Result { () throws(JSONError) in
                    try scanner.numbers(
                        maximum: maximum, end: end, name: "x", fitting: "a number", usual: { $0.float(in: raw) }
                    ) { (scanner: inout JSONScanner) throws(JSONError) in try scanner.number().float(in: raw) }
                }
            }
        }
        for count in [3, 200] {
            let text = "[" + (1...count).map(String.init).joined(separator: ",") + "]"
            let exact = try read(text, maximum: count, end: count).get()
            #expect(exact.elements == (1...count).map(Float.init) && exact.shape == [count])
            let fewer = try read(text, maximum: 2, end: count).get()
            #expect(fewer.elements == [1, 2] && fewer.count == count && fewer.shape == [count])
            let error = #expect(throws: JSONError.self) { try read(text, maximum: 2, end: count - 1).get() }
            #expect(
                error?.message == "input \"x\": expected at most 2 numbers, found more than \(count - 1)")
        }
    }

    @Test(
        "a count is read from whole numbers from 0 to Int.max only",
        arguments: [
            ("7", 7), ("0", 0), ("1e2", 100), ("3.0", 3), ("-1", nil), ("1.5", nil), ("9223372036854775807", Int.max),
            ("9223372036854775808", nil), ("\"7\"", nil), ("null", nil),
        ] as [(String, Int?)])
    func count_takesWholeNumbersOnly(_ text: String, _ expected: Int?) {
        let found: Int? = Array(text.utf8).withUnsafeBytes { raw in
            var scanner = JSONScanner(raw)
            return try? scanner.count("\"n\"", "a number of things")
        }
        #expect(found == expected)
    }

    @Test(
        "an Int8 is read from whole numbers in its range only",
        arguments: [
            ("127", 127), ("-128", -128), ("128", nil), ("-129", nil), ("1e2", 100), ("-0", 0), ("1.5", nil),
        ] as [(String, Int8?)])
    func integer_outsideItsType_isRefused(_ text: String, _ expected: Int8?) {
        let found: Int8? = Array(text.utf8).withUnsafeBytes { raw in
            var scanner = JSONScanner(raw)
            return (try? scanner.number())?.integer(Int8.self, in: raw)
        }
        #expect(found == expected)
    }

    @Test(
        "an Int64 is read exactly at the ends of its range and refused beyond",
        arguments: [
            ("-9223372036854775808", Int64.min), ("-9223372036854775809", nil), ("9223372036854775807", .max),
            ("12345678901234567890123", nil),
        ] as [(String, Int64?)])
    func integersAtTheEndsOfInt64(_ text: String, _ expected: Int64?) {
        let found: Int64? = Array(text.utf8).withUnsafeBytes { raw in
            var scanner = JSONScanner(raw)
            return (try? scanner.number())?.integer(Int64.self, in: raw)
        }
        #expect(found == expected)
    }

    @Test(
        "a UInt64 of 20 digits is read exactly or refused",
        arguments: [("18446744073709551615", UInt64.max), ("18446744073709551616", nil)] as [(String, UInt64?)])
    func integer_ofTwentyDigits_isExactOrRefused(_ text: String, _ expected: UInt64?) {
        let found: UInt64? = Array(text.utf8).withUnsafeBytes { raw in
            var scanner = JSONScanner(raw)
            return (try? scanner.number())?.integer(UInt64.self, in: raw)
        }
        #expect(found == expected)
    }

    @Test(
        "a double is read to the same value as by the standard library",
        arguments: [
            "9007199254740992", "9007199254740993", "-9007199254740993", "1e22", "1e23", "1e-22", "1e-23", "0.1",
            "123456789012345678901234567890", "12345678901234567890.5", "1.7976931348623157e308", "5e-324", "1e309",
            // In these, the mantissa is rounded already, and a division would round twice.
            "446673754019253275e-7", "258729301010900985e-14", "407572640541928505e-8", "749522189964053684e-4",
        ])
    func doublesAreWhatTheLibraryReads(_ text: String) {
        let found: Double? = Array(text.utf8).withUnsafeBytes { raw in
            var scanner = JSONScanner(raw)
            return (try? scanner.number())?.double(in: raw)
        }
        #expect(found == Double(text).flatMap { $0.isFinite ? $0 : nil })
    }

    /// The names of an object's members are kept while it is read: a body of 20 MB can have four million.
    @Test("an object of 4,096 members is read, and of 4,097 refused")
    func membersAreBounded() throws {
        func object(_ count: Int) -> [UInt8] {
            Array(("{" + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",") + "}").utf8)
        }
        try JSONProbe.skip(object(4_096))
        let error = #expect(throws: JSONError.self) { try JSONProbe.skip(object(4_097)) }
        #expect(error?.message.contains("4096 members") == true, "\(error?.message ?? "")")
    }

    @Test(
        "the extents and the count of nested arrays are found",
        arguments: [
            ("7", [], 1), ("[1,2,3]", [3], 3), ("[[1,2],[3,4],[5,6]]", [3, 2], 6), ("[]", [0], 0),
            ("[[],[]]", [2, 0], 0),
            ("[[[1]]]", [1, 1, 1], 1),
        ])
    func arraysTellTheirExtents(_ text: String, _ extents: [Int], _ count: Int) throws {
        let found = try JSONProbe.extents(Array(text.utf8))
        #expect(found.extents == extents)
        #expect(found.count == count)
        let strings = try JSONProbe.stringExtents(Self.quoted(text))
        #expect(strings.extents == extents && strings.count == count)
    }

    /// The text with strings in the place of its digits.
    private static func quoted(_ text: String) -> [UInt8] {
        Array(text.map { $0.isNumber ? "\"\($0)\"" : String($0) }.joined().utf8)
    }

    @Test(
        "strings in irregular arrays are refused with the place",
        arguments: [
            ("[1,[2]]", "a string at [1], found an array"), ("[[1],2]", "an array at [1], found a string"),
            ("[[[1]],2]", "an array at [1], found a string"),
            ("[[1,2],[3]]", "an array of 2 at [1], found an array of 1"),
            ("[[1,2],[]]", "an array of 2 at [1]"), ("[[],[1]]", "an array of 0 at [1]"), ("[[],1]", "an array at [1]"),
            ("[[],[[]]]", "a string at [1][0]"), ("[[[]],[]]", "an array of 1 at [1]"),
        ])
    func irregularStringsAreRefused(_ text: String, _ words: String) {
        let error = #expect(throws: JSONError.self) { try JSONProbe.stringExtents(Self.quoted(text)) }
        let message = error?.message ?? ""
        #expect(message.contains("expected \(words)") && message.contains("not regular"), "\(message)")
        let deep = String(repeating: "[", count: 17)
        let tooDeep = #expect(throws: JSONError.self) { try JSONProbe.stringExtents(Array(deep.utf8)) }
        #expect(tooDeep?.message.contains("deeper than 16") == true)
        // Numbers are refused in the same places.
        #expect(throws: JSONError.self) { try JSONProbe.extents(Array(text.utf8)) }
    }

    @Test(
        "irregular arrays and arrays of other values than numbers are refused with a reason",
        arguments: [
            ("[1,[2]]", "[1]"), ("[[1],2]", "[1]"), ("[[1,2],[3]]", "[1]"), ("[1,\"a\"]", "a string"),
            ("[null]", "null"),
            ("[{}]", "an object"), ("[true]", "true or false"), ("[[1,2],[]]", "not regular"),
            (String(repeating: "[", count: 50), "deeper than 16"), ("[1", "\",\""), ("[1,,2]", "a number"),
        ])
    func array_irregular_isRefused(_ text: String, _ words: String) {
        let error = #expect(throws: JSONError.self) { try JSONProbe.extents(Array(text.utf8)) }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    /// Every prefix and every change of one byte gives a value or an error.
    @Test("JSON cut at any length or changed in any byte never crashes the scanner")
    func text_cutOrChanged_neverCrashes() {
        let text = Array(
            "{\"inputs\":{\"a\":[[1.5,-2e3],[\"\\u00e9\\ud83d\\ude00\",null]],\"b\":{\"b64\":\"AAEC\"}}} ".utf8)
        for length in 0...text.count { _ = try? JSONProbe.skip(Array(text.prefix(length))) }
        for index in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[index] = byte
                _ = try? JSONProbe.skip(changed)
                _ = try? JSONProbe.extents(changed)
            }
        }
    }

    @Test(
        "base64 is read with or without padding, line breaks, escapes and a data: URL prefix",
        arguments: [
            ("", []), ("AA==", [0]), ("AAE=", [0, 1]), ("AAEC", [0, 1, 2]), ("AAE", [0, 1]), ("-_8", [0xFB, 0xFF]),
            ("+\\/8=", [0xFB, 0xFF]), ("AA\\nE=", [0, 1]), ("\\r\\nAAE=\\r\\n", [0, 1]), ("AA\\n==\\n", [0]),
            ("\\n", []), ("AA\\u000aE=", [0, 1]), ("\\u002b\\u002F8\\u003d", [0xFB, 0xFF]),
            ("AA\\u003D\\n\\u003D", [0]),
            ("\\u0041\\u0041E", [0, 1]), ("data:image/png;base64,AAE=", [0, 1]),
            ("data:image\\/png;base64,AAE", [0, 1]),
            ("data:;base64,", []),
        ] as [(String, [UInt8])])
    func base64IsRead(_ text: String, _ bytes: [UInt8]) throws {
        #expect(try JSONProbe.base64(Array("\"\(text)\"".utf8)) == bytes)
    }

    @Test(
        "a string that is not base64 is refused",
        arguments: [
            "A", "AA===", "A A=", "AAE*", "====", "AAAAA", "AA\\tE=", "AA\\\\nE=", "AAE=\\\\n", "AA==\\nAA==",
            "AA\\u0009E=", "AA\\u014bE=", "AA\\u00", "AA\\u00xx", "AA=\\u003d=", "=AAE", "AA=E",
            "\\u003d\\u003d\\u003d",
        ])
    func string_notBase64_isRefused(_ text: String) throws {
        #expect(throws: JSONError.value("found a string that is not base64")) {
            _ = try JSONProbe.base64(Array("\"\(text)\"".utf8))
        }
    }

    @Test(
        "a data: URL without valid base64 is refused",
        arguments: ["data:image/png,AAE=", "data:image/png;base64,A", "data:image/png;base64", "data:,"])
    func noDataURLOfBase64(_ text: String) throws {
        #expect(throws: JSONError.value("found a data: URL that is not base64")) {
            _ = try JSONProbe.base64(Array("\"\(text)\"".utf8))
        }
    }

    /// Texts of millions of values. Their client may have disconnected.
    @Test("scanning long JSON ends when its task is cancelled", arguments: ["[0,", "{\"a\":[", "[[1,2],", "[\"x\","])
    func readingEndsWhenTheTaskIsCancelled(_ start: String) async {
        let element = start.last == "[" ? "0," : String(start.dropFirst())
        let text = Array((start + String(repeating: element, count: 10_000)).utf8)
        let numbers = Array(("[" + String(repeating: "[1.5e300000],", count: 10_000)).utf8)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            #expect(throws: JSONError.cancelled) { try JSONProbe.skip(text) }
            #expect(throws: JSONError.self) { _ = try JSONProbe.floats(numbers) }
        }
        await task.value
    }
}
