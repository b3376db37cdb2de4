import Foundation
import JSON
import Testing

/// Whole files with bytes that are not text.
@Suite struct JSONValueBytesTests {
    private static let text =
        "{\n  \"name\": \"Näme\", // a remark\n  plain: [1, -2.5e3, 0x1F, true, null, 'x'],\n  \"deep\": {\"a\": {}},\n}"

    @Test("bytes that are not UTF-8 are refused with their line and column")
    func bytesThatAreNotUTF8_haveTheirPlace() throws {
        #expect(try JSONValue.parse(Data(Self.text.utf8)).kind == "an object")
        for bytes: [UInt8] in [[0xFF], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xC0, 0xAF]] {
            let data = Data("{\n\n  a".utf8) + Data(bytes) + Data(": 1}".utf8)
            let error = #expect(throws: JSONTextError.self) { try JSONValue.parse(data) }
            #expect(error?.reason.hasPrefix("line 3, column 3: expected UTF-8 text, found ") == true, "\(bytes)")
        }
        #expect(
            try JSONValue.parse(Data([0xFF, 0xFE]) + #require("{}".data(using: .utf16LittleEndian))).kind == "an object"
        )
    }

    /// Each byte replaced by each of several values: the text is read or refused.
    @Test("a text with any byte replaced, or cut behind that byte, does not crash the parser")
    func everyByteReplaced() {
        let original = Array(Self.text.utf8)
        for place in original.indices {
            for byte: UInt8 in [0, 0x0A, 0x22, 0x27, 0x2F, 0x5C, 0x75, 0x7B, 0x80, 0xC3, 0xED, 0xF5, 0xFF] {
                var bytes = original
                bytes[place] = byte
                _ = try? JSONValue.parse(Data(bytes))
                _ = try? JSONValue.parse(Data(bytes.prefix(place + 1)))
            }
        }
    }
}
