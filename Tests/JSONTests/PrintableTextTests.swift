import Foundation
import JSON
import Testing

@Suite struct PrintableTextTests {
    /// Controls that a terminal obeys (C0, C1), marks that turn the direction of text, ends of lines, signs without
    /// width.
    private static let hidden: [UInt32] = [
        0x00, 0x07, 0x08, 0x0D, 0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0xAD, 0x34F, 0x61C, 0x115F, 0x180E, 0x200B, 0x200C,
        0x200D, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202D, 0x202E, 0x2060, 0x2066, 0x2069, 0x206F, 0x3164, 0xE000,
        0xFEFF, 0xFFA0, 0xFFF9, 0xE0001, 0xE0041,
    ]

    @Test("characters that a terminal obeys or does not show are written by number, others stay", arguments: hidden)
    func escapes(_ code: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(code)), text = "a\(Character(scalar))b"
        let number = String(code, radix: 16, uppercase: true)
        #expect(PrintableText.text(text) == "a\\u{\(number)}b")
        #expect(PrintableText.text(text, keepsLines: true) == "a\\u{\(number)}b")
        let json = PrintableText.json("{\"x\": \"\(text)\"}")
        #expect(json.unicodeScalars.allSatisfy(PrintableText.isPrintable))
        if code >= 0x20 {
            // Raw controls of ASCII are no JSON in the first place.
            #expect(try JSONValue.read(Data(json.utf8)).value == .object(["x": .string(text)]))
        }
    }

    @Test("letters, signs and emoji of any script are printed as they are")
    func othersStay() {
        let text = "grün Größe ネジ 中 🐈 ❤️ e\u{301} \u{2013} ~ שלום"
        #expect(PrintableText.text(text) == text && PrintableText.json(text) == text)
        #expect(PrintableText.text("a\n\tb", keepsLines: true) == "a\n\tb")
        #expect(PrintableText.text("a\n\tb") == "a\\u{A}\\u{9}b")
    }
}
