import Foundation
import JSON
import TestSupport
import Testing

/// Whole texts, compared with Foundation's decoder.
@Suite struct JSONTreeTests {
    /// Foundation's value of a JSON5 text; nil if it refuses the text.
    private static func foundation(_ text: [UInt8]) -> JSONValue? {
        // Foundation crashes on unquoted names that are not UTF-8, and does not check other text.
        guard String(validating: text, as: UTF8.self) != nil else { return nil }
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        // Foundation reads beyond a number at the end of the text, and crashes if more digits follow by chance.
        return try? decoder.decode(JSONValue.self, from: Data(text + [UInt8(ascii: " ")]))
    }

    @Test(
        "a JSON5 text has the value that Foundation's decoder reads",
        arguments: [
            "1.0", "1e3", "-0", "-0.0", "0x1F", "-0x1F", "+0x1f", "0X1F", "+1", ".5", "5.", "-.5", "+.5", "5.e3",
            "Infinity",
            "-Infinity", "+Infinity", "{a:1,a:2}", "{\"a\":1,'a':2}", "'\\x41'", "{ä:1}",
            "{$a_1:1}", "[1,]", "{a:1,}", "\u{feff}1", "\u{b}1", "\u{c}1", "/**/1", "//\n1", "1//x",
            "18446744073709551616",
            "9223372036854775807", "9223372036854775808", "-9223372036854775808", "'\\ud83d\\ude00'", "true",
            "'a\u{2028}b'",
            "{\"a\\u0062\":1}", "{true:1}", "{'':1}", "0.1e+5", "1E5", "\"\\'\"", "[1/**/,/**/2]", "{a/**/:/**/1}",
            "'\u{7f}'", "0e5", "-0x0", "100000000000000000000.0", "123456789012345680.0", "[\"\\/\"]", "1e-5", "1e18",
            "1e19",
            "[]", "{}", "[[], {}]", " null ", "\"\\\"\\\\\\b\\f\\n\\r\\t\"", "3.141592653589793238462643", "4.9e-324",
            "1e-400",
        ])
    func json5Text_hasFoundationsValue(_ text: String) throws {
        let expected = try #require(Self.foundation(Array(text.utf8)))
        #expect(try JSONTree.read(Array(text.utf8), .json5).value == expected)
    }

    @Test(
        "text that is not JSON5 is refused with its line, and Foundation refuses the text too",
        arguments: [
            "", " ", "01", "-01", "1e", ".", "+", "-", "nan", "'\\q'", "'a\u{1}b'", "'a\nb'", "{1a:1}", "{a-b:1}",
            "[,]",
            "{,}",
            "[1,,2]", "/*", "/* *", "//x", "1e400", "-1e400", "tru", "truex", "undefined", "0x", "0xg", "0x-1", "0b1",
            "1_0",
            "- 1", "{\u{301}a:1}", "{a😀:1}", "'\\01'", "'\\u12'", "'\\x4'", "'\\", "'a", "0x10000000000000000", "1/",
            "1 2",
            "[1", "{a", "{a:", "{a:1", "{a 1}",
            "[1}", "]", "++1", "1.2.3", "1e5.5", "--1",
        ])
    func textThatIsNotJSON5_isRefusedByBoth(_ text: String) {
        #expect(Self.foundation(Array(text.utf8)) == nil)
        let error = #expect(throws: JSONTextError.self) { try JSONTree.read(Array(text.utf8), .json5) }
        #expect(error?.reason.hasPrefix("line ") == true, "\(error?.reason ?? "")")
    }

    /// Random changes of a text: both give the same value, or refuse it. Escapes are not among the inserted characters:
    /// lone surrogates, and names with escapes, are read differently.
    @Test("randomly changed JSON5 has Foundation's value or is refused by both")
    func mutations_haveFoundationsValue() throws {
        let original = Array(
            "{\n  \"name\": 'Näme', // a remark\n  plain: [1, -2.5e3, 0x1F, true, null, .5], /* c */\n  \"deep\": {\"a\": {}},\n}"
                .utf8)
        let letters = Array("{}[]:,'\"/*+-.0123456789eExXabnul \n_$".utf8)
        let seed = SplitMix.seed(for: "mutations_haveFoundationsValue")
        var random = SplitMix(seed: seed), read = 0
        for run in 0..<5_000 {
            var text = original
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: text.indices, using: &random)
                let letter = letters[Int.random(in: letters.indices, using: &random)]
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[place] = letter
                case 1: text.insert(letter, at: place)
                default: text.remove(at: place)
                }
            }
            let found = try? JSONTree.read(text, .json5).value, expected = Self.foundation(text)
            read += found == nil ? 0 : 1
            // Foundation accepts 1e+ and 0x1. as numbers.
            guard found != expected, let text = String(validating: text, as: UTF8.self),
                try found != nil || text.firstMatch(of: Regex("[eE][+-]([^0-9]|$)|0[xX][0-9a-fA-F]+[.]")) == nil
            else { continue }
            Issue.record(
                "seed \(seed), run \(run): \(text) \(String(describing: found)) \(String(describing: expected))")
        }
        #expect(read > 250)
    }

    @Test("JSON5 escapes are decoded in JSON5 and refused in JSON")
    func stringsEscapes_areThoseOfJSON5() throws {
        #expect(try JSONTree.read(Array(#"'\x41\'\/\u00e9'"#.utf8), .json5).value == .string("A'/é"))
        #expect(throws: JSONTextError.self) { try JSONTree.read(Array(#""\x41""#.utf8), .json) }
    }

    @Test(
        "JSON5 extensions are refused in plain JSON",
        arguments: [
            "[1,]", "{\"a\":1,}", "{a:1}", "'a'", "/**/1", "0x1F", ".5", "5.", "+1", "NaN", "Infinity", "\u{b}1", "01",
            "{1:1}",
        ])
    func json5Text_isNotJSON(_ text: String) {
        #expect(throws: JSONTextError.self) { try JSONTree.read(Array(text.utf8), .json) }
    }

    /// 1.0 may be a version: the form that programs write is kept.
    @Test("JSON numbers keep their form as integer or floating-point")
    func jsonNumbers_keepTheirForm() throws {
        #expect(
            try JSONTree.read(Array("[1.0, 1, -7e0, 1e19]".utf8), .json).value
                == .array([.number(1), .integer(1), .number(-7), .number(1e19)]))
        #expect(throws: JSONTextError.self) { try JSONTree.read(Array("1e400".utf8), .json) }
    }

    @Test("a repeated member name is reported with its line and column")
    func memberGivenTwice_isFoundWithItsPlace() throws {
        let text = Array("{a: 1,\n 'b': {c: 1, \"\\u0063\": 2}, a: 3}".utf8)
        let tree = try JSONTree.read(text, .json5)
        #expect(tree.repeatedName == "line 2, column 14: \"c\" is given a second time")
        #expect(tree.value == .object(["a": .integer(1), "b": .object(["c": .integer(1)])]))
        #expect(try JSONTree.read(Array(#"{"a": 1, "a": 2}"#.utf8), .json).value == .object(["a": .integer(2)]))
        #expect(try JSONTree.read(Array("{a: 1, b: {a: 1}}".utf8), .json5).repeatedName == nil)
    }

    @Test(
        "65 levels of nesting are read and 66 are refused, in JSON and JSON5",
        arguments: [JSONTree.Dialect.json, .json5])
    func deepAndLongTexts_areRefused(_ dialect: JSONTree.Dialect)
        throws
    {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        }
        #expect(try JSONTree.read(nested(65), dialect).value != .null)
        for levels in [66, 100_000] {
            let error = #expect(throws: JSONTextError.self) { try JSONTree.read(nested(levels), dialect) }
            #expect(error?.reason.contains("nested too deeply") == true)
        }
    }

    @Test("a text of more than a million values is refused")
    func textOfManyValues_isRefused() {
        let long =
            Array("[".utf8) + Array(repeatElement(Array("1,".utf8), count: 1_000_000).joined()) + Array("1]".utf8)
        let error = #expect(throws: JSONTextError.self) { try JSONTree.read(long, .json) }
        #expect(error?.reason.contains("expected at most 1000000 values") == true)
    }

    @Test(
        "UTF-16 and UTF-32 texts are read",
        arguments: [
            String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian, .utf32BigEndian, .utf16, .utf32,
        ])
    func otherEncodings_areRead(_ encoding: String.Encoding) throws {
        let data = try #require("{\"a\": 'ü'}".data(using: encoding))
        #expect(try JSONValue.parse(data) == .object(["a": .string("ü")]))
    }
}
